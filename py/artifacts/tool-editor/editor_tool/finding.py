"""Searching and listing below a folder of the work folder.

Links are not followed and `.git` is not entered. Everything comes in name order. Files are searched
a line at a time, whatever their size; one call looks at a bounded number of bytes.
"""

import os
import re
import stat
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from murmur_tooling.members import ToolError, invalid
from murmur_tooling.places import failed

from editor_tool.files import load
from editor_tool.places import HISTORY, resolve
from editor_tool.texts import SNIFFED_BYTES, decoded, encoding_of

MATCHES_SHOWN = 200
ENTRIES_SHOWN = 1000
CONTEXT_LINES = 20
LINE_CHARACTERS = 500
LINE_BYTES = 64 * 1024
"""A longer line is looked at in pieces."""

SEARCHED_BYTES = 256 * 1024 * 1024
FILE_SEARCHED_BYTES = 16 * 1024 * 1024
"""Of one file among others: a log must not keep a search from the files behind it."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for, and where. `glob` is matched against a file's name, or its whole path
    where it holds a slash."""

    wanted: re.Pattern[str]
    recursive: bool = True
    context: int = 0
    most: int = MATCHES_SHOWN
    glob: str | None = None

    def takes(self, path: str) -> bool:
        """Whether a file is looked at."""
        if self.glob is None:
            return True
        whole = "/" in self.glob
        return fnmatchcase(path if whole else path.rpartition("/")[2], self.glob)


@dataclass(slots=True)
class _Search:
    """One search on its way. `pending` are the matches that still want lines after them."""

    query: Query
    matches: list[dict[str, Any]] = field(default_factory=list)
    searched: int = 0
    file_bytes: int = 0
    bytes_left: int = field(default_factory=lambda: SEARCHED_BYTES)
    partly: list[str] = field(default_factory=list)
    pending: list[dict[str, Any]] = field(default_factory=list)

    def file(self, path: str, lines: Iterator[str]) -> bool:
        """Look through one file; False when enough was found."""
        context = self.query.context
        before: deque[str] = deque(maxlen=context)
        self.pending = []
        for number, line in enumerate(lines, 1):
            shown = line[:LINE_CHARACTERS]
            for match in self.pending:
                match["after"].append(shown)
            self.pending = [each for each in self.pending if len(each["after"]) < context]
            if self.query.wanted.search(line):
                if len(self.matches) == self.query.most:
                    return False
                match = {"path": path, "line": number, "text": shown}
                if context:
                    match |= {"before": list(before), "after": []}
                    self.pending.append(match)
                self.matches.append(match)
            before.append(shown)
        return True

    def lines(self, file: BinaryIO, codec: str) -> Iterator[str]:
        """A file's lines without their ends, as long as there are bytes left to look at."""
        left = self.file_bytes
        while self.bytes_left > 0 and left > 0:
            line = file.readline(LINE_BYTES)
            if not line:
                return
            self.bytes_left -= len(line)
            left -= len(line)
            try:
                yield decoded(line, codec, cut=len(line) == LINE_BYTES).rstrip("\r\n")
            except UnicodeDecodeError:
                yield line.decode("latin-1").rstrip("\r\n")


def pattern_of(text: str, *, literal: bool, ignore_case: bool = False) -> re.Pattern[str]:
    """What a line is searched for. Raises ToolError `invalid_input`."""
    if not text:
        raise invalid("pattern is empty")
    try:
        return re.compile(re.escape(text) if literal else text, re.I if ignore_case else 0)
    except (re.error, RecursionError, OverflowError) as problem:
        raise invalid(f"pattern is no regular expression: {problem}") from None


def search(folder: Path, name: str, query: Query) -> dict[str, Any]:
    """Lines that match, each with the lines around it."""
    top = resolve(folder, name)
    alone = (folder / top).is_file()
    found = _Search(query, file_bytes=SEARCHED_BYTES if alone else FILE_SEARCHED_BYTES)
    whole = True
    for path, mode in _walk(folder, top, query.recursive):
        if not stat.S_ISREG(mode) or not query.takes(path):
            continue
        whole = _look_through(found, folder, path) and found.bytes_left > 0
        if not whole:
            break
    result = {
        "matches": found.matches,
        "files_searched": found.searched,
        "truncated": not whole or bool(found.partly),
    }
    if found.partly:
        result["partly_searched"] = found.partly
    if found.bytes_left <= 0:
        result["stopped_at"] = path
    return result


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


def _look_through(found: _Search, folder: Path, path: str) -> bool:
    try:
        with (folder / path).open("rb") as file:
            head = file.read(SNIFFED_BYTES)
            encoding = encoding_of(head, whole=len(head) < SNIFFED_BYTES)
            if encoding is None:
                return True
            found.searched += 1
            if encoding.startswith("utf-16"):
                text = BytesIO(load(folder, path).content.encode())
                return found.file(path, found.lines(text, "utf-8"))
            file.seek(3 if encoding == "utf-8-bom" else 0)
            more = found.file(path, found.lines(file, encoding))
            if more and found.bytes_left > 0 and file.read(1):
                found.partly.append(path)
            return more
    except (OSError, ToolError):
        return True  # gone, too large for its encoding, or not readable: nothing to search


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
        if path == HISTORY:
            continue
        try:
            mode = (folder / path).lstat().st_mode
        except OSError:
            continue  # gone since it was listed
        yield path, mode
        if recursive and stat.S_ISDIR(mode) and name != ".git":
            try:
                yield from _walk(folder, path, recursive)
            except ToolError:
                continue  # a folder that may not be read hides what it holds


def _kind(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "other"
