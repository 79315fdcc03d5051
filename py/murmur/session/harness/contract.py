"""What a process driver says and is told, as values. spec/artifacts.md 5.

The names are those of `murmur:driver/process@0.4.0`. Records come from a guest host as mappings
with the interface's own member names, variants as (case, payload).
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, cast, get_args

Interrupt = Literal["stdin-message", "signal-int", "unsupported"]
FailureKind = Literal["auth", "quota", "max-turns", "canceled", "harness-error", "other"]
SessionMode = Literal["new", "resume"]
FILES_DIR: Final = "{files_dir}"

_LONGEST_FILE_NAME: Final = 255
_LONGEST_SESSION_ID: Final = 1024
_MOST_TOKENS: Final = 1 << 48
_LATEST_S: Final = 253_402_300_799
"""The end of the year 9999: no later moment is a date to anybody."""


class BadValue(Exception):
    """A value that the contract does not allow; the text says which."""


@dataclasses.dataclass(frozen=True, slots=True)
class Description:
    """What a driver says of its harness, once a load."""

    harness: str
    binary: str
    version_args: tuple[str, ...]
    tested_versions: tuple[str, ...]
    interrupt: Interrupt
    required_env: tuple[str, ...]
    streams_text: bool
    reports_usage: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Bridge:
    """How the harness reaches the capsule's tools."""

    server_name: str
    url: str
    bearer_token: str
    tool_names: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class LaunchRequest:
    """What one run is to do. `config` is `inference.driver.config` as JSON."""

    model: str | None
    system_prompt: str
    config: str | None
    bridge: Bridge | None
    session_id: str
    session_mode: SessionMode
    harness_version: str | None
    task: str

    def value(self) -> dict[str, Any]:
        """The record as a guest takes it."""
        bridge = self.bridge
        return {
            "model": self.model,
            "system-prompt": self.system_prompt,
            "config": self.config,
            "bridge": None
            if bridge is None
            else {
                "server-name": bridge.server_name,
                "url": bridge.url,
                "bearer-token": bridge.bearer_token,
                "tool-names": list(bridge.tool_names),
            },
            "session": {"id": self.session_id, "mode": self.session_mode},
            "harness-version": self.harness_version,
            "task": self.task,
        }


@dataclasses.dataclass(frozen=True, slots=True)
class LaunchPlan:
    """How the harness is started. `files` are names and contents; `stdin` None is an empty one."""

    args: tuple[str, ...]
    env_set: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, str], ...]
    stdin: bytes | None
    keep_stdin_open: bool
    interrupt_stdin: bytes | None

    def placed(self, folder: str) -> "LaunchPlan":
        """The plan with `{files_dir}` replaced by `folder`, in arguments and variables."""
        return dataclasses.replace(
            self,
            args=tuple(each.replace(FILES_DIR, folder) for each in self.args),
            env_set=tuple((name, value.replace(FILES_DIR, folder)) for name, value in self.env_set),
        )


@dataclasses.dataclass(frozen=True, slots=True)
class _File:
    """One of a plan's `files`, as it comes."""

    name: str
    contents: str


@dataclasses.dataclass(frozen=True, slots=True)
class SessionStarted:
    id: str
    auth: str
    model: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Text:
    """The whole text of one message: it replaces its deltas."""

    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class ThinkingDelta:
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Thinking:
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class CallStarted:
    """The model began to write a call."""

    id: str
    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class CallProgress:
    id: str
    input_bytes: int


@dataclasses.dataclass(frozen=True, slots=True)
class Called:
    """A whole call; `input` is JSON text, `name` an artifact's bare name."""

    id: str
    name: str
    input: str


@dataclasses.dataclass(frozen=True, slots=True)
class CallAnswered:
    id: str
    output: str
    is_error: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Retried:
    attempt: int
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class Usage:
    """Tokens since the run began. An absent member says nothing; `cache_*` lie beside `input`,
    `thinking` is a part of `output`."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_creation: int | None = None
    thinking: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Quota:
    """A subscription window: `used` from 0 to 1, `resets_at` in seconds since 1970."""

    name: str
    used: float | None
    resets_at: int | None
    window_minutes: int | None
    state: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class TurnEnd:
    """The run's answer."""

    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class TurnFailed:
    kind: FailureKind
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class Note:
    text: str


Event = (
    SessionStarted
    | TextDelta
    | Text
    | ThinkingDelta
    | Thinking
    | CallStarted
    | CallProgress
    | Called
    | CallAnswered
    | Retried
    | Usage
    | Quota
    | TurnEnd
    | TurnFailed
    | Note
)

