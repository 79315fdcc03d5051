"""What the project needs from the environment before its first token is spent.

CLI reference, *mur doctor*, *Environment requirements*. Only names are read and printed, never a
value; a name is set when it is present, the empty string included. A reference that `mur run`
would take from `credentials.<NAME>` of the operator's config.yaml counts as set: that file wins
over the environment there (spec/registry.md 21), and a launch needs nothing else.
"""

import dataclasses
import os
import shutil
import socket
from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

from murmur.core.diagnostics import MurmurError, error
from murmur.doctor.findings import Findings
from murmur.inference.credentials import referenced_variable
from murmur.manifest.capsule import Capsule
from murmur.session.scope.unestablished import UNESTABLISHED

ROOST: str = "mur-roost"
ROOST_URL: str = "MURMUR_ROOST_URL"
_CONNECT_S = 2.0


@dataclasses.dataclass(frozen=True, slots=True)
class Needed:
    """A variable, and who needs it as the report words it."""

    name: str
    by: str


def references(capsule: Capsule) -> list[Needed]:
    """Every variable that the manifest itself names as `${NAME}`."""
    label = f"{capsule.name}@{capsule.version}"
    return [
        Needed(name, f"{label} (artifacts.{entry.name}.gateway.api_key)")
        for entry in capsule.artifacts
        if entry.gateway is not None
        and (name := referenced_variable(entry.gateway.api_key)) is not None
    ]


def declared(capsule: Capsule) -> list[Needed]:
    """Every name of the capsule's own `env.allow`."""
    label = f"{capsule.name}@{capsule.version}"
    return [Needed(name, label) for name in dict.fromkeys(capsule.capabilities.env_allow)]


def environment_block(
    capsule: Capsule,
    environ: Mapping[str, str],
    credentials: Collection[str],
    findings: Findings,
) -> tuple[list[str], MurmurError | None]:
    """The block, empty when there is nothing to report, and E-CAP-014 for unset variables.

    `environ` is the shell's with the workspace's `.env`; `credentials` the names in config.yaml.
    """
    spawns = bool(capsule.capabilities.spawn_allow)
    needed = [*(declared(capsule) if spawns else ()), *references(capsule)]
    by: dict[str, list[str]] = {}
    for each in needed:
        by.setdefault(each.name, []).append(each.by)
    referenced = {each.name for each in references(capsule)}
    unset = [
        name
        for name in by
        if name not in environ and not (name in referenced and name in credentials)
    ]
    if not spawns and not unset:
        return [], None
    lines = ["Environment requirements", f"  capsules: {capsule.name}@{capsule.version}"]
    if spawns:
        lines.append(f"  spawn closure: {UNESTABLISHED['spawn closure']}")
    shown = by if spawns else {name: by[name] for name in unset}
    if shown:
        lines += ["  variables:", *_rows(shown, unset)]
    if not unset:
        return lines, None
    noun = "variable" if len(unset) == 1 else "variables"
    findings.errors.append(f"set {', '.join(unset)} in this shell or in the workspace's .env")
    names = ", ".join(unset)
    return lines, error("E-CAP-014", count=f"{len(unset)} {noun}", names=names)


def _rows(by: Mapping[str, list[str]], unset: Collection[str]) -> list[str]:
    width = max(len(name) for name in by) + 3
    return [
        f"    {'✗' if name in unset else '✓'}  {name:<{width}}"
        f"{'unset' if name in unset else 'set':<5}   — {', '.join(dict.fromkeys(needed))}"
        for name, needed in by.items()
    ]


def roost_refusal(capsule: Capsule, environ: Mapping[str, str]) -> MurmurError | None:
    """E-RUN-019 when the daemon that the capsule registers with is not there to register with."""
    if not capsule.capabilities.spawn_allow:
        return None
    url = environ.get(ROOST_URL, "")
    if shutil.which(ROOST, path=environ.get("PATH", os.defpath)) is None:
        return error("E-RUN-019", url=url or ROOST_URL, reason=f"{ROOST} is not on PATH")
    if not url:
        return error("E-RUN-019", url=ROOST_URL, reason=f"{ROOST_URL} is not set")
    problem = _connects(url)
    if problem is None:
        return None
    return error("E-RUN-019", url=url, reason=f"nothing answers there: {problem}")


def _connects(url: str) -> str | None:
    """Why nothing can be reached at `url`, by connecting and no more; None when something can."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        if not parts.hostname:
            return "it is not a URL"
        socket.create_connection((parts.hostname, port), _CONNECT_S).close()
    except (OSError, ValueError) as failure:
        return str(getattr(failure, "strerror", None) or failure)
    return None
