"""The scope report as data: its fields are the report's JSON keys, in their order.

spec/containment.md 6, 16 and 19.3; CLI reference, *mur run*, `--explain-scope`. What a capsule does
not declare is `[]`, null or false, never missing. The few keys that are left out when there is
nothing to say have `OPTIONAL` in their metadata.
"""

import dataclasses
from typing import Any, Final, Literal

from murmur.sandbox.probe import Mechanism, Tier, UsernsGrant

Class = Literal["advisory", "scoped", "sealed"]
RouteName = Literal[
    "shell",
    "plan-shell-steps",
    "wasm-tools",
    "drivers",
    "hooks",
    "process-harness",
    "harness-tools",
]
ScopeStatus = Literal["delegated", "unavailable", "not-required", "not-probed"]
IoStatus = Literal["enforced", "unavailable", "not-required", "not-probed"]

SESSION_ID: Final = "<session-id>"
HOST_PROCESS: Final[Literal["host process"]] = "host process"
OPTIONAL: Final = "optional"


@dataclasses.dataclass(frozen=True, slots=True)
class Route:
    """One way in which code runs. `mechanism` is a tier's name when the route is under the class,
    else what the route is instead."""

    route: RouteName
    present: bool
    under_class: bool
    mechanism: Tier | Literal["host process"]
    note: str | None
    artifacts: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Preopen:
    """The folder that one WASM artifact works out of."""

    artifact: str
    path: str


@dataclasses.dataclass(frozen=True, slots=True)
class Images:
    """Bounds of images in the conversation; `keep` does nothing where a harness holds it."""

    keep: int
    max_bytes: int
    max_per_turn: int
    keep_applies: bool


@dataclasses.dataclass(frozen=True, slots=True)
class HostDirectory:
    """A host path that commands may read; `list_dir` whether they may list it too."""

    path: str
    list_dir: bool


