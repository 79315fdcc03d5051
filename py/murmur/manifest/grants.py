"""What a capsule, or one artifact entry, is granted: the `capabilities` block.

Allow lists are kept as written; whoever enforces one parses it (`network.parse_rules`,
`segments`), because the reference refuses a bad entry at staging, not at parse.
seeds/manifest-schema.md, `capabilities`; spec/formations-and-newer-manifest.md A5.
"""

from dataclasses import dataclass, field
from typing import Literal

from murmur.manifest.limits import Limits, Resources

Containment = Literal["advisory", "scoped", "sealed"]


@dataclass(frozen=True, slots=True)
class NetworkGrant:
    """`allow` None is an absent key; an empty list on an artifact entry narrows to nothing."""

    allow: tuple[str, ...] | None = None
    unix_sockets: bool = False


@dataclass(frozen=True, slots=True)
class PeerFetchGrant:
    """Peers whose file handles this capsule may redeem; same entries as `network.allow`."""

    allow: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FilesystemGrant:
    """`scope` None is the whole work folder. `records` counts on a hook's entry only."""

    scope: str | None = None
    read_only: tuple[str, ...] = ()
    workdir_exec: bool = False
    records: bool = False


@dataclass(frozen=True, slots=True)
class InterpreterDirectory:
    """A host directory outside the work folder; `list_dir` also grants listing it."""

    path: str
    list_dir: bool


@dataclass(frozen=True, slots=True)
class InterpreterRuntime:
    """Host directories that one allowed binary's import machinery needs."""

    binary: str
    dirs: tuple[InterpreterDirectory, ...]


@dataclass(frozen=True, slots=True)
class StagedRuntime:
    """A pinned host tree that a sealed root binds for one allowed binary."""

    binary: str
    source_path: str
    pin: str


@dataclass(frozen=True, slots=True)
class ShellGrant:
    """Binaries the agent may run, and the patterns that shape their environment."""

    allow: tuple[str, ...]
    strip_env: tuple[str, ...] = ()
    baseline_env: tuple[str, ...] = ()
    interpreter_runtime: tuple[InterpreterRuntime, ...] = ()
    staged_runtime: tuple[StagedRuntime, ...] = ()


@dataclass(frozen=True, slots=True)
class NameGrant:
    """A list of names and nothing else: `env.allow`, `spawn.allow`."""

    allow: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StateGrant:
    """A durable store; `store` None is named after the capsule."""

    store: str | None = None


@dataclass(frozen=True, slots=True)
class ReadGrant:
    """A host import that is read or not: `task_io`, `conversation`."""

    read: bool


@dataclass(frozen=True, slots=True)
class PlanGrant:
    """Whether the agent may submit plans."""

    submit: bool


@dataclass(frozen=True, slots=True)
class InstallGrant:
    """What a component may install and remove while the session runs, and where from."""

    skill: tuple[str, ...] = ()
    tool: tuple[str, ...] = ()
    sources: tuple[str, ...] = ("stores",)


@dataclass(frozen=True, slots=True)
class HarnessPath:
    """A host directory, absolute or below `~/`, and how a harness may use it."""

    path: str
    access: Literal["read", "read-write"] = "read"


@dataclass(frozen=True, slots=True)
class HarnessGrant:
    """Host paths that a process driver's harness may be given."""

    paths: tuple[HarnessPath, ...] = ()


@dataclass(frozen=True, slots=True)
class Capabilities:
    """A whole block. `declared` names the sub-blocks that the manifest sets."""

    network: NetworkGrant | None = None
    peer_fetch: PeerFetchGrant | None = None
    filesystem: FilesystemGrant | None = None
    shell: ShellGrant | None = None
    env: NameGrant | None = None
    limits: Limits = field(default_factory=Limits)
    resources: Resources = field(default_factory=Resources)
    containment: Containment | None = None
    conversation: ReadGrant | None = None
    task_io: ReadGrant | None = None
    state: StateGrant | None = None
    plan: PlanGrant | None = None
    spawn: NameGrant | None = None
    install: InstallGrant | None = None
    harness: HarnessGrant | None = None
    declared: tuple[str, ...] = ()

    @property
    def categories(self) -> tuple[str, ...]:
        """Which of network, filesystem and shell are granted, as session records say it."""
        granted = {
            "network": self.network_allow,
            "filesystem": self.filesystem,
            "shell": self.shell_allow,
        }
        return tuple(name for name, value in granted.items() if value)

    @property
    def network_allow(self) -> tuple[str, ...]:
        return (self.network.allow or ()) if self.network else ()

    @property
    def unix_sockets(self) -> bool:
        return self.network is not None and self.network.unix_sockets

    @property
    def filesystem_scope(self) -> str | None:
        return self.filesystem.scope if self.filesystem else None

    @property
    def read_only(self) -> tuple[str, ...]:
        return self.filesystem.read_only if self.filesystem else ()

    @property
    def workdir_exec(self) -> bool:
        return self.filesystem is not None and self.filesystem.workdir_exec

    @property
    def shell_allow(self) -> tuple[str, ...]:
        return self.shell.allow if self.shell else ()

    @property
    def env_allow(self) -> tuple[str, ...]:
        return self.env.allow if self.env else ()

    @property
    def spawn_allow(self) -> tuple[str, ...]:
        return self.spawn.allow if self.spawn else ()

    @property
    def plan_submit(self) -> bool:
        return self.plan is not None and self.plan.submit
