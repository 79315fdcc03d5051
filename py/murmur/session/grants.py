"""What each artifact entry may reach: its own narrowing, within the capsule's ceiling.

spec/diagnostics.md 6.2 and 6.3, rows 1, 3 and 6 to 8. `check_shapes` refuses what
`--explain-scope` refuses too; `entry_grants` decides the rest of it for a launch.
"""

import dataclasses
import posixpath
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from murmur.core.diagnostics import Diagnostic, MurmurError, error, warning
from murmur.manifest.capsule import Capsule
from murmur.manifest.config import render_config
from murmur.manifest.network import NetworkRule, narrow, parse_rules
from murmur.manifest.segments import (
    check_context_name,
    check_record_store,
    check_scope,
    check_store,
)
from murmur.manifest.variables import refused_by
from murmur.sandbox.egress.reach import MOST_PORTS, implied_ports
from murmur.session.floors import can_start_commands


@dataclasses.dataclass(frozen=True, slots=True)
class EntryGrants:
    """What one entry may reach: a hook its own grants alone, others theirs within the ceiling.

    `scope` is relative to the work folder, None the whole of it; a hook without a scope of its own
    has no folder at all, whatever stands here.
    """

    network: tuple[NetworkRule, ...]
    scope: str | None
    env: tuple[str, ...]
    config: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class Shapes:
    """What has passed its rules, by full name: `scopes` in force and `configs` as delivered."""

    scopes: Mapping[str, str | None]
    configs: Mapping[str, str | None]


def check_shapes(
    capsule: Capsule, *, launching: bool = False, context_id: str | None = None
) -> Shapes:
    """Names, scopes and blocks whose rules need nothing but the manifest, and `--context`.

    Raises, in this order, E-CAP-002 (the capsule's own scope), E-CAP-009, when `launching`
    E-CAP-011, E-CAP-016, E-CAP-010, E-CAP-002 (an entry's).
    """
    for check in _shape_checks(capsule, launching, context_id):
        check()
    configs = {
        entry.name: None if entry.config is None else render_config(entry.name, entry.config.value)
        for entry in capsule.artifacts
    }
    return Shapes(declared_scopes(capsule), configs)


def shape_refusals(capsule: Capsule) -> list[MurmurError]:
    """Everything that `check_shapes` would refuse, for reports that go on."""
    found: list[MurmurError] = []
    for check in _shape_checks(capsule, False, None):
        try:
            check()
        except MurmurError as refused:
            found.append(refused)
    return found


def _shape_checks(
    capsule: Capsule, launching: bool, context_id: str | None
) -> Iterator[Callable[[], object]]:
    """The checks of `check_shapes`, in order."""
    ceiling = capsule.capabilities.filesystem_scope
    if ceiling is not None:
        yield partial(check_scope, ceiling, "capabilities.filesystem.scope")
    for store in state_stores(capsule).values():
        yield partial(check_store, store)
    if launching:
        yield partial(check_record_store, capsule)
        if context_id is not None:
            yield partial(check_context_name, context_id, "--context")
    yield partial(_check_env, capsule)
    for entry in capsule.artifacts:
        if entry.config is not None:
            yield partial(render_config, entry.name, entry.config.value)
    for index, entry in enumerate(capsule.artifacts):
        own = entry.capabilities.filesystem_scope if entry.capabilities else None
        if own is not None:
            yield partial(check_scope, own, f"artifacts[{index}].capabilities.filesystem.scope")


def declared_scopes(capsule: Capsule) -> dict[str, str | None]:
    """The scope in force for each entry, unchecked, relative to the work folder.

    A tool's or driver's own scope lies below the capsule's, which is the accessible workdir: it
    only ever narrows. A hook's lies below the work folder itself, and is None where it has none.
    """
    ceiling = capsule.capabilities.filesystem_scope
    scopes: dict[str, str | None] = {}
    for entry in capsule.artifacts:
        own = entry.capabilities.filesystem_scope if entry.capabilities else None
        if entry.runtime == "hook":
            scopes[entry.name] = own
            continue
        if own is not None and ceiling is not None:
            own = posixpath.normpath(posixpath.join(ceiling, own))
        scopes[entry.name] = ceiling if own is None else own
    return scopes


