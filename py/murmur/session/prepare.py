"""Everything about a run that can be refused before a directory is made.

`prepare(Launch) -> Prepared`; spec/sessions.md 6.1 and the checks of 6.2 that need no artifact
bytes. The order of refusals is that of spec/diagnostics.md 6.1 and 6.3.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from murmur.core.config import Config, read_config
from murmur.core.diagnostics import Diagnostic, error, warning
from murmur.core.version import VERSION
from murmur.manifest.capsule import ArtifactEntry, Capsule, LoadedCapsule
from murmur.manifest.parse import load_capsule
from murmur.manifest.segments import check_staged
from murmur.manifest.session import AfterTask, Lifecycle, TaskAcceptance
from murmur.session.directories import WorkPlace, holds_home, work_place
from murmur.session.floors import (
    FLAG,
    Floor,
    can_start_commands,
    class_named,
    floor_in_force,
)
from murmur.session.grants import EntryGrants, entry_grants
from murmur.session.implied import with_implied_driver
from murmur.session.launch import Launch
from murmur.session.local_source import LocalSkill, read_local_skill
from murmur.session.names import check_names
from murmur.session.script.component import find_component
from murmur.store.checks import Declared, check_origin, check_pins
from murmur.store.lock import Lock, read_lock
from murmur.store.names import FullName
from murmur.store.platforms import host_platform
from murmur.store.stores import StoredArtifact, global_store, project_store, resolve_all


@dataclasses.dataclass(frozen=True, slots=True)
class Examined:
    """A launch as its manifest and flags say it: spec/diagnostics.md 6.1 up to step 12.

    Here `--explain-scope` leaves the way of a run.
    """

    launch: Launch
    config: Config
    loaded: LoadedCapsule
    floor: Floor

    @property
    def capsule(self) -> Capsule:
        return self.loaded.capsule


@dataclasses.dataclass(frozen=True, slots=True)
class Prepared:
    """A launch that nothing speaks against so far. `stored`, `grants` and `local`, what was read
    from a `source`, go by full name.

    `script` is the component of a script capsule, None for an agent.
    """

    launch: Launch
    config: Config
    loaded: LoadedCapsule
    floor: Floor
    lifecycle: Lifecycle
    place: WorkPlace
    lock: Lock | None
    platform: str
    stored: Mapping[str, StoredArtifact]
    grants: Mapping[str, EntryGrants]
    local: Mapping[str, LocalSkill]
    script: Path | None
    warnings: tuple[Diagnostic, ...]
    notices: tuple[str, ...]

    @property
    def capsule(self) -> Capsule:
        return self.loaded.capsule

    @property
    def may_start_commands(self) -> bool:
        """Whether the capsule can have a subprocess. spec/containment.md 8."""
        return can_start_commands(self.capsule) or self.has_native

    @property
    def has_native(self) -> bool:
        """Whether a declared artifact is native, as its record in the store says."""
        return any(_is_native(stored) for stored in self.stored.values())

    def pulled_by(self, name: str) -> str | None:
        """The session whose pull pinned the artifact of that full name; None for an operator's."""
        pin = self.lock.find(FullName(name)) if self.lock is not None else None
        return pin.session if pin is not None else None

    @property
    def home_inside(self) -> bool:
        """Whether `~/.murmur` lies in the workdir, which caps the class at advisory."""
        return holds_home(self.place, self.launch.home)


def examine(launch: Launch) -> Examined:
    """Reads the manifest and everything that shapes its reading.

    Raises E-MAN-*, E-CAP-013, E-CAP-018, E-CAP-020, and E-IO-003 for a containment class or a
    configuration that is none.
    """
    loaded = load_capsule(launch.manifest_text, str(launch.manifest))
    check_names(loaded.capsule)
    flag = launch.flags.containment
    if flag is not None:
        class_named(flag, f"{FLAG} {flag}")
    config = read_config(launch.home, Path.cwd())
    floor = floor_in_force(loaded.capsule, config.containment, flag)
    return Examined(launch=launch, config=config, loaded=loaded, floor=floor)


