"""`murmur:driver/process` as plain values (spec/artifacts.md 5).

A driver is one object that lives as long as one run of its harness: the component is instantiated
once a run, so what `read` learns from a line is there for the next.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol

Interrupt = Literal["stdin-message", "signal-int", "unsupported"]
FailureKind = Literal["auth", "quota", "max-turns", "canceled", "harness-error", "other"]
QuotaState = Literal["ok", "warning", "exhausted"]

FILES_DIR = "{files_dir}"
"""Stands, in an argument or a variable's value, for the directory that a plan's files are in."""

LONGEST_ARGUMENT = 100 * 1024
"""UTF-8 bytes: Linux starts no program with an argument of 128 KiB or more."""


class Refused(Exception):
    """`launch` answers with this text instead of a plan."""


@dataclass(frozen=True, slots=True)
class Description:
    """What the runtime must know before it starts the harness."""

    harness: str
    binary: str
    tested_versions: tuple[str, ...]
    interrupt: Interrupt
    required_env: tuple[str, ...]
    streams_text: bool
    reports_usage: bool
    version_args: tuple[str, ...] = ("--version",)


@dataclass(frozen=True, slots=True)
class Bridge:
    """The loopback MCP server that offers the capsule's tools."""

    server_name: str
    url: str
    bearer_token: str = field(repr=False)
    tool_names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """One task for the harness; `config` is `inference.driver.config` as JSON."""

    task: str
    session_id: str
    resumes: bool = False
    system_prompt: str = ""
    model: str | None = None
    config: str | None = None
    bridge: Bridge | None = None
    harness_version: str | None = None


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """How to start it: `files` are (name, contents), `env` (name, value)."""

    args: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    stdin: bytes | None = None
    keep_stdin_open: bool = False
    interrupt_stdin: bytes | None = None


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """How the harness ended, for a run whose output held no verdict."""

    code: int | None = None
    signal: int | None = None
    stderr_tail: str = ""
    interrupted: bool = False
    saw_terminal: bool = False


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """The conversation that the harness opened; `id` is what a later run resumes."""

    id: str
    auth: str
    model: str | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of a message."""

    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """A whole message, in place of its pieces."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """Whole reasoning, in place of its pieces."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of one of the capsule's tools, by its bare name; `input` is JSON text."""

    id: str
    name: str
    input: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the harness was handed for a call."""

    id: str
    output: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class Retry:
    """The harness asks its provider again; `attempt` counts from 1."""

    attempt: int
    reason: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens since the run began; None is not reported. The cached ones are not part of `input`,
    `thinking` is part of `output`.
    """

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_creation: int | None = None
    thinking: int | None = None


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """The task's result."""

    text: str


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """The task failed."""

    kind: FailureKind
    message: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something for the trace alone."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallStarted:
    """A call whose input is still being written."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolCallProgress:
    """UTF-8 size of that input so far."""

    id: str
    input_bytes: int


@dataclass(frozen=True, slots=True)
class Quota:
    """A subscription's window; `used` is 0 to 1, `resets_at` seconds since 1970."""

    name: str
    used: float | None = None
    resets_at: int | None = None
    window_minutes: int | None = None
    state: QuotaState | None = None


Event = (
    SessionStarted
    | TextDelta
    | Text
    | ThinkingDelta
    | Thinking
    | ToolCall
    | ToolResult
    | Retry
    | Usage
    | TurnEnd
    | TurnFailed
    | Note
    | ToolCallStarted
    | ToolCallProgress
    | Quota
)


class HarnessDriver(Protocol):
    """One harness, for one run."""

    def describe(self) -> Description:
        """What it is."""

    def launch(self, request: LaunchRequest) -> LaunchPlan:
        """How to start it on a task. Raises Refused."""

    def read(self, line: str) -> list[Event]:
        """What a line of its output says. Raises nothing, whatever the line is."""

    def classify_exit(self, exit: ExitStatus) -> TurnEnd | TurnFailed:
        """What the end of a run without a verdict amounts to."""
