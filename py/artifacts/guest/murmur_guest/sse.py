"""Server-sent events out of a body that arrives in arbitrary pieces."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from murmur_guest.exchange import DriverError

EVENT_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name ("message" when it had none) and its data lines joined by LF."""

    name: str
    data: str


def read_events(pieces: Iterable[bytes]) -> Iterator[Event]:
    """Events with data, in order. What stands after the last blank line is no event.

    Raises DriverError when one event grows beyond all bounds.
    """
    data: list[str] = []
    name, size = "", 0
    for line in _lines(pieces):
        if not line:
            if data:
                yield Event(name or "message", "\n".join(data))
            name, data, size = "", [], 0
            continue
        field, _, value = line.partition(b":")
        size += len(line)
        if size > EVENT_BYTES:
            raise DriverError("driver: an event of the provider is too large")
        text = value.removeprefix(b" ").decode("utf-8", "replace")
        if field == b"data":
            data.append(text)
        elif field == b"event":
            name = text


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Lines without their ends: LF, CR LF, or CR."""
    waiting: list[bytes] = []
    after_cr = False
    for piece in pieces:
        if after_cr and piece.startswith(b"\n"):
            piece = piece[1:]
        if not piece:
            continue
        after_cr = piece.endswith(b"\r")
        parts = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        waiting.append(parts[0])
        if sum(map(len, waiting)) > EVENT_BYTES:
            raise DriverError("driver: an event of the provider is too large")
        for part in parts[1:]:
            yield b"".join(waiting)
            waiting = [part]
    if any(waiting):
        yield b"".join(waiting)
