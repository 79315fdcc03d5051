"""The blocks that shape a session: lifecycle, door, context, trace, exports and the rest.

seeds/manifest-schema.md, the sections of these names; spec/formations-and-newer-manifest.md A6
to A8 and A12 to A14. Durations are seconds, sizes are bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

TaskAcceptance = Literal["none", "single", "queue"]
AfterTask = Literal["exit", "sleep"]
Capture = Literal["none", "meta", "content"]


@dataclass(frozen=True, slots=True)
class KeepWorking:
    """A message that answers a turn end instead of ending the attempt, `limit` times a task."""

    message: str
    limit: int


@dataclass(frozen=True, slots=True)
class DoneCheck:
    """The operator's command that decides whether an attempt's work is done."""

    command: str
    limit: int
    timeout_secs: int = 600


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """How long a capsule runs and how many tasks it takes."""

    task_acceptance: TaskAcceptance = "single"
    after_task: AfterTask = "exit"
    queue_depth: int = 1
    input_timeout_secs: int | None = None
    conversation: Literal["stateless", "threaded"] = "stateless"
    max_task_reopens: int = 1
    shell_grace_secs: int = 10
    delegation_deadline_secs: int = 600
    deadline_notice_secs: int | None = None
    keep_working: KeepWorking | None = None
    done_check: DoneCheck | None = None


@dataclass(frozen=True, slots=True)
class Credential:
    """One door credential and the methods it reaches."""

    scopes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Authentication:
    """An authenticated door; absent means a public one."""

    scheme: Literal["bearer"]
    credentials: Mapping[str, Credential] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Network:
    """The door's port (None: the system picks one) and who may call it."""

    internal_port: int | None = None
    authentication: Authentication | None = None


@dataclass(frozen=True, slots=True)
class ContextRetain:
    """What bounds this capsule's conversation records."""

    max_messages: int | None = None
    max_age: int | None = None


@dataclass(frozen=True, slots=True)
class Images:
    """Bounds of images in the conversation."""

    max_bytes: int = 5 << 20
    keep: int = 5
    max_per_turn: int = 5


@dataclass(frozen=True, slots=True)
class Context:
    """The conversation: its window, its seed, its durable record."""

    max_tokens: int | None = None
    seed_budget: float = 0.10
    seed_overflow_margin: float = 0.10
    record: Literal["on", "off"] = "on"
    record_store: str | None = None
    retain: ContextRetain | None = None
    images: Images = field(default_factory=Images)


@dataclass(frozen=True, slots=True)
class TraceRetain:
    """What bounds the sessions kept beside the running one."""

    max_sessions: int | None = None
    max_age: int | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """How much of each model call the trace keeps, and how many sessions."""

    capture: Capture = "meta"
    retain: TraceRetain | None = None


@dataclass(frozen=True, slots=True)
class Scorer:
    """One scorer of the evaluation hook. What is None is the hook's own default to fill in."""

    type: str
    name: str | None = None
    max: int | None = None
    expected: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Labels and scorers handed to hooks."""

    dataset_id: str | None = None
    scorers: tuple[Scorer, ...] = ()


@dataclass(frozen=True, slots=True)
class Observability:
    """Where spans go (None: nowhere) and what evaluation hooks are told."""

    otel_endpoint: str | None = None
    eval: Evaluation | None = None


@dataclass(frozen=True, slots=True)
class FileExport:
    """The operator's read-only view of one subtree of the work folder."""

    root: str
    mode: Literal["read-only"]
    max_bytes: int = 10 << 20


@dataclass(frozen=True, slots=True)
class PeerFileExport:
    """The subtree that file handles may name. `max_ttl` None: 1 h, or refused under sleep."""

    root: str
    max_ttl: int | None = None
    max_bytes: int = 10 << 20


@dataclass(frozen=True, slots=True)
class PeerTasks:
    """Whether the door takes requests stamped as a peer's."""

    accept: bool


@dataclass(frozen=True, slots=True)
class Exports:
    """Views opened onto the session; None is a closed one."""

    files: FileExport | None = None
    peer_files: PeerFileExport | None = None
    peer_tasks: PeerTasks | None = None

    @property
    def planes(self) -> tuple[str, ...]:
        """The declared file planes, as the agent card names them."""
        declared = (("files", self.files), ("peer_files", self.peer_files))
        return tuple(name for name, export in declared if export is not None)

    @property
    def accepts_peer_tasks(self) -> bool:
        return self.peer_tasks is not None and self.peer_tasks.accept


@dataclass(frozen=True, slots=True)
class Control:
    """Names a controller, or the agent, may set while the session runs."""

    settings: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    agent_settings: tuple[str, ...] = ()

    @property
    def has_surface(self) -> bool:
        """Whether a control token is minted; `agent_settings` alone mints none."""
        return bool(self.settings or self.secrets)


@dataclass(frozen=True, slots=True)
class Deploy:
    """The release that a deployment uses (None: the running one)."""

    mur_version: str | None = None
