"""Deciding the scope report, once: the same function serves a preview and a session.

A preview has no session yet, so paths end in a literal `<session-id>` in both: the two reports of
one launch are equal, key by key. spec/containment.md 6; spec/sessions.md 2.
"""

import dataclasses
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from murmur.core.config import Config
from murmur.core.home import Home
from murmur.manifest.capsule import Capsule
from murmur.manifest.grants import Capabilities
from murmur.manifest.session import FileExport, PeerFileExport
from murmur.read_only.interpreters import advisory_for
from murmur.sandbox.needs import ToolProgram
from murmur.sandbox.policy import Demands, Foreseen, foresee
from murmur.sandbox.probe import MECHANISMS
from murmur.sandbox.widening import HostPathGrant, host_path_grants
from murmur.session.containment import Containment
from murmur.session.demands import command_demands
from murmur.session.directories import WorkPlace, records_name
from murmur.session.entrypoints import DEFAULT_PATH
from murmur.session.grants import state_stores
from murmur.session.harness.needs import HarnessGrants
from murmur.session.scope import model
from murmur.session.scope.model import SESSION_ID, HostDirectory, ScopeReport
from murmur.session.scope.routes import Guests, routes

_METADATA: Final = (
    "names, sizes and times of files outside the granted folders can be seen",
    "a path that exists and is not granted refuses only when it is opened",
)
_UNMEDIATED: Final = ("no mechanism mediates paths: a command reads what the operator can read",)
_HOME_PROBE: Final = (
    "a command's HOME is a folder of the session's own at every class, so a look at ~ that finds "
    "nothing of the operator's is no evidence of containment; try an absolute path"
)
_HOME_INSIDE: Final = "~/.murmur lies in the work folder, which commands can change"


@dataclasses.dataclass(frozen=True, slots=True)
class Bounds:
    """What became of the cgroup scope and of its bound on disk I/O."""

    scope: model.CgroupScope
    io: model.IoMax


@dataclasses.dataclass(frozen=True, slots=True)
class Subject:
    """What a report is about: a manifest in one place. `scopes` go by full artifact name.

    `harness` is what its harness is granted, None where it has none; `programs` are those of its
    tools, for a report that foresees.
    """

    capsule: Capsule
    place: WorkPlace
    home: Home
    containment: Containment
    config: Config
    scopes: Mapping[str, str | None]
    environ: Mapping[str, str]
    harness: HarnessGrants | None = None
    programs: tuple[ToolProgram, ...] = ()

    @property
    def work(self) -> str:
        """The work folder, `<session-id>` standing for what is not known before a session."""
        return str(self.place.work_folder(SESSION_ID))

    @property
    def records(self) -> str:
        return str(self.home.root / records_name(self.place, SESSION_ID))

    @property
    def demands(self) -> Demands:
        """What capsule and operator demand for commands."""
        return command_demands(
            self.capsule, self.containment, self.config, self.home, self.programs
        )

    @property
    def writable(self) -> tuple[str, str, str]:
        """The session's folders that commands write, the work folder first."""
        return (os.path.realpath(self.work), f"{self.records}/tmp", f"{self.records}/home")

    def foreseen(self) -> Foreseen:
        """What host and demands decide between them; runs allowlisted interpreters to ask them."""
        path = self.environ.get("PATH", DEFAULT_PATH)
        reading, writable = self.containment.reading, self.writable
        return foresee(reading, writable[0], writable, self.demands, path)


def scope_report(
    subject: Subject, seen: Foreseen | None, guests: Guests, bounds: Bounds
) -> ScopeReport:
    """The report; `seen` None is a capsule without commands."""
    capsule, containment = subject.capsule, subject.containment
    granted = capsule.capabilities
    inference, images = capsule.inference, capsule.context.images
    read_only, exports = granted.read_only, capsule.exports
    return ScopeReport(
        declared_containment=containment.declared,
        achieved_containment=containment.achieved,
        host_containment=containment.host,
        floor_met=containment.shortfall is None,
        shortfall_reason=containment.shortfall,
        enforcement_tier=MECHANISMS[containment.tier],
        routes=routes(capsule, containment.tier, guests),
        userns_grant=containment.reading.userns_grant,
        landlock_abi=containment.reading.landlock_abi,
        filesystem_scope=granted.filesystem_scope,
        workdir_exec=granted.workdir_exec,
        read_only_paths=read_only,
        read_only_advisory_for=advisory_for(granted.shell_allow) if read_only else (),
        preopens=tuple(preopens(subject)),
        network_allow=granted.network_allow,
        unix_sockets=granted.unix_sockets,
        shell_allow=granted.shell_allow,
        spawn_allow=granted.spawn_allow,
        spawn_workdir_snapshot=False,
        parent_workdir=None,
        images=model.Images(
            keep=images.keep,
            max_bytes=images.max_bytes,
            max_per_turn=images.max_per_turn,
            keep_applies=inference is None or inference.transport != "process",
        ),
        env_allow=granted.env_allow,
        plan_submit=granted.plan_submit,
        install_skill=granted.install.skill if granted.install else (),
        install_tool=granted.install.tool if granted.install else (),
        install_from=granted.install.sources if granted.install else (),
        interpreter_runtime_grants=_interpreter_grants(granted),
        derived_interpreter_runtime=_derived(seen),
        trust_store=tuple(_host_directory(path) for path in seen.trust_store) if seen else (),
        declared_needs=_needs(seen),
        pinned_programs=_programs(seen),
        name_resolution=seen.name_resolution if seen else (),
        host_paths=_host_paths(seen.host_paths) if seen is not None else (),
        harness_paths=_harness_paths(subject),
        harness_hosts=subject.harness.hosts if subject.harness is not None else None,
        exports_files=_file_export(exports.files),
        peer_files=_peer_file_export(exports.peer_files),
        peer_tasks=exports.peer_tasks is not None and exports.peer_tasks.accept,
        peer_fetch_allow=granted.peer_fetch.allow if granted.peer_fetch else (),
        state_stores=tuple(model.StateStore(*each) for each in state_stores(capsule).items()),
        configured_artifacts=tuple(e.name for e in capsule.artifacts if e.config is not None),
        staged_runtime_grants=_staged_grants(granted),
        runtime_writes=(
            model.RuntimeWrite("peer-in", "directory", "peer-fetch"),
            model.RuntimeWrite("out", "directory", "script-session"),
        ),
        io_max=bounds.io,
        cgroup_scope=bounds.scope,
        filesystem_boundary=boundary(containment),
        runtime_dir=_kept(f"{subject.home.sessions}/{SESSION_ID}", containment),
        records_dir=_kept(subject.records, containment),
        temp_dir=_temporary(subject, seen),
    )