@dataclasses.dataclass(frozen=True, slots=True)
class InterpreterGrant:
    """`shell.interpreter_runtime`: directories that one binary's imports need."""

    binary: str
    dirs: tuple[HostDirectory, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class DerivedRuntime:
    """What the runtime found out by itself that an interpreter reads."""

    binary: str
    dirs: tuple[HostDirectory, ...]
    files: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class StagedGrant:
    """`shell.staged_runtime`: a pinned host tree for one binary."""

    binary: str
    source_path: str
    pin: str


@dataclasses.dataclass(frozen=True, slots=True)
class DeclaredNeed:
    """A path that a tool's programs need, as its own manifest declares. Formations digest A15."""

    artifact: str
    path: str


@dataclasses.dataclass(frozen=True, slots=True)
class PinnedProgram:
    """A program that a tool pins a download of, and the copy a session runs. Digest A15."""

    artifact: str
    program: str
    platform: str
    source: Literal["host", "pinned", "missing"]
    path: str | None = dataclasses.field(default=None, metadata={OPTIONAL: True})
    url: str | None = dataclasses.field(default=None, metadata={OPTIONAL: True})
    sha256: str | None = dataclasses.field(default=None, metadata={OPTIONAL: True})
    reason: str | None = dataclasses.field(default=None, metadata={OPTIONAL: True})


@dataclasses.dataclass(frozen=True, slots=True)
class HostPath:
    """One of the operator's `host_paths`. spec/containment.md 16."""

    path: str
    declared: Literal["read", "read-write"]
    access: Literal["read", "read-write"]
    mechanism: Literal["landlock", "bind", "none"]
    credential_location: bool


@dataclasses.dataclass(frozen=True, slots=True)
class FileExport:
    """`exports.files`."""

    root: str
    mode: Literal["read-only"]
    max_bytes: int


@dataclasses.dataclass(frozen=True, slots=True)
class PeerFileExport:
    """`exports.peer_files`; `max_ttl` in seconds, null for the default."""

    root: str
    max_ttl: int | None
    max_bytes: int


@dataclasses.dataclass(frozen=True, slots=True)
class StateStore:
    """The durable store that one artifact entry is granted."""

    artifact: str
    store: str


@dataclasses.dataclass(frozen=True, slots=True)
class RuntimeWrite:
    """A path, relative to the work folder, that the runtime writes under `condition`."""

    path: str
    kind: Literal["directory"]
    condition: Literal["peer-fetch", "script-session"]


@dataclasses.dataclass(frozen=True, slots=True)
class IoMax:
    """What became of the declared bound on disk I/O."""

    declared_bytes_per_sec: int
    status: IoStatus
    reason: str | None = dataclasses.field(default=None, metadata={OPTIONAL: True})


@dataclasses.dataclass(frozen=True, slots=True)
class CgroupScope:
    """What became of the session's cgroup scope."""

    status: ScopeStatus
    reason: str | None = dataclasses.field(default=None, metadata={OPTIONAL: True})
    errno: str | None = dataclasses.field(default=None, metadata={OPTIONAL: True})
    hierarchy: Literal["v1", "v2"] | None = dataclasses.field(
        default=None, metadata={OPTIONAL: True}
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Boundary:
    """How far paths are mediated, and what that leaves open."""

    restriction: Literal["absent", "enforced", "advisory", "none"]
    not_protected: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class KeptDirectory:
    """A directory of the runtime's that commands may read. `path` ends with `<session-id>`."""

    path: str
    read_only_to_commands: bool
    enforced_by: Literal["mountns+landlock", "landlock"] | None
    not_protected_because: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class TempDirectory:
    """The commands' temporary folder; `maps_tmp` whether a literal /tmp reaches it."""

    path: str
    tmpdir: str
    maps_tmp: bool


@dataclasses.dataclass(frozen=True, slots=True)
class ScopeReport:
    """The whole report.

    `harness_paths` and `harness_hosts`, this project's own, are there where there is a harness.
    """

    declared_containment: Class
    achieved_containment: Class
    host_containment: Class
    floor_met: bool
    shortfall_reason: str | None = dataclasses.field(metadata={OPTIONAL: True})
    enforcement_tier: Mechanism
    routes: tuple[Route, ...]
    userns_grant: UsernsGrant
    landlock_abi: int
    filesystem_scope: str | None
    workdir_exec: bool
    read_only_paths: tuple[str, ...]
    read_only_advisory_for: tuple[str, ...]
    preopens: tuple[Preopen, ...]
    network_allow: tuple[str, ...]
    unix_sockets: bool
    shell_allow: tuple[str, ...]
    spawn_allow: tuple[str, ...]
    spawn_workdir_snapshot: bool
    parent_workdir: str | None
    images: Images
    env_allow: tuple[str, ...]
    plan_submit: bool
    install_skill: tuple[str, ...]
    install_tool: tuple[str, ...]
    install_from: tuple[str, ...]
    interpreter_runtime_grants: tuple[InterpreterGrant, ...]
    derived_interpreter_runtime: tuple[DerivedRuntime, ...]
    trust_store: tuple[HostDirectory, ...]
    declared_needs: tuple[DeclaredNeed, ...]
    pinned_programs: tuple[PinnedProgram, ...]
    name_resolution: tuple[str, ...]
    host_paths: tuple[HostPath, ...]
    harness_paths: tuple[HostPath, ...] | None = dataclasses.field(metadata={OPTIONAL: True})
    harness_hosts: tuple[str, ...] | None = dataclasses.field(metadata={OPTIONAL: True})
    exports_files: FileExport | None
    peer_files: PeerFileExport | None
    peer_tasks: bool
    peer_fetch_allow: tuple[str, ...]
    state_stores: tuple[StateStore, ...]
    configured_artifacts: tuple[str, ...]
    staged_runtime_grants: tuple[StagedGrant, ...]
    runtime_writes: tuple[RuntimeWrite, ...]
    io_max: IoMax
    cgroup_scope: CgroupScope
    filesystem_boundary: Boundary
    runtime_dir: KeptDirectory
    records_dir: KeptDirectory
    temp_dir: TempDirectory

    def as_json(self) -> dict[str, Any]:
        """The report as JSON values, keys in the documented order."""
        result = _plain(self)
        assert isinstance(result, dict)
        return result


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: _plain(held)
            for field in dataclasses.fields(value)
            if (held := getattr(value, field.name)) is not None or OPTIONAL not in field.metadata
        }
    return value
