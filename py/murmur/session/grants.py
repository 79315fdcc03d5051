"""What each artifact entry may reach: its own narrowing, within the capsule's ceiling.

spec/diagnostics.md 6.2 and 6.3, rows 1, 3 and 6 to 8. `check_shapes` refuses what
`--explain-scope` refuses too; `entry_grants` decides the rest of it for a launch.
"""

import dataclasses
from collections.abc import Mapping

from murmur.core.diagnostics import Diagnostic, error, warning
from murmur.manifest.capsule import Capsule
from murmur.manifest.config import render_config
from murmur.manifest.network import NetworkRule, narrow, parse_rules
from murmur.manifest.segments import check_scope, check_store
from murmur.manifest.variables import refused_by


@dataclasses.dataclass(frozen=True, slots=True)
class EntryGrants:
    """What one tool or driver entry may reach. `scope` None is the whole work folder."""

    network: tuple[NetworkRule, ...]
    scope: str | None
    env: tuple[str, ...]
    config: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class Shapes:
    """What has passed its rules, by full name: `scopes` in force and `configs` as delivered."""

    scopes: Mapping[str, str | None]
    configs: Mapping[str, str | None]


def check_shapes(capsule: Capsule) -> Shapes:
    """Names, scopes and blocks whose rules need nothing but the manifest.

    Raises, in this order, E-CAP-002 (the capsule's own scope), E-CAP-009, E-CAP-016, E-CAP-010,
    E-CAP-002 (an entry's).
    """
    ceiling = capsule.capabilities.filesystem_scope
    if ceiling is not None:
        check_scope(ceiling, "capabilities.filesystem.scope")
    for store in state_stores(capsule).values():
        check_store(store)
    _check_env(capsule)
    configs = {
        entry.name: None if entry.config is None else render_config(entry.name, entry.config.value)
        for entry in capsule.artifacts
    }
    return Shapes(dict(_scopes(capsule, ceiling)), configs)


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


def _scopes(capsule: Capsule, ceiling: str | None) -> list[tuple[str, str | None]]:
    scopes: list[tuple[str, str | None]] = []
    for index, entry in enumerate(capsule.artifacts):
        own = entry.capabilities.filesystem_scope if entry.capabilities else None
        if own is not None:
            check_scope(own, f"artifacts[{index}].capabilities.filesystem.scope")
        scopes.append((entry.name, ceiling if own is None else own))
    return scopes


def entry_grants(capsule: Capsule) -> tuple[dict[str, EntryGrants], list[Diagnostic]]:
    """The grants of every entry by full name, and W-SEC-007 for each rule that was dropped.

    Raises E-CAP-001 for a network entry, then what `check_shapes` raises.
    """
    ceiling = parse_rules(capsule.capabilities.network_allow)
    shapes = check_shapes(capsule)
    env = capsule.capabilities.env_allow
    grants: dict[str, EntryGrants] = {}
    warnings: list[Diagnostic] = []
    for entry in capsule.artifacts:
        rules, entry_env = ceiling, env
        narrowed = entry.capabilities
        if narrowed is not None:
            if narrowed.network is not None and narrowed.network.allow is not None:
                rules, dropped = narrow(parse_rules(narrowed.network.allow), ceiling)
                warnings += [
                    warning("W-SEC-007", artifact=entry.name, entry=rule.text) for rule in dropped
                ]
            if narrowed.env is not None:
                entry_env = tuple(name for name in narrowed.env_allow if name in env)
        grants[entry.name] = EntryGrants(
            network=rules,
            scope=shapes.scopes[entry.name],
            env=entry_env,
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
