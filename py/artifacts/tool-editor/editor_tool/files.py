"""Reading and changing one text file of the work folder.

Text is UTF-8; line ends are kept as they are. A change is written in place, so that mode and links
of an existing file stay.
"""

from pathlib import Path
from typing import Any

from editor_tool.places import EditorError, failed, resolve

LINES_READ = 2000
TEXT_BYTES = 256 * 1024
FILE_BYTES = 16 * 1024 * 1024


def load(folder: Path, path: str) -> str:
    """The whole text of a resolved path."""
    try:
        if (folder / path).is_dir():
            raise EditorError("is_directory", f"{path} is a directory")
        with (folder / path).open("rb") as file:
            content = file.read(FILE_BYTES + 1)
    except OSError as problem:
        raise failed(path, problem) from None
    if len(content) > FILE_BYTES:
        raise EditorError("too_large", f"{path} is larger than {FILE_BYTES} bytes")
    if b"\0" in content:
        raise EditorError("not_text", f"{path} is a binary file")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise EditorError("not_text", f"{path} is not UTF-8 text") from None


def lines_of(text: str) -> list[str]:
    """Its lines with their line ends (LF; a CR before it belongs to the line)."""
    pieces = text.split("\n")
    lines = [piece + "\n" for piece in pieces[:-1]]
    return [*lines, pieces[-1]] if pieces[-1] else lines


def read_file(folder: Path, name: str, start: int | None, end: int | None) -> dict[str, Any]:
    """Lines `start` to `end`, counted from 1, both included."""
    path = resolve(folder, name)
    lines = lines_of(load(folder, path))
    first = start or 1
    last = min(end or len(lines), len(lines))
    if start is not None and end is not None and end < start:
        raise EditorError("invalid_input", f"end_line {end} is before start_line {start}")
    if first > max(len(lines), 1):
        raise EditorError("out_of_range", f"{path} has {len(lines)} lines, none at {first}")
    shown: list[str] = []
    size = 0
    for line in lines[first - 1 : last]:
        size += len(line.encode())
        if len(shown) == LINES_READ or (shown and size > TEXT_BYTES):
            break
        shown.append(line)
    text = "".join(shown)
    cut = len(text.encode()) > TEXT_BYTES
    if cut:
        text = text.encode()[:TEXT_BYTES].decode("utf-8", "ignore")
    ends = first + len(shown) - 1
    result = {
        "path": path,
        "content": text,
        "start_line": first if shown else 0,
        "end_line": ends if shown else 0,
        "total_lines": len(lines),
        "truncated": cut or ends < last,
    }
    return result


def write_file(folder: Path, name: str, content: str) -> dict[str, Any]:
    """Create or replace a file; missing parent folders are made."""
    path = resolve(folder, name)
    existed = (folder / path).exists()
    _store(folder, path, content)
    return {"path": path, "created": not existed, "bytes": len(content.encode())}


def replace_in_file(folder: Path, name: str, old: str, new: str) -> dict[str, Any]:
    """Replace the one occurrence of `old`."""
    path = resolve(folder, name)
    text = load(folder, path)
    if not old:
        raise EditorError("invalid_input", "old_string is empty")
    found = text.count(old)
    if found == 0:
        raise EditorError("no_match", f"old_string does not occur in {path}")
    if found > 1:
        raise EditorError(
            "not_unique", f"old_string occurs {found} times in {path}; include more of its context"
        )
    at = text.index(old)
    _store(folder, path, text[:at] + new + text[at + len(old) :])
    line = text.count("\n", 0, at) + 1
    return {"path": path, "line": line}


def _store(folder: Path, path: str, content: str) -> None:
    target = folder / path
    try:
        if target.is_dir():
            raise EditorError("is_directory", f"{path} is a directory")
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            file.write(content.encode())
    except OSError as problem:
        raise failed(path, problem) from None
