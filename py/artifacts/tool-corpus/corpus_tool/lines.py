"""`state/corpus.jsonl`: one record a line, each sealed and chained to the one before it.

A line's `sha256` is of the line without it, `previous` is that of the last sound line when it was
written. So a changed line no longer fits its own hash, and a removed one leaves a gap. A line that
a killed call left half-written stays where it is: the next append begins on a line of its own.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from murmur_tooling.documents import read_json
from murmur_tooling.members import ToolError
from murmur_tooling.outcome import compact
from murmur_tooling.state import sole_writer, unusable

NAME = "corpus.jsonl"
LINE_BYTES = 256 * 1024
_BLOCK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the file: its number from 1, and its record, or what is wrong with it."""

    number: int
    value: Mapping[str, Any]
    problem: str | None = None


def append(folder: Path, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Appends one line with `seq`, `previous` and `sha256` added, and returns it.

    Raises ToolError `too_large` or `state_unavailable`.
    """
    path = folder / NAME
    with sole_writer(folder, NAME):
        last, torn = _last(path)
        value = dict(fields)
        value["seq"] = last.get("seq", 0) + 1
        value["previous"] = last.get("sha256")
        value["sha256"] = seal(value)
        line = compact(value).encode()
        if len(line) > LINE_BYTES:
            message = f"the record is {len(line)} bytes as a line; at most {LINE_BYTES} are kept"
            raise ToolError("too_large", message)
        try:
            with path.open("ab") as file:
                file.write((b"\n" if torn else b"") + line + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as problem:
            raise unusable(path, problem) from None
    return value


def lines(folder: Path) -> Iterator[Line]:
    """Every line, oldest first. Raises ToolError `state_unavailable`."""
    path = folder / NAME
    try:
        with path.open("rb") as file:
            for number, text in enumerate(file, 1):
                if text.endswith(b"\n"):
                    yield _line(number, text)
                elif text:
                    yield Line(number, {}, "it is torn: its end is missing")
    except FileNotFoundError:
        return
    except OSError as problem:
        raise unusable(path, problem) from None


def newest_lines(folder: Path) -> Iterator[Line]:
    """Sound lines from the newest to the oldest; numbers count from the end of the file."""
    path = folder / NAME
    try:
        with path.open("rb") as file:
            for number, text in enumerate(_backwards(file), 1):
                line = _line(number, text)
                if line.problem is None:
                    yield line
    except FileNotFoundError:
        return
    except OSError as problem:
        raise unusable(path, problem) from None


def seal(value: Mapping[str, Any]) -> str:
    """The hash of a line's members but `sha256`, in their order."""
    rest = {key: each for key, each in value.items() if key != "sha256"}
    return hashlib.sha256(compact(rest).encode("utf-8", "surrogatepass")).hexdigest()


def _line(number: int, text: bytes) -> Line:
    try:
        value = read_json(text)
    except ValueError:
        return Line(number, {}, "it is no JSON")
    if not isinstance(value, dict) or not isinstance(value.get("seq"), int):
        return Line(number, {}, "it is no record")
    if value.get("sha256") != seal(value):
        return Line(number, value, "it does not fit its sha256")
    return Line(number, value)


def _last(path: Path) -> tuple[Mapping[str, Any], bool]:
    """The newest sound line's members, and whether the file's last line lacks its end."""
    if not path.exists():
        return {}, False
    newest = next(newest_lines(path.parent), None)
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 1, 0))
            torn = size > 0 and file.read(1) != b"\n"
    except OSError as problem:
        raise unusable(path, problem) from None
    return (newest.value if newest else {}), torn


def _backwards(file: Any) -> Iterator[bytes]:
    """The whole lines of a file, last first; what follows the last line end is left out."""
    at = file.seek(0, os.SEEK_END)
    held = b""
    ended = False
    while at > 0:
        size = min(_BLOCK, at)
        at -= size
        file.seek(at)
        pieces = (file.read(size) + held).split(b"\n")
        held = pieces[0]
        for piece in reversed(pieces[1:]):
            if ended:
                yield piece + b"\n"
            ended = True
    if ended:
        yield held + b"\n"
