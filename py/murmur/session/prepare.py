"""Everything about a run that can be refused before a directory is made.

`prepare(Launch) -> Prepared`; spec/sessions.md 6.1 and the checks of 6.2 that need no artifact
bytes. The order of refusals is that of spec/diagnostics.md 6.1 and 6.3.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from murmur.core.config import GlobalConfig, read_global_config
from murmur.core.diagnostics import Diagnostic, error, warning
from murmur.core.version import VERSION
from murmur.manifest.capsule import ArtifactEntry, Capsule, LoadedCapsule
from murmur.manifest.config import render_config
from murmur.manifest.network import NetworkRule, narrow, parse_rules
from murmur.manifest.parse import load_capsule
from murmur.manifest.segments import check_scope
from murmur.manifest.session import AfterTask, Lifecycle, TaskAcceptance
from murmur.sandbox.environment import refused_by
from murmur.session.directories import WorkPlace, work_place
from murmur.session.launch import Launch
from murmur.session.names import check_names
from murmur.session.unserved import refuse_unserved
from murmur.store.checks import Declared, check_origin, check_pins
from murmur.store.lock import Lock, lock_path, read_lock
from murmur.store.names import FullName
from murmur.store.platforms import host_platform
from murmur.store.stores import StoredArtifact, global_store, project_store, resolve_all


@dataclasses.dataclass(frozen=True, slots=True)
class EntryGrants:
    """What one tool or driver entry may reach: its own narrowing, within the capsule's ceiling."""

    network: tuple[NetworkRule, ...]
    scope: str | None
    env: tuple[str, ...]
    config: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class Prepared:
    """A launch that nothing speaks against so far. `stored` and `grants` go by full name."""

    launch: Launch
    config: GlobalConfig
    loaded: LoadedCapsule
    lifecycle: Lifecycle
    place: WorkPlace
    lock: Lock | None
    platform: str
    stored: Mapping[str, StoredArtifact]
    grants: Mapping[str, EntryGrants]
    warnings: tuple[Diagnostic, ...]
    notices: tuple[str, ...]

    @property
    def capsule(self) -> Capsule:
        return self.loaded.capsule

    @property
    def may_start_commands(self) -> bool:
        """Whether the capsule can have a subprocess. spec/containment.md 8."""
        return bool(self.capsule.capabilities.shell_allow)


def prepare(launch: Launch) -> Prepared:
    """Checks everything that needs no directory. Raises the first refusal of the documented order.

    E-MAN-*, E-CAP-*, E-RUN-003, 005, 006, 008, 043, E-IO-003.
    """
    loaded = load_capsule(launch.manifest_text, str(launch.manifest))
    capsule = loaded.capsule
    check_names(capsule)
    refuse_unserved(capsule, launch.manifest.name)
    config = read_global_config(launch.home)
    place = work_place(launch.flags.workdir, launch.directory)
    _check_driver(capsule, launch.manifest)
    lock = read_lock(lock_path(launch.directory))
    platform = host_platform()
    declared = [declared_artifact(capsule, entry) for entry in capsule.artifacts]
    check_pins(lock, declared, platform)
    stores = (project_store(launch.directory), global_store(launch.home.artifacts))
    found = resolve_all(
        [(artifact.name, artifact.version) for artifact in declared],
        stores,
        platform,
        "run `mur install` in the project directory",
    )
    lifecycle = _lifecycle(launch, capsule.lifecycle)
    grants, warnings = _grants(capsule)
    for artifact in declared:
        check_origin(lock, artifact)
    return Prepared(
        launch=launch,
        config=config,
        loaded=loaded,
        lifecycle=lifecycle,
        place=place,
        lock=lock,
        platform=platform,
        stored={
            artifact.name.text: stored for artifact, stored in zip(declared, found, strict=True)
        },
        grants=grants,
        warnings=(*loaded.warnings, *warnings, *_home_inside(launch, place)),
        notices=_notices(capsule),
    )


def declared_artifact(capsule: Capsule, entry: ArtifactEntry) -> Declared:
    """What the lock's checks want to know of an entry."""
    inference = capsule.inference
    return Declared(
        name=FullName(entry.name),
        version=entry.version,
        role=entry.runtime,
        has_gateway=entry.gateway is not None,
        is_system_prompt=inference is not None and inference.system_prompt_artifact == entry.name,
    )


