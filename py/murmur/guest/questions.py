"""What a guest asks of the runtime through its imports, and how it is answered.

Both travel between host and runtime as plain values: a record is a dict, a list a list, a tuple a
tuple, an option its value or None, `list<u8>` bytes. `pack` and `unpack` take them through JSON.
spec/artifacts.md 3 and 6.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

TASK_INTERFACE: Final = "murmur:task/task@0.1.0"
STREAM_INTERFACE: Final = "murmur:stream/events@0.1.0"
PROCESS_INTERFACE: Final = "murmur:process/process@0.1.0"
MANAGE_INTERFACE: Final = "murmur:artifact-manager/manage@0.1.0"
SHELL_INTERFACE: Final = "murmur:shell/execute@0.1.0"
INVOKE_INTERFACE: Final = "murmur:tool-registry/invoke@0.2.0"
MESSAGE_INTERFACE: Final = "murmur:message/send@0.1.0"
LIFECYCLE_INTERFACE: Final = "murmur:hook/lifecycle@0.9.0"
INFERENCE_INTERFACE: Final = "murmur:runtime/inference@0.4.0"
TOKENS_INTERFACE: Final = "murmur:runtime/tokens@0.4.0"
TASK_IO_INTERFACE: Final = "murmur:task-io/read@0.1.0"
CONVERSATION_INTERFACE: Final = "murmur:conversation/read@0.2.0"

UNCHARGED: Final = frozenset((TASK_INTERFACE, INFERENCE_INTERFACE))
"""Interfaces that wait for a person or a model: the guest's deadline waits with them."""


class Trap(Exception):
    """An answer that ends the guest's call; the text says why."""


class InputRefused(Trap):
    """Nobody can answer a `request-input` (no task, or the wait ran out)."""


@dataclass(frozen=True, slots=True)
class Question:
    """One call of an import. `deadline` is the monotonic moment at which the asking call ends:
    whoever answers has that long, and less once `cancel` is set.
    """

    interface: str
    function: str
    arguments: tuple[Any, ...]
    deadline: float
    cancel: threading.Event | None = None


@dataclass(frozen=True, slots=True)
class Value:
    """The answer of a function that returns no `result`; None where it returns nothing."""

    value: Any = None


@dataclass(frozen=True, slots=True)
class Ok:
    """The `ok` of a `result`."""

    value: Any = None


@dataclass(frozen=True, slots=True)
class Err:
    """The `err` of a `result`. A variant inside is its payload alone, whose type tells the case."""

    value: Any = None


Answer = Value | Ok | Err
Answering = Callable[[Question], Answer]
"""Answers a guest's questions, in the thread that called the guest. Raising `Trap` ends the
guest's call with that text.
"""


def unserved(question: Question) -> Answer:
    """What is answered where nobody serves the interface: `murmur:process` refuses, the rest traps.

    spec/artifacts.md 3, *Served to*.
    """
    if question.interface == PROCESS_INTERFACE:
        return unavailable(question.function)
    if question.interface == TASK_INTERFACE:
        raise InputRefused("request-input is served within a task only")
    raise Trap(f"{question.interface} is not served here")


def unavailable(function: str) -> Err:
    """The refusal of every `murmur:process` function where host programs cannot be started."""
    if function.startswith("[method]"):
        return Err("unavailable")
    return Err({"rule": "unavailable", "reason": "host programs cannot be started from here"})


_KINDS: Final[Mapping[str, type[Answer]]] = {"value": Value, "ok": Ok, "err": Err}


def pack_answer(answer: Answer) -> dict[str, Any]:
    """An answer as JSON."""
    kind = next(name for name, made in _KINDS.items() if type(answer) is made)
    return {kind: pack(answer.value)}


def unpack_answer(packed: Any) -> Answer:
    """The inverse of `pack_answer`."""
    ((kind, value),) = packed.items()
    return _KINDS[kind](unpack(value))


def pack(value: Any) -> Any:
    """`value` as JSON: bytes, records and tuples are told from what JSON has itself."""
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, dict):
        return {"$record": {name: pack(item) for name, item in value.items()}}
    if isinstance(value, tuple):
        return {"$tuple": [pack(item) for item in value]}
    if isinstance(value, list):
        return [pack(item) for item in value]
    return value


def unpack(value: Any) -> Any:
    """The inverse of `pack`. `ValueError`, `KeyError` or `TypeError` for what `pack` does not
    make.
    """
    if isinstance(value, list):
        return [unpack(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((mark, inner),) = value.items()
    if mark == "$bytes":
        return base64.b64decode(inner, validate=True)
    if mark == "$tuple":
        return tuple(unpack(item) for item in inner)
    if mark == "$record":
        return {str(name): unpack(item) for name, item in inner.items()}
    raise ValueError(f"the mark {mark!r}")
