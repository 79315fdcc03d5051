"""The script of a replay driver: its entries, read and checked.

The contract is design/decisions.md 6. A mistake in a script is told by entry and key.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from murmur_guest.exchange import STOP_REASONS, USAGE_MEMBERS, DriverError

ON_EXHAUSTED = ("error", "repeat_last")
ENTRY_KEYS = (
    "text",
    "thinking",
    "tool_calls",
    "error",
    "stop_reason",
    "usage",
    "delay_ms",
    "stream",
    "expect",
    "when",
)


@dataclass(frozen=True, slots=True)
class When:
    """What a request must match for an entry to be chosen out of turn; None matches anything."""

    system: re.Pattern[str] | None
    newest: re.Pattern[str] | None


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """One tool call of an entry."""

    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """One answer. `label` names it in messages; `delay_ms` passes before anything is streamed."""

    label: str
    text: str | None
    thinking: str | None
    tool_calls: tuple[ScriptedCall, ...]
    error: str | None
    stop_reason: str
    usage: Mapping[str, int] | None
    delay_ms: int
    stream: tuple[str, ...]
    expect: re.Pattern[str] | None
    when: When | None


@dataclass(frozen=True, slots=True)
class Script:
    """Every entry, and what happens after the last."""

    entries: tuple[Entry, ...]
    on_exhausted: str


def read_script(config: Mapping[str, Any]) -> Script:
    """The script that an artifact's `config:` block holds or names.

    A script file is opened relative to the work folder. Raises DriverError.
    """
    for key in config:
        if key not in ("turns", "script", "on_exhausted"):
            raise DriverError(f'driver: config key "{key}" is not turns, script or on_exhausted')
    if ("turns" in config) == ("script" in config):
        raise DriverError("driver: config needs either turns or script")
    on_exhausted = config.get("on_exhausted", "error")
    if on_exhausted not in ON_EXHAUSTED:
        raise DriverError("driver: config.on_exhausted is not error or repeat_last")
    if "turns" in config:
        turns = config["turns"]
        if not isinstance(turns, list):
            raise DriverError("driver: config.turns is not a list")
        entries = tuple(_entry(value, f"turns[{i}]") for i, value in enumerate(turns))
    else:
        entries = _read_file(config["script"])
    return Script(entries, on_exhausted)


def _read_file(name: object) -> tuple[Entry, ...]:
    if not isinstance(name, str) or not name:
        raise DriverError("driver: config.script is not a file name")
    try:
        with open(name, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "not UTF-8 text"
        raise DriverError(f"driver: cannot read the script {name}: {reason}") from None
    entries = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        label = f"{name} line {number}"
        try:
            value = json.loads(line)
        except ValueError as problem:
            raise DriverError(f"driver: {label} is not JSON: {problem}") from None
        entries.append(_entry(value, label))
    return tuple(entries)


def _entry(value: object, label: str) -> Entry:
    if not isinstance(value, dict):
        raise DriverError(f"driver: {label} is not an object")
    for key in value:
        if key not in ENTRY_KEYS:
            raise DriverError(f'driver: {label} has an unknown key "{key}"')
    stream = _pieces(value.get("stream"), label)
    calls = _calls(value.get("tool_calls"), label)
    text = _text(value, "text", label)
    error = _text(value, "error", label)
    default = "error" if error is not None else "tool_call" if calls else "end_turn"
    stop_reason = value.get("stop_reason", default)
    if stop_reason not in STOP_REASONS:
        raise DriverError(f"driver: {label}.stop_reason is not {', '.join(STOP_REASONS)}")
    return Entry(
        label=label,
        text="".join(stream) if text is None and stream else text,
        thinking=_text(value, "thinking", label),
        tool_calls=calls,
        error=f"{label} scripts an error" if error is None and stop_reason == "error" else error,
        stop_reason=stop_reason,
        usage=_usage(value.get("usage"), label),
        delay_ms=_delay(value.get("delay_ms", 0), label),
        stream=stream,
        expect=_pattern(value.get("expect"), f"{label}.expect"),
        when=_when(value.get("when"), label),
    )


def _text(value: Mapping[str, Any], key: str, label: str) -> str | None:
    text = value.get(key)
    if text is not None and not isinstance(text, str):
        raise DriverError(f"driver: {label}.{key} is not a string")
    return text


def _pieces(value: object, label: str) -> tuple[str, ...]:
    pieces = [] if value is None else value
    if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
        raise DriverError(f"driver: {label}.stream is not a list of strings")
    return tuple(pieces)


def _calls(value: object, label: str) -> tuple[ScriptedCall, ...]:
    calls: Sequence[object] = [] if value is None else value if isinstance(value, list) else [None]
    read = []
    for index, call in enumerate(calls):
        where = f"{label}.tool_calls[{index}]"
        if not isinstance(call, dict) or not set(call) <= {"name", "input"}:
            raise DriverError(f"driver: {where} is not {{name, input}}")
        name, arguments = call.get("name"), call.get("input", {})
        if not isinstance(name, str) or not name:
            raise DriverError(f"driver: {where}.name is missing")
        if not isinstance(arguments, dict):
            raise DriverError(f"driver: {where}.input is not an object")
        read.append(ScriptedCall(name, arguments))
    return tuple(read)


def _usage(value: object, label: str) -> Mapping[str, int] | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise DriverError(f"driver: {label}.usage is not an object")
    for key, count in value.items():
        if key not in USAGE_MEMBERS:
            raise DriverError(f'driver: {label}.usage has an unknown key "{key}"')
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise DriverError(f"driver: {label}.usage.{key} is not a non-negative integer")
    return value


def _delay(value: object, label: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise DriverError(f"driver: {label}.delay_ms is not a non-negative integer")
    return value


def _when(value: object, label: str) -> When | None:
    if value is None:
        return None
    if not isinstance(value, dict) or not set(value) <= {"system", "newest"}:
        raise DriverError(f"driver: {label}.when is not {{system, newest}}")
    return When(
        system=_pattern(value.get("system"), f"{label}.when.system"),
        newest=_pattern(value.get("newest"), f"{label}.when.newest"),
    )


def _pattern(value: object, where: str) -> re.Pattern[str] | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise DriverError(f"driver: {where} is not a string")
    try:
        return re.compile(value)
    except re.error as problem:
        raise DriverError(f"driver: {where} is no regular expression: {problem}") from None
