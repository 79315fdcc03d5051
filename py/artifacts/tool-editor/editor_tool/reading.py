"""Showing a part of a text file, without loading more of it than is shown.

Lines end with LF; a CR before it belongs to the line. UTF-16 alone is loaded whole, since its line
ends cannot be counted in bytes.
"""

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from murmur_tooling.members import ToolError, invalid
from murmur_tooling.places import failed

from editor_tool import finding
from editor_tool.files import load, not_text, refuse_unless_file
from editor_tool.places import resolve
from editor_tool.texts import SNIFFED_BYTES, decoded, encoding_of

LINES_READ = 2000
TEXT_BYTES = 256 * 1024
COUNTED_BYTES = 256 * 1024 * 1024
"""How far past what is shown a file's lines are counted."""

_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Window:
    """Some lines of a file, with their ends. `total` is None where there are too many to count."""

    path: str
    lines: tuple[str, ...]
    first: int
    total: int | None
    truncated: bool
    encoding: str

    def facts(self, content: str) -> dict[str, Any]:
        """The result's members, with the lines as `content`."""
        facts: dict[str, Any] = {
            "path": self.path,
            "content": content,
            "start_line": self.first if self.lines else 0,
            "end_line": self.first + len(self.lines) - 1 if self.lines else 0,
            "total_lines": self.total,
            "truncated": self.truncated,
        }
        return facts if self.encoding == "utf-8" else {**facts, "encoding": self.encoding}


def read_file(folder: Path, name: str, start: int | None, end: int | None) -> dict[str, Any]:
    """Lines `start` to `end`, counted from 1, both included."""
    window = _window(folder, resolve(folder, name), start, end)
    return window.facts("".join(window.lines))


def view(folder: Path, name: str, start: int | None, end: int | None) -> dict[str, Any]:
    """The same with each line's number before it; of a folder, what it holds."""
    path = resolve(folder, name)
    if (folder / path).is_dir():
        return finding.list_files(folder, path, recursive=False)
    window = _window(folder, path, start, end)
    bare = (line.rstrip("\r\n") for line in window.lines)
    numbered = (f"{number:6d}\t{line}\n" for number, line in enumerate(bare, window.first))
    return window.facts("".join(numbered))


def _window(folder: Path, path: str, start: int | None, end: int | None) -> Window:
    if start is not None and end is not None and end < start:
        raise invalid(f"end_line {end} is before start_line {start}")
    try:
        refuse_unless_file(folder, path)
        with (folder / path).open("rb") as file:
            head = file.read(SNIFFED_BYTES)
            encoding = encoding_of(head, whole=len(head) < SNIFFED_BYTES)
            if encoding is None:
                raise not_text(path)
            if encoding.startswith("utf-16"):
                text = load(folder, path).content
                return _read(BytesIO(text.encode()), path, start or 1, end, "utf-8", encoding)
            file.seek(3 if encoding == "utf-8-bom" else 0)
            return _read(file, path, start or 1, end, encoding, encoding)
    except OSError as problem:
        raise failed(path, problem) from None


def _read(
    file: BinaryIO, path: str, first: int, end: int | None, codec: str, encoding: str
) -> Window:
    passed = _skip(file, first - 1)
    lines: list[bytes] = []
    size = 0
    cut = more = False
    most = LINES_READ if end is None else min(LINES_READ, end - first + 1)
    while len(lines) < most and not more:
        line = file.readline(TEXT_BYTES + 1)
        if not line:
            break
        if size + len(line) > TEXT_BYTES:
            if lines:
                file.seek(-len(line), 1)
                more = True
                break
            line, cut = line[:TEXT_BYTES], True
            file.seek(-1, 1)
            _skip(file, 1)
        size += len(line)
        lines.append(line)
    counted, ended = _count(file)
    unended = bool(lines) and not counted and not lines[-1].endswith(b"\n") and not cut
    shown_ends = len(lines) - unended
    total = passed + shown_ends + counted + unended if ended else None
    if total is not None and first > max(total, 1):
        raise ToolError("out_of_range", f"{path} has {total} lines, none at {first}")
    known = [number for number in (end, total) if number is not None]
    short = not known or first + len(lines) - 1 < min(known)
    try:
        texts = tuple(decoded(line, codec, cut=cut) for line in lines)
    except UnicodeDecodeError:
        texts = tuple(line.decode("latin-1") for line in lines)
        encoding = "latin-1"
    if any("\0" in text for text in texts):
        raise not_text(path)
    return Window(path, texts, first, total, cut or short, encoding)


def _skip(file: BinaryIO, lines: int) -> int:
    """Pass that many lines; how many there were."""
    left = lines
    last = b"\n"
    while left:
        chunk = file.read(_CHUNK)
        if not chunk:
            return lines - left + (last != b"\n")
        found = chunk.count(b"\n")
        if found >= left:
            at = -1
            for _ in range(left):
                at = chunk.index(b"\n", at + 1)
            file.seek(at + 1 - len(chunk), 1)
            return lines
        left -= found
        last = chunk[-1:]
    return lines


def _count(file: BinaryIO) -> tuple[int, bool]:
    """The lines that are left, and whether all of them were counted."""
    lines = 0
    last = b"\n"
    for _ in range(COUNTED_BYTES // _CHUNK):
        chunk = file.read(_CHUNK)
        if not chunk:
            return lines + (last != b"\n"), True
        lines += chunk.count(b"\n")
        last = chunk[-1:]
    return lines, not file.read(1)