def preopens(subject: Subject) -> list[model.Preopen]:
    """The folder of each tool, driver and hook entry that has one, in manifest order.

    A hook has none by default. spec/artifacts.md 6.
    """
    found: list[model.Preopen] = []
    for entry in subject.capsule.artifacts:
        own = entry.capabilities.filesystem if entry.capabilities else None
        scope = subject.scopes[entry.name]
        if entry.runtime == "skill":
            continue
        if entry.runtime == "hook" and own is not None and own.records:
            found.append(model.Preopen(entry.name, f"{subject.records}/hooks"))
        if entry.runtime != "hook" or (own is not None and own.scope is not None):
            whole = scope in (None, ".")
            path = subject.work if whole else f"{subject.work}/{scope}"
            found.append(model.Preopen(entry.name, path))
    return found


def _interpreter_grants(granted: Capabilities) -> tuple[model.InterpreterGrant, ...]:
    declared = granted.shell.interpreter_runtime if granted.shell else ()
    return tuple(
        model.InterpreterGrant(
            each.binary, tuple(HostDirectory(one.path, one.list_dir) for one in each.dirs)
        )
        for each in declared
    )


def _staged_grants(granted: Capabilities) -> tuple[model.StagedGrant, ...]:
    declared = granted.shell.staged_runtime if granted.shell else ()
    return tuple(model.StagedGrant(each.binary, each.source_path, each.pin) for each in declared)


def _derived(seen: Foreseen | None) -> tuple[model.DerivedRuntime, ...]:
    if seen is None:
        return ()
    return tuple(
        model.DerivedRuntime(
            binary, tuple(HostDirectory(folder, True) for folder in found.folders), found.files
        )
        for binary, found in seen.derived.items()
    )


def _needs(seen: Foreseen | None) -> tuple[model.DeclaredNeed, ...]:
    found = seen.needs if seen is not None else ()
    return tuple(model.DeclaredNeed(each.artifact, each.grant.path) for each in found)


def _programs(seen: Foreseen | None) -> tuple[model.PinnedProgram, ...]:
    return tuple(
        model.PinnedProgram(
            artifact=each.artifact,
            program=each.program,
            platform=each.download.platform,
            source=each.source,
            path=each.path,
            url=each.download.url,
            sha256=each.download.sha256,
            reason=each.reason,
        )
        for each in (seen.programs if seen is not None else ())
    )


def _host_paths(granted: Iterable[HostPathGrant]) -> tuple[model.HostPath, ...]:
    return tuple(
        model.HostPath(
            each.path, each.declared, each.access, each.mechanism, each.credential_location
        )
        for each in granted
    )


def _harness_paths(subject: Subject) -> tuple[model.HostPath, ...] | None:
    """What the harness of a process capsule is granted, by the same checks as `host_paths`."""
    if subject.harness is None:
        return None
    home = subject.home
    return _host_paths(
        host_path_grants(
            subject.harness.paths,
            subject.containment.tier,
            subject.writable,
            str(home.root),
            str(home.root.parent),
        )
    )


def _host_directory(path: str) -> HostDirectory:
    return HostDirectory(path, Path(path).is_dir())


def _file_export(declared: FileExport | None) -> model.FileExport | None:
    if declared is None:
        return None
    return model.FileExport(declared.root, declared.mode, declared.max_bytes)


def _peer_file_export(declared: PeerFileExport | None) -> model.PeerFileExport | None:
    if declared is None:
        return None
    return model.PeerFileExport(declared.root, declared.max_ttl, declared.max_bytes)


def boundary(containment: Containment) -> model.Boundary:
    """How far the tier in force mediates paths."""
    inside = (_HOME_INSIDE,) if containment.home_inside else ()
    if containment.tier == "Sealed":
        return model.Boundary("absent", inside)
    if containment.tier == "Full":
        return model.Boundary("enforced", (*inside, *_METADATA, _HOME_PROBE))
    return model.Boundary("advisory", (*_UNMEDIATED, _HOME_PROBE))


def _kept(path: str, containment: Containment) -> model.KeptDirectory:
    """A directory that commands may read and not change; null without a mechanism that says so."""
    if containment.home_inside:
        return model.KeptDirectory(path, False, None, _HOME_INSIDE)
    if containment.tier not in ("Full", "Sealed"):
        return model.KeptDirectory(path, False, None, "no mechanism of this host mediates paths")
    mounted = containment.tier == "Sealed"
    return model.KeptDirectory(path, True, "mountns+landlock" if mounted else "landlock", None)


def _temporary(subject: Subject, seen: Foreseen | None) -> model.TempDirectory:
    folder = f"{subject.records}/tmp"
    maps = seen is not None and seen.maps_tmp
    return model.TempDirectory(folder, "/tmp" if maps else folder, maps)