_OF_TEXT: Final[
    Mapping[str, type[TextDelta | Text | ThinkingDelta | Thinking | TurnEnd | Note]]
] = {
    "text-delta": TextDelta,
    "text": Text,
    "thinking-delta": ThinkingDelta,
    "thinking": Thinking,
    "turn-end": TurnEnd,
    "note": Note,
}
_RECORDS: Final[Mapping[str, type[Any]]] = {
    "session-started": SessionStarted,
    "tool-call": Called,
    "tool-result": CallAnswered,
    "tool-call-started": CallStarted,
    "tool-call-progress": CallProgress,
    "retry": Retried,
    "usage": Usage,
    "quota": Quota,
    "turn-failed": TurnFailed,
}


@dataclasses.dataclass(frozen=True, slots=True)
class ExitStatus:
    """How the harness's process ended."""

    code: int | None
    signal: int | None
    stderr_tail: str
    interrupted: bool
    saw_terminal: bool

    def value(self) -> dict[str, Any]:
        """The record as a guest takes it."""
        return {
            "code": self.code,
            "signal": self.signal,
            "stderr-tail": self.stderr_tail,
            "interrupted": self.interrupted,
            "saw-terminal": self.saw_terminal,
        }


def description_of(value: object) -> Description:
    """Raises BadValue, also for a variable name that no environment can have."""
    found: Description = _record(Description, value, "description")
    for name in found.required_env:
        if not name or "=" in name or "\0" in name:
            raise BadValue(f"required-env holds {name!r}, which is no name of a variable")
    if not found.binary or "\0" in found.binary:
        raise BadValue(f"binary is {found.binary!r}, which names no program")
    return found


def plan_of(value: object) -> LaunchPlan:
    """Raises BadValue for a plan that no process can be started by."""
    plan: LaunchPlan = _record(LaunchPlan, value, "launch-plan")
    files = [_record(_File, each, "driver-file") for each in plan.files]
    plan = dataclasses.replace(plan, files=tuple((each.name, each.contents) for each in files))
    names = [name for name, _ in plan.files]
    for name in names:
        if not name or "/" in name or "\0" in name or name in (".", ".."):
            raise BadValue(f"files holds {name!r}, which is no name of a file")
        if len(name.encode()) > _LONGEST_FILE_NAME:
            raise BadValue(f"files holds a name of more than {_LONGEST_FILE_NAME} bytes")
    if len(set(names)) < len(names):
        raise BadValue("files holds one name twice")
    for name, text in plan.env_set:
        if not name or "=" in name or "\0" in name or "\0" in text:
            raise BadValue(f"env-set holds {name!r}, which no environment takes")
    if any("\0" in each for each in plan.args):
        raise BadValue("args holds a NUL, which no argument takes")
    return plan


def event_of(value: object) -> Event:
    """Raises BadValue for what is no event."""
    try:
        case, payload = cast(tuple[str, object], value)
        if case in _OF_TEXT:
            if not isinstance(payload, str):
                raise TypeError("its payload is no text")
            return _OF_TEXT[case](payload)
        return _possible(cast(Event, _record(_RECORDS[case], payload, case)))
    except (KeyError, TypeError, ValueError) as wrong:
        raise BadValue(f"an event is malformed: {wrong}") from None


def _possible(event: Event) -> Event:
    """An event whose values can be kept. Raises BadValue for one whose cannot.

    The id of a session is a file's content, an argument and a line on a terminal later.
    """
    match event:
        case SessionStarted(id=identifier) if identifier:
            if len(identifier) > _LONGEST_SESSION_ID or not identifier.isprintable():
                what = f"more than {_LONGEST_SESSION_ID} characters, or some that are not printed"
                raise BadValue(f"session-started has an id with {what}")
        case Usage():
            for field in dataclasses.fields(event):
                if (getattr(event, field.name) or 0) > _MOST_TOKENS:
                    raise BadValue(f"usage has more {field.name} tokens than can be")
        case Quota(resets_at=moment) if moment is not None and moment > _LATEST_S:
            return dataclasses.replace(event, resets_at=None)
    return event


def _record(kind: type[Any], value: object, name: str) -> Any:
    """A dataclass from a record with the same members, spelled with hyphens."""
    if not isinstance(value, Mapping):
        raise BadValue(f"{name} is no record")
    fields = dataclasses.fields(kind)
    try:
        given = {field.name: _whole(value[field.name.replace("_", "-")]) for field in fields}
    except KeyError as missing:
        raise BadValue(f"{name} has no member {missing.args[0]}") from None
    made = kind(**given)
    kind_of_failure = getattr(made, "kind", None)
    if kind is TurnFailed and kind_of_failure not in get_args(FailureKind):
        raise BadValue(f"turn-failed has the kind {kind_of_failure!r}")
    return made


def _whole(value: object) -> object:
    """Lists as tuples, all the way down."""
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return tuple(_whole(each) for each in value)
    return value
