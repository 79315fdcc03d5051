"""What the editor's changes replaced, kept in the work folder so that `undo` can bring it back.

`.tool-editor/undo/` holds two files a change: `<number>-<key>.json` says what was changed, and
`<number>-<key>.before` is the file as it was. Before a file is written the entry is there with the
extension `.pending`, so that a write that was cut short is noticed and can be undone: WASI cannot
copy a file's mode, which rules out replacing an existing file by a new one.
"""

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from zlib import crc32

from murmur_tooling.members import ToolError
from murmur_tooling.places import failed

from editor_tool.places import HISTORY

ENTRIES_KEPT = 50
BYTES_KEPT = 32 * 1024 * 1024
LARGEST_KEPT = 4 * 1024 * 1024
"""A larger file is changed without an entry: there is nothing to undo it with."""

_DONE, _PENDING, _BEFORE = ".json", ".pending", ".before"


@dataclass(frozen=True, slots=True)
class Entry:
    """One change. `before` is None where there was no file; hashes are SHA-256 in hex."""

    stem: str
    pending: bool
    path: str
    before: str | None
    after: str

    @property
    def name(self) -> str:
        return self.stem + (_PENDING if self.pending else _DONE)


def begin(folder: Path, path: str, before: bytes | None, after: bytes) -> Entry | None:
    """Note that `path` is about to change; None where the history cannot hold it.

    Raises ToolError when the history cannot be written: nothing is changed then.
    """
    if before is not None and len(before) > LARGEST_KEPT:
        return None
    where = folder / HISTORY / "undo"
    digest = None if before is None else _hash(before)
    try:
        _make(folder)
        for _ in range(ENTRIES_KEPT):
            entry = Entry(_next(where, path), True, path, digest, _hash(after))
            with contextlib.suppress(FileExistsError):
                if before is not None:
                    _write_new(where / (entry.stem + _BEFORE), before)
                _write_new(where / entry.name, _described(entry))
                return entry
    except OSError as problem:
        raise failed(HISTORY, problem) from None
    raise ToolError("io_error", f"{HISTORY} is being written by somebody else; try again")


def finish(folder: Path, entry: Entry) -> None:
    """The change is done; the oldest entries make room."""
    where = folder / HISTORY / "undo"
    with contextlib.suppress(OSError):
        (where / entry.name).rename(where / (entry.stem + _DONE))
        _trim(where)


def drop(folder: Path, entry: Entry) -> None:
    """Forget an entry."""
    where = folder / HISTORY / "undo"
    for name in (entry.name, entry.stem + _BEFORE):
        with contextlib.suppress(OSError):
            (where / name).unlink()


def newest(folder: Path, path: str) -> Entry | None:
    """The last change of `path` that is remembered."""
    where = folder / HISTORY / "undo"
    for stem, kind in sorted(_stems(where), reverse=True):
        if not stem.endswith(_key(path)):
            continue
        entry = _read(where, stem, kind)
        if entry is not None and entry.path == path:
            return entry
    return None


def content_before(folder: Path, entry: Entry) -> bytes | None:
    """The file as it was; None where there was none. Raises ToolError `history_damaged`."""
    if entry.before is None:
        return None
    try:
        with (folder / HISTORY / "undo" / (entry.stem + _BEFORE)).open("rb") as file:
            data = file.read(LARGEST_KEPT + 1)
    except OSError:
        data = b""
    if _hash(data) != entry.before:
        raise ToolError(
            "history_damaged", f"what {entry.path} was before cannot be read from {HISTORY}"
        )
    return data


def refuse_torn(folder: Path, path: str, now: bytes) -> None:
    """Raise ToolError `interrupted_write` for a file whose last write was cut short."""
    entry = newest(folder, path)
    if entry is None or not entry.pending:
        return
    digest = _hash(now)
    if digest == entry.after:
        finish(folder, entry)
    elif digest == entry.before:
        drop(folder, entry)
    else:
        raise ToolError(
            "interrupted_write",
            f"the last write of {path} was cut short; undo brings back what was there before",
        )


def is_what_was_left(entry: Entry, now: bytes) -> bool:
    """Whether a file is still as the change left it."""
    return _hash(now) == entry.after


def _described(entry: Entry) -> bytes:
    facts = {"path": entry.path, "before": entry.before, "after": entry.after}
    return json.dumps(facts).encode()


def _read(where: Path, stem: str, kind: str) -> Entry | None:
    try:
        with (where / (stem + kind)).open("rb") as file:
            facts = json.loads(file.read(64 * 1024))
        before = facts["before"]
        if isinstance(facts["path"], str) and isinstance(before, str | None):
            return Entry(stem, kind == _PENDING, facts["path"], before, str(facts["after"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return None


def _stems(where: Path) -> Iterator[tuple[str, str]]:
    try:
        names = os.listdir(where)
    except OSError:
        return
    for name in names:
        stem, dot, kind = name.rpartition(".")
        if dot + kind in (_DONE, _PENDING):
            yield stem, dot + kind


def _next(where: Path, path: str) -> str:
    numbers = [int(stem[:8]) for stem, _ in _stems(where) if stem[:8].isdecimal()]
    return f"{max(numbers, default=0) + 1:08d}-{_key(path)}"


def _make(folder: Path) -> None:
    where = folder / HISTORY / "undo"
    for place in (folder / HISTORY, where):
        # A link would have the history written somewhere else.
        if place.is_symlink():
            raise ToolError("io_error", f"{HISTORY} is a link; remove it")
    where.mkdir(parents=True, exist_ok=True)
    ignore = folder / HISTORY / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")


def _trim(where: Path) -> None:
    """Drop the oldest entries that are too many, or whose files are too much to keep."""
    kept = bytes_kept = 0
    for stem, kind in sorted(_stems(where), reverse=True):
        before = where / (stem + _BEFORE)
        size = before.lstat().st_size if before.exists() else 0
        if kept < ENTRIES_KEPT and bytes_kept + size <= BYTES_KEPT:
            kept, bytes_kept = kept + 1, bytes_kept + size
            continue
        for name in (stem + kind, stem + _BEFORE):
            with contextlib.suppress(FileNotFoundError):
                (where / name).unlink()


def _write_new(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)


def _key(path: str) -> str:
    return f"{crc32(path.encode('utf-8', 'surrogateescape')):08x}"


def _hash(data: bytes) -> str:
    return sha256(data).hexdigest()
