"""One call of the editor: the input's operation, its members, and the result (spec 16.3)."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from murmur_tooling.members import Members, ToolError, read_members
from murmur_tooling.outcome import Notes, Outcome, passed, refused

from editor_tool import changing, reading
from editor_tool.finding import (
    CONTEXT_LINES,
    MATCHES_SHOWN,
    Query,
    list_files,
    pattern_of,
    search,
)

OPERATIONS: Mapping[str, tuple[str, ...]] = {
    "read_file": ("path", "start_line", "end_line"),
    "write_file": ("dest_path", "content"),
    "replace_in_file": ("dest_path", "old_string", "new_string"),
    "find_in_files": ("pattern", "dir", "recursive", "context_lines"),
    "list_files": ("dir", "recursive"),
    "view": ("path", "start_line", "end_line"),
    "create": ("dest_path", "content"),
    "replace": ("dest_path", "old_string", "new_string", "replace_all"),
    "insert": ("dest_path", "line", "content"),
    "patch": ("dest_path", "patch"),
    "search": ("pattern", "dir", "glob", "regex", "ignore_case", "context_lines", "max_results"),
    "undo": ("dest_path",),
}
_LAST_LINE = 2**31


def edit(data: str | None, folder: Path) -> Outcome:
    """Carry one operation out in `folder`. Never raises for what an input may hold."""
    metadata: Notes = ()
    try:
        operation, given = read_members(data, OPERATIONS)
        effect = "mutate" if "dest_path" in OPERATIONS[operation] else "read"
        metadata = (("state_effect", effect),)
        result = _DOES[operation](folder, given)
    except ToolError as problem:
        return refused(problem, metadata)
    where = result.get("path", result.get("dir", given.text("dir", ".")))
    metadata += (("resource_id", f"workdir:{where}"),)
    return passed(f"{operation} {where}", result, metadata, result.get("truncated", False))


def _read_file(folder: Path, given: Members) -> dict[str, Any]:
    return reading.read_file(folder, given.text("path"), *_lines(given))


def _view(folder: Path, given: Members) -> dict[str, Any]:
    return reading.view(folder, given.text("path"), *_lines(given))


def _write_file(folder: Path, given: Members) -> dict[str, Any]:
    return changing.write_file(folder, given.text("dest_path"), given.text("content"))


def _create(folder: Path, given: Members) -> dict[str, Any]:
    return changing.create(folder, given.text("dest_path"), given.text("content"))


def _replace(folder: Path, given: Members) -> dict[str, Any]:
    old, new = given.text("old_string"), given.text("new_string")
    every = given.flag("replace_all", False)
    return changing.replace(folder, given.text("dest_path"), old, new, every=every)


def _insert(folder: Path, given: Members) -> dict[str, Any]:
    line = given.whole("line", None, 0, _LAST_LINE)
    return changing.insert(folder, given.text("dest_path"), line, given.text("content"))


def _patch(folder: Path, given: Members) -> dict[str, Any]:
    return changing.patch(folder, given.text("dest_path"), given.text("patch"))


def _undo(folder: Path, given: Members) -> dict[str, Any]:
    return changing.undo(folder, given.text("dest_path"))


def _find_in_files(folder: Path, given: Members) -> dict[str, Any]:
    wanted = pattern_of(given.text("pattern"), literal=False)
    query = Query(wanted, given.flag("recursive", True), _context(given))
    return search(folder, given.text("dir", "."), query)


def _search(folder: Path, given: Members) -> dict[str, Any]:
    literal = not given.flag("regex", False)
    ignore_case = given.flag("ignore_case", False)
    wanted = pattern_of(given.text("pattern"), literal=literal, ignore_case=ignore_case)
    glob = given.text("glob") if given.given("glob") else None
    most = given.whole("max_results", MATCHES_SHOWN, 1, MATCHES_SHOWN)
    query = Query(wanted, True, _context(given), most, glob)
    return search(folder, given.text("dir", "."), query)


def _list_files(folder: Path, given: Members) -> dict[str, Any]:
    return list_files(folder, given.text("dir", "."), given.flag("recursive", False))


_DOES: Mapping[str, Callable[[Path, Members], dict[str, Any]]] = {
    "read_file": _read_file,
    "write_file": _write_file,
    "replace_in_file": _replace,
    "find_in_files": _find_in_files,
    "list_files": _list_files,
    "view": _view,
    "create": _create,
    "replace": _replace,
    "insert": _insert,
    "patch": _patch,
    "search": _search,
    "undo": _undo,
}


def _context(given: Members) -> int:
    return given.whole("context_lines", 0, 0, CONTEXT_LINES)


def _lines(given: Members) -> tuple[int | None, int | None]:
    start, end = (
        given.whole(key, None, 1, _LAST_LINE) if given.given(key) else None
        for key in ("start_line", "end_line")
    )
    return start, end