def state_stores(capsule: Capsule) -> dict[str, str]:
    """The durable store of each entry that is granted one; the capsule's name by default."""
    granted = {
        entry.name: entry.capabilities.state
        for entry in capsule.artifacts
        if entry.capabilities is not None and entry.capabilities.state is not None
    }
    return {
        name: capsule.name if state.store is None else state.store
        for name, state in granted.items()
    }


def capsule_rules(capsule: Capsule, *, native: bool = False) -> tuple[NetworkRule, ...]:
    """The capsule-wide `network.allow`: the ceiling of every artifact, and what commands reach.

    `native`: an artifact is known to be a program, which runs as a command does.

    Raises E-CAP-001 for a bad entry, and for one that asks for more ports than commands can be
    served (spec/containment.md 17.1).
    """
    rules = parse_rules(capsule.capabilities.network_allow)
    ports = implied_ports(rules)
    if len(ports) <= MOST_PORTS or not (native or can_start_commands(capsule)):
        return rules
    first = next(
        rule
        for count, rule in enumerate(rules, 1)
        if len(implied_ports(rules[:count])) > MOST_PORTS
    )
    raise error(
        "E-CAP-001",
        entry=first.text,
        reason=f"the list names {len(ports)} ports, and commands are served at most {MOST_PORTS}",
    )


def pulled_grants(capsule: Capsule) -> EntryGrants:
    """What an artifact that the session pulled may reach: the capsule's policy, nothing of its own.

    spec/registry.md 18.
    """
    return EntryGrants(
        network=parse_rules(capsule.capabilities.network_allow),
        scope=capsule.capabilities.filesystem_scope,
        env=capsule.capabilities.env_allow,
        config=None,
    )


def tools_manage(capsule: Capsule) -> bool:
    """Whether WASM tools may ask for artifacts: in an agent's session over http, where the manifest
    declares `capabilities.install`, and nowhere else."""
    inference, install = capsule.inference, capsule.capabilities.install
    return inference is not None and inference.transport == "http" and install is not None


def entry_grants(
    capsule: Capsule, context_id: str | None = None, *, native: bool = False
) -> tuple[dict[str, EntryGrants], list[Diagnostic]]:
    """The grants of every entry by full name, and W-SEC-007 for each rule that was dropped.

    `context_id` is that of `--context`, whose rule is checked among theirs; `native` as in
    `capsule_rules`.

    Raises E-CAP-001 for a network entry, then what `check_shapes` raises.
    """
    ceiling = capsule_rules(capsule, native=native)
    shapes = check_shapes(capsule, launching=True, context_id=context_id)
    env = capsule.capabilities.env_allow
    grants: dict[str, EntryGrants] = {}
    warnings: list[Diagnostic] = []
    for entry in capsule.artifacts:
        own = entry.capabilities.network if entry.capabilities is not None else None
        rules = ceiling
        if entry.runtime == "hook":
            rules = parse_rules(own.allow or ()) if own is not None else ()
        elif own is not None and own.allow is not None:
            rules, dropped = narrow(parse_rules(own.allow), ceiling)
            warnings += [
                warning("W-SEC-007", artifact=entry.name, entry=rule.text) for rule in dropped
            ]
        grants[entry.name] = EntryGrants(
            network=rules,
            scope=shapes.scopes[entry.name],
            env=env,
            config=shapes.configs[entry.name],
        )
    return grants, warnings


def _check_env(capsule: Capsule) -> None:
    """Raises E-CAP-016 for names in `env.allow` that the backstop or strip_env keeps out."""
    shell = capsule.capabilities.shell
    strip = shell.strip_env if shell else ()
    names = dict.fromkeys(capsule.capabilities.env_allow)
    found = [(name, match) for name in names if (match := refused_by(name, strip)) is not None]
    if found:
        matches = ", ".join(f"{name} ({source} {pattern})" for name, (pattern, source) in found)
        raise error("E-CAP-016", matches=matches)