def _home_inside(launch: Launch, place: WorkPlace) -> tuple[Diagnostic, ...]:
    """W-SEC-033 when commands could reach murmur's own files through the work folder."""
    root = place.given if place.given is not None else place.root
    if launch.home.root.resolve().is_relative_to(root.resolve()):
        return (warning("W-SEC-033", workdir=root),)
    return ()


def _check_driver(capsule: Capsule, manifest: Path) -> None:
    inference = capsule.inference
    assert inference is not None  # a script capsule was refused above
    if inference.driver is None:
        raise error("E-RUN-005", file=manifest.name)
    entry = capsule.artifact(inference.driver.artifact)
    if entry is None or entry.runtime != "driver":
        raise error("E-RUN-006", driver=inference.driver.artifact)


def _lifecycle(launch: Launch, declared: Lifecycle) -> Lifecycle:
    """The manifest's lifecycle with the flags in place. Raises E-IO-003 for an unknown value."""
    return dataclasses.replace(
        declared,
        task_acceptance=_acceptance(launch.flags.task_acceptance or declared.task_acceptance),
        after_task=_after_task(launch.flags.after_task or declared.after_task),
    )


def _acceptance(value: str) -> TaskAcceptance:
    known: dict[str, TaskAcceptance] = {"none": "none", "single": "single", "queue": "queue"}
    if value not in known:
        raise _bad_flag("--lifecycle-task-acceptance", value, ", ".join(known))
    return known[value]


def _after_task(value: str) -> AfterTask:
    known: dict[str, AfterTask] = {"exit": "exit", "sleep": "sleep"}
    if value not in known:
        raise _bad_flag("--lifecycle-after-task", value, ", ".join(known))
    return known[value]


def _bad_flag(flag: str, value: str, allowed: str) -> Exception:
    return error(
        "E-IO-003",
        what=f"{flag} {value}",
        reason=f"it is none of {allowed}",
        hint=f"pass one of {allowed}",
    )


def _grants(capsule: Capsule) -> tuple[dict[str, EntryGrants], list[Diagnostic]]:
    """Per entry: the declared narrowing within the ceiling. Raises E-CAP-001, 002, 010, 016."""
    ceiling = parse_rules(capsule.capabilities.network_allow)
    scope = capsule.capabilities.filesystem_scope
    if scope is not None:
        check_scope(scope, "capabilities.filesystem.scope")
    env = _check_env(capsule)
    grants: dict[str, EntryGrants] = {}
    warnings: list[Diagnostic] = []
    for index, entry in enumerate(capsule.artifacts):
        rules, entry_scope, entry_env = ceiling, scope, env
        narrowed = entry.capabilities
        if narrowed is not None:
            if narrowed.network is not None and narrowed.network.allow is not None:
                rules, dropped = narrow(parse_rules(narrowed.network.allow), ceiling)
                warnings += [
                    warning("W-SEC-007", artifact=entry.name, entry=rule.text) for rule in dropped
                ]
            if narrowed.filesystem_scope is not None:
                where = f"artifacts[{index}].capabilities.filesystem.scope"
                check_scope(narrowed.filesystem_scope, where)
                entry_scope = narrowed.filesystem_scope
            if narrowed.env is not None:
                entry_env = tuple(name for name in narrowed.env_allow if name in env)
        grants[entry.name] = EntryGrants(
            network=rules,
            scope=entry_scope,
            env=entry_env,
            config=(
                None if entry.config is None else render_config(entry.name, entry.config.value)
            ),
        )
    return grants, warnings


def _check_env(capsule: Capsule) -> tuple[str, ...]:
    """`env.allow`. Raises E-CAP-016 for names that the backstop or strip_env keeps out."""
    shell = capsule.capabilities.shell
    strip = shell.strip_env if shell else ()
    names = capsule.capabilities.env_allow
    found = [(name, match) for name in names if (match := refused_by(name, strip)) is not None]
    if found:
        matches = ", ".join(f"{name} ({source} {pattern})" for name, (pattern, source) in found)
        raise error("E-CAP-016", matches=matches)
    return names


def _notices(capsule: Capsule) -> tuple[str, ...]:
    """Uncoded lines for standard error. spec/diagnostics.md 1.4."""
    notices = []
    if capsule.mur_version is not None and capsule.mur_version != VERSION:
        notices.append(
            f"warning: the manifest is pinned to mur {capsule.mur_version}, and this is {VERSION}"
        )
    if capsule.capabilities.shell_allow and capsule.capabilities.network_allow:
        notices.append(
            "[capsule-runtime] warning: commands reach no host in this build; "
            "network.allow applies to WASM tools and drivers"
        )
    return tuple(notices)