def prepare(launch: Launch) -> Prepared:
    """Checks everything that needs no directory. Raises the first refusal of the documented order.

    E-MAN-*, E-CAP-*, E-RUN-003, 004, 005, 006, 008, 043, E-IO-003.
    """
    examined = examine(launch)
    loaded, config = examined.loaded, examined.config
    place = work_place(launch.flags.workdir, launch.directory)
    check_flags(launch, loaded.capsule)
    check_driver(loaded.capsule, launch.manifest)
    lock = None if launch.lock_file is None else read_lock(launch.lock_file)
    platform = host_platform()
    stores = (project_store(launch.directory), global_store(launch.home.artifacts))
    loaded = with_implied_driver(loaded, lock, stores, platform)
    capsule = loaded.capsule
    declared = [
        declared_artifact(capsule, entry) for entry in capsule.artifacts if entry.source is None
    ]
    written = {entry.name for entry in examined.capsule.artifacts}
    check_pins(lock, [each for each in declared if each.name.text in written], platform)
    found = resolve_all(
        [(artifact.name, artifact.version) for artifact in declared],
        stores,
        platform,
        "run `mur install` in the project directory",
    )
    script = None if capsule.inference is not None else find_component(launch)
    lifecycle = resolve_lifecycle(launch, capsule.lifecycle)
    grants, warnings = entry_grants(
        capsule, launch.flags.context, native=any(map(_is_native, found))
    )
    check_staged(capsule, lifecycle.after_task)
    local = {
        entry.name: read_local_skill(entry, launch.directory, launch.package)
        for entry in capsule.artifacts
        if entry.source is not None
    }
    for artifact in declared:
        check_origin(lock, artifact)
    return Prepared(
        launch=launch,
        config=config,
        loaded=loaded,
        floor=examined.floor,
        lifecycle=lifecycle,
        place=place,
        lock=lock,
        platform=platform,
        stored={
            artifact.name.text: stored for artifact, stored in zip(declared, found, strict=True)
        },
        grants=grants,
        local=local,
        script=script,
        warnings=(*loaded.warnings, *warnings, *_warn_home_inside(launch, place)),
        notices=(*config.warnings, *notices(capsule)),
    )


def _is_native(stored: StoredArtifact) -> bool:
    record = stored.record()
    return record is not None and record.runtime == "native"


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


def _warn_home_inside(launch: Launch, place: WorkPlace) -> tuple[Diagnostic, ...]:
    """W-SEC-033 when commands could reach murmur's own files through the work folder."""
    if holds_home(place, launch.home):
        return (warning("W-SEC-033", workdir=place.root),)
    return ()


def check_flags(launch: Launch, capsule: Capsule) -> None:
    """Raises E-IO-003 for a flag that a script capsule has no use for."""
    if capsule.inference is not None:
        return
    for flag, given in (
        ("--system-prompt", launch.flags.system_prompt),
        ("--deadline", launch.flags.deadline),
    ):
        if given is not None:
            raise error(
                "E-IO-003",
                what=flag,
                reason=f"{launch.manifest.name} has no inference: block, and the flag is an "
                "agent capsule's",
                hint="leave the flag out, or declare inference:",
            )


def check_driver(capsule: Capsule, manifest: Path) -> None:
    """Raises E-RUN-005 for an agent capsule without a driver, E-RUN-006 for one it lacks.

    One that is only implied is looked for among what is installed (`with_implied_driver`).
    """
    inference = capsule.inference
    if inference is None:
        return  # a script capsule has none
    if inference.driver is None:
        raise error("E-RUN-005", file=manifest.name)
    entry = capsule.artifact(inference.driver.artifact)
    if entry is None and inference.driver_implied:
        return
    if entry is None or entry.runtime != "driver":
        named = inference.driver.artifact
        raise error(
            "E-RUN-006",
            what=f"inference.driver.artifact names {named}, which is not among the capsule's "
            "artifacts",
            hint="add an artifacts: entry with that name and runtime: driver",
        )


def resolve_lifecycle(launch: Launch, declared: Lifecycle) -> Lifecycle:
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


def notices(capsule: Capsule) -> tuple[str, ...]:
    """Uncoded lines for standard error. spec/diagnostics.md 1.4."""
    lines = []
    pin = capsule.version_pin
    if pin is not None and pin != VERSION:
        lines.append(f"warning: the manifest is pinned to mur {pin}, and this is {VERSION}")
    for entry in capsule.artifacts:
        if entry.ignored_version is not None:
            lines.append(
                f"warning: {entry.name} is read from source, so its version "
                f"{entry.ignored_version} is ignored"
            )
    return tuple(lines)
