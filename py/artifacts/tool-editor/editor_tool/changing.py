"""Changing one text file of the work folder. Its encoding, line ends and mode stay as they are."""

from pathlib import Path
from typing import Any

from murmur_tooling.members import ToolError, invalid
from murmur_tooling.places import failed

from editor_tool import history, patching
from editor_tool.files import content, load, overwrite, store, text_of
from editor_tool.places import resolve
from editor_tool.texts import Text


def write_file(folder: Path, name: str, text: str) -> dict[str, Any]:
    """Create a file, or give it another content in the encoding that it has.

    The content's line ends are the caller's; missing parent folders are made.
    """
    path = resolve(folder, name)
    before = content(folder, path)
    try:
        encoding = "utf-8" if before is None else text_of(path, before).encoding
    except ToolError:
        encoding = "utf-8"
    after = Text(text, encoding).encoded(path)
    undoable = store(folder, path, before, after)
    return _changed(path, undoable, created=before is None, bytes=len(after))


def create(folder: Path, name: str, text: str) -> dict[str, Any]:
    """Create a file that is not there yet. Raises ToolError `exists`."""
    path = resolve(folder, name)
    if content(folder, path) is not None:
        raise ToolError("exists", f"{path} exists; write_file replaces it, replace changes it")
    after = text.encode()
    return _changed(path, store(folder, path, None, after), bytes=len(after))


def replace(folder: Path, name: str, old: str, new: str, *, every: bool = False) -> dict[str, Any]:
    """Replace the one occurrence of `old`, or every one of them."""
    path = resolve(folder, name)
    text = load(folder, path)
    if not old:
        raise invalid("old_string is empty")
    if old not in text.content:
        old = text.fitting(old)
    found = text.content.count(old)
    if found == 0:
        raise ToolError("no_match", f"old_string does not occur in {path}; read_file shows it")
    if found > 1 and not every:
        raise ToolError(
            "not_unique", f"old_string occurs {found} times in {path}; include more of its context"
        )
    line = text.content.count("\n", 0, text.content.index(old)) + 1
    changed = text.content.replace(old, text.fitting(new))
    facts = _rewrite(folder, path, text, changed, line=line)
    return {**facts, "replacements": found} if every else facts


def insert(folder: Path, name: str, line: int, text: str) -> dict[str, Any]:
    """Insert whole lines after line `line`; 0 is before the first."""
    path = resolve(folder, name)
    old = load(folder, path)
    pieces = old.content.split("\n")
    lines = [piece + "\n" for piece in pieces[:-1]] + [piece for piece in pieces[-1:] if piece]
    if line > len(lines):
        raise ToolError("out_of_range", f"{path} has {len(lines)} lines, none at {line}")
    inserted = old.fitting(text if text.endswith("\n") else text + "\n")
    count = inserted.count("\n")
    if line == len(lines) and lines and not lines[-1].endswith("\n"):
        # The file's last line has no end, and neither has what is last then.
        lines[-1] += old.line_end
        inserted = inserted.removesuffix("\n").removesuffix("\r")
    changed = "".join([*lines[:line], inserted, *lines[line:]])
    return _rewrite(folder, path, old, changed, line=line + 1, lines_inserted=count)


def patch(folder: Path, name: str, diff: str) -> dict[str, Any]:
    """Apply a unified diff of one file; all of its hunks or none."""
    path = resolve(folder, name)
    parsed = patching.parse(diff)
    parsed.refuse_other_file(path)
    if parsed.creates:
        if content(folder, path) is not None:
            raise ToolError("exists", f"the patch creates {path}, which exists")
        text = patching.apply(parsed, "", path)
        after = text.encode()
        facts = _changed(path, store(folder, path, None, after), created=True)
    else:
        old = load(folder, path)
        text = patching.apply(parsed, old.content, path)
        facts = _rewrite(folder, path, old, text)
    return {
        **facts,
        "hunks": len(parsed.hunks),
        "added_lines": sum(hunk.added for hunk in parsed.hunks),
        "removed_lines": sum(hunk.removed for hunk in parsed.hunks),
    }


def undo(folder: Path, name: str) -> dict[str, Any]:
    """Take the last change of a file back, if nothing else has changed it since."""
    path = resolve(folder, name)
    entry = history.newest(folder, path)
    if entry is None:
        raise ToolError("nothing_to_undo", f"no change of {path} is remembered")
    now = content(folder, path)
    if now is None or not (entry.pending or history.is_what_was_left(entry, now)):
        raise ToolError(
            "changed_since", f"{path} is no longer as the editor left it; read it and edit it"
        )
    before = history.content_before(folder, entry)
    _undone(folder / path, path, before, now)
    history.drop(folder, entry)
    return {"path": path, "removed": before is None}


def _undone(target: Path, path: str, before: bytes | None, now: bytes) -> None:
    try:
        if before is None:
            target.unlink()
        else:
            # Not by `store`: an undo is no change that another undo takes back.
            overwrite(target, now, before)
    except OSError as problem:
        raise failed(path, problem) from None


def _rewrite(folder: Path, path: str, old: Text, changed: str, **facts: Any) -> dict[str, Any]:
    before = old.encoded(path)
    after = Text(changed, old.encoding).encoded(path)
    return _changed(path, store(folder, path, before, after), **facts)


def _changed(path: str, undoable: bool, **facts: Any) -> dict[str, Any]:
    """A change's result; that it cannot be undone is said, the rest need not be."""
    result = {"path": path, **facts}
    return result if undoable else {**result, "undo": False}
