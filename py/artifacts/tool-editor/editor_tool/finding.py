"""Searching and listing below a folder of the work folder.

Links are not followed and `.git` is not entered. Everything comes in name order.
"""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from editor_tool.files import lines_of, load
from editor_tool.places import EditorError, failed, resolve

MATCHES_SHOWN = 200
ENTRIES_SHOWN = 1000
CONTEXT_LINES = 20
LINE_CHARACTERS = 500


def find_in_files(
    folder: Path, pattern: str, name: str, recursive: bool, context: int
) -> dict[str, Any]:
    """Lines that match a regular expression, each with `context` lines around it."""
    try:
        wanted = re.compile(pattern)
    except re.error as problem:
        raise EditorError("invalid_input", f"pattern is no regular expression: {problem}") from None
    if not 0 <= context <= CONTEXT_LINES:
        raise EditorError("invalid_input", f"context_lines is not in 0..{CONTEXT_LINES}")
    top = resolve(folder, name)
    matches: list[dict[str, Any]] = []
    searched = 0
    for path, mode in _walk(folder, top, recursive):
        if not stat.S_ISREG(mode):
            continue
        try:
            lines = lines_of(load(folder, path))
        except EditorError:
            continue  # not text, too large, or not readable: nothing to search
        searched += 1
        for number, line in enumerate(lines, 1):
            if not wanted.search(line.rstrip("\r\n")):
                continue
            if len(matches) == MATCHES_SHOWN:
                return {"matches": matches, "files_searched": searched, "truncated": True}
            matches.append(_match(path, lines, number, context))
    return {"matches": matches, "files_searched": searched, "truncated": False}


def list_files(folder: Path, name: str, recursive: bool) -> dict[str, Any]:
    """What a folder holds: path, kind (`file`, `directory`, `link`, `other`) and size in bytes."""
    top = resolve(folder, name)
    entries: list[dict[str, Any]] = []
    for path, mode in _walk(folder, top, recursive):
        if len(entries) == ENTRIES_SHOWN:
            return {"dir": top, "entries": entries, "truncated": True}
        entry: dict[str, Any] = {"path": path, "kind": _kind(mode)}
        if stat.S_ISREG(mode):
            entry["bytes"] = (folder / path).lstat().st_size
        entries.append(entry)
    return {"dir": top, "entries": entries, "truncated": False}


def _walk(folder: Path, top: str, recursive: bool) -> Iterator[tuple[str, int]]:
    """Paths below `top` with their modes; a file alone when `top` is one."""
    try:
        mode = (folder / top).lstat().st_mode
        if not stat.S_ISDIR(mode):
            yield top, mode
            return
        names = sorted(os.listdir(folder / top))
    except OSError as problem:
        raise failed(top, problem) from None
    for name in names:
        path = name if top == "." else f"{top}/{name}"
        try:
            mode = (folder / path).lstat().st_mode
        except OSError:
            continue  # gone since it was listed
        yield path, mode
        if recursive and stat.S_ISDIR(mode) and name != ".git":
            try:
                yield from _walk(folder, path, recursive)
            except EditorError:
                continue  # a folder that may not be read hides what it holds


def _match(path: str, lines: list[str], number: int, context: int) -> dict[str, Any]:
    match: dict[str, Any] = {"path": path, "line": number, "text": _shown(lines[number - 1])}
    if context:
        first = max(number - context, 1)
        match["before"] = [_shown(line) for line in lines[first - 1 : number - 1]]
        match["after"] = [_shown(line) for line in lines[number : number + context]]
    return match


def _shown(line: str) -> str:
    return line.rstrip("\r\n")[:LINE_CHARACTERS]


def _kind(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "other"
