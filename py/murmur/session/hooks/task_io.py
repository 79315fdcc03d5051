"""`murmur:task-io/read`: the task's input and output, in bytes. spec/artifacts.md 4 and 15.6."""

from collections.abc import Sequence
from typing import Any

from murmur.guest.questions import Answer, Err, Ok
from murmur.session.hooks.scope import Moment


def read_task(moment: Moment, function: str, arguments: Sequence[Any]) -> Answer:
    """Answers one function of the interface for a hook that is granted it."""
    if function in ("input-len", "read-input"):
        form, *rest = arguments
        text = moment.original if form == "original" else moment.as_given
        return _read(text, "no-task", rest)
    if moment.original is None:
        return Err("no-task")
    return _read(moment.output, "no-output", arguments)


def _read(text: str | None, absent: str, where: Sequence[Any]) -> Answer:
    if text is None:
        return Err(absent)
    data = text.encode("utf-8", "replace")
    if not where:
        return Ok(len(data))
    offset, most = where
    if offset > len(data) or not _is_boundary(data, offset):
        return Err("out-of-range")
    end = min(offset + most, len(data))
    while not _is_boundary(data, end):
        end -= 1
    return Ok(data[offset:end].decode("utf-8"))


def _is_boundary(data: bytes, at: int) -> bool:
    """Whether a character begins or the text ends there."""
    return at >= len(data) or data[at] & 0xC0 != 0x80
