"""What the project needs from the environment before its first token is spent.

CLI reference, *mur doctor*, *Environment requirements*. Only names are read and printed, never a
value; a name is set when it is present, the empty string included. A reference that `mur run`
would take from `credentials.<NAME>` of the operator's config.yaml counts as set: that file wins
over the environment there (spec/registry.md 21), and a launch needs nothing else.
"""

import dataclasses
from collections.abc import Collection, Mapping

from murmur.core.diagnostics import Diagnostic, error, warning
from murmur.doctor.closure import Closure, label
from murmur.doctor.findings import Findings
from murmur.inference.credentials import referenced_variable
from murmur.manifest.capsule import Capsule


@dataclasses.dataclass(frozen=True, slots=True)
class Needed:
    """A variable, and who needs it as the report words it."""

    name: str
    by: str


def references(capsule: Capsule) -> list[Needed]:
    """Every variable that the manifest itself names as `${NAME}`."""
    return [
        Needed(name, f"{label(capsule)} (artifacts.{entry.name}.gateway.api_key)")
        for entry in capsule.artifacts
        if entry.gateway is not None
        and (name := referenced_variable(entry.gateway.api_key)) is not None
    ]


def declared(capsule: Capsule) -> list[Needed]:
    """Every name of the capsule's own `env.allow`."""
    return [Needed(name, label(capsule)) for name in dict.fromkeys(capsule.capabilities.env_allow)]


@dataclasses.dataclass(frozen=True, slots=True)
class Requirements:
    """The block (empty when there is nothing to report) and its codes for standard error."""

    lines: tuple[str, ...] = ()
    reports: tuple[Diagnostic, ...] = ()


def requirements(
    capsule: Capsule,
    closure: Closure | None,
    environ: Mapping[str, str],
    credentials: Collection[str],
    findings: Findings,
) -> Requirements:
    """What the capsule needs, and its closure where it spawns (None where it does not).

    `environ` is the shell's with the workspace's `.env`; `credentials` the names in config.yaml.
    Reports E-CAP-014, E-CAP-015 and W-REG-002.
    """
    named = references(capsule)
    needed = [
        each for held in (closure.capsules.values() if closure else ()) for each in declared(held)
    ]
    by: dict[str, list[str]] = {}
    for each in (*needed, *named):
        by.setdefault(each.name, []).append(each.by)
    # A capsule's own variables come from the shell alone; a gateway's key may be stored.
    stored = set(credentials) - {each.name for each in needed}
    # Never looked up: a controller hands them over while the session runs.
    supplied = set(capsule.control.secrets) if capsule.control is not None else set()
    unset = [
        name for name in by if name not in environ and name not in stored and name not in supplied
    ]
    if closure is None and not unset and not supplied:
        return Requirements()
    labels = list(closure.capsules) if closure else [label(capsule)]
    shown = by if closure else {name: by[name] for name in by if name in {*unset, *supplied}}
    lines = ["Environment requirements", f"  capsules: {', '.join(labels)}"]
    lines += ["  variables:", *_rows(shown, unset, supplied)] if shown else []
    reports: list[Diagnostic] = []
    if unset:
        findings.errors.append(f"set {', '.join(unset)} in this shell or in the workspace's .env")
        count = _counted(len(unset), "variable")
        reports.append(error("E-CAP-014", count=count, names=", ".join(unset)).diagnostic)
    if closure is not None:
        more, found = _closure_lines(closure, findings)
        lines += more
        reports += found
    return Requirements(tuple(lines), tuple(reports))


def _closure_lines(closure: Closure, findings: Findings) -> tuple[list[str], list[Diagnostic]]:
    lines: list[str] = []
    reports: list[Diagnostic] = []
    if closure.excesses:
        lines.append("  declarations mur-roost will refuse:")
        lines += [
            f"    {each.child} declares {each.name}, which {each.parent} does not hold"
            for each in closure.excesses
        ]
        names = ", ".join(dict.fromkeys(each.name for each in closure.excesses))
        findings.errors.append(f"declare {names} in the spawning capsule's env.allow too")
        count = _counted(len(closure.excesses), "env.allow entry", "env.allow entries")
        reports.append(error("E-CAP-015", count=count).diagnostic)
    if closure.uninspected:
        total, missing = closure.size, len(closure.uninspected)
        lines.append(f"  could not inspect {missing} of {total} capsules in the spawn closure:")
        lines += [f"    {name}: {reason}" for name, reason in closure.uninspected.items()]
        count, names = _counted(missing, "capsule"), ", ".join(closure.uninspected)
        reports.append(warning("W-REG-002", count=count, names=names))
    lines += [f"  spawn.allow cycle: {parent} → {child}" for parent, child in closure.cycles]
    return lines, reports


def _counted(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {plural or noun + 's'}"


def _rows(
    by: Mapping[str, list[str]], unset: Collection[str], supplied: Collection[str]
) -> list[str]:
    width = max(len(name) for name in by) + 3
    rows = []
    for name, needed in by.items():
        word = "unset" if name in unset else "set"
        word = "controller-supplied" if name in supplied else word
        mark = "✗" if name in unset else "✓"
        rows.append(f"    {mark}  {name:<{width}}{word:<5}   — {', '.join(dict.fromkeys(needed))}")
    return rows
