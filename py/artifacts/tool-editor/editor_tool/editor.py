"""One call of the editor: the input's operation, its members, and the result (spec 16.3)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from editor_tool import files, finding
from editor_tool.places import EditorError

OPERATIONS: Mapping[str, tuple[str, ...]] = {
    "read_file": ("path", "start_line", "end_line"),
    "write_file": ("dest_path", "content"),
    "replace_in_file": ("dest_path", "old_string", "new_string"),
    "find_in_files": ("pattern", "dir", "recursive", "context_lines"),
    "list_files": ("dir", "recursive"),
}
CHANGING = ("write_file", "replace_in_file")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A call's result: `status` is `passed`, `failed` (refused, missing) or `error` (bad input)."""

    status: str
    summary: str
    data: str
    truncated: bool
    metadata: tuple[tuple[str, str], ...]


def edit(data: str | None, folder: Path) -> Outcome:
    """Carry one operation out in `folder`. Never raises for what an input may hold."""
    operation = ""
    metadata: tuple[tuple[str, str], ...] = ()
    try:
        given = _object(data)
        operation = _operation(given)
        effect = "mutate" if operation in CHANGING else "read"
        metadata = (("state_effect", effect),)
        result = _run(operation, given, folder)
    except EditorError as problem:
        refusal = {"ok": False, "error_kind": problem.kind, "message": str(problem)}
        status = "error" if problem.kind == "invalid_input" else "failed"
        return Outcome(status, str(problem), _json(refusal), False, metadata)
    where = result.get("path", result.get("dir", given.get("dir", ".")))
    metadata += (("resource_id", f"workdir:{where}"),)
    summary = f"{operation} {where}"
    text = _json({"ok": True, **result})
    return Outcome("passed", summary, text, result.get("truncated", False), metadata)


def _run(operation: str, given: dict[str, Any], folder: Path) -> dict[str, Any]:
    if operation == "read_file":
        start, end = _line(given, "start_line"), _line(given, "end_line")
        return files.read_file(folder, _text(given, "path"), start, end)
    if operation == "write_file":
        return files.write_file(folder, _text(given, "dest_path"), _text(given, "content"))
    if operation == "replace_in_file":
        old, new = _text(given, "old_string"), _text(given, "new_string")
        return files.replace_in_file(folder, _text(given, "dest_path"), old, new)
    if operation == "find_in_files":
        context = _whole(given, "context_lines", 0)
        recursive = _flag(given, "recursive", True)
        top = _text(given, "dir", ".")
        return finding.find_in_files(folder, _text(given, "pattern"), top, recursive, context)
    return finding.list_files(folder, _text(given, "dir", "."), _flag(given, "recursive", False))


def _object(data: str | None) -> dict[str, Any]:
    try:
        value = json.loads(data or "{}")
    except ValueError:
        raise EditorError("invalid_input", "the input is not JSON") from None
    if not isinstance(value, dict):
        raise EditorError("invalid_input", "the input is not a JSON object")
    return value


def _operation(given: dict[str, Any]) -> str:
    operation = given.get("operation")
    if not isinstance(operation, str) or operation not in OPERATIONS:
        raise EditorError("invalid_input", f"operation is not one of {', '.join(OPERATIONS)}")
    for key, value in given.items():
        # Models that must fill every member of a schema send null for what does not apply.
        if key != "operation" and value is not None and key not in OPERATIONS[operation]:
            known = ", ".join(OPERATIONS[operation])
            raise EditorError("invalid_input", f"{operation} takes {known}, not {key}")
    return operation


def _text(given: dict[str, Any], key: str, default: str | None = None) -> str:
    value = given.get(key)
    value = default if value is None else value
    if not isinstance(value, str):
        raise EditorError("invalid_input", f"{key} is missing or not a string")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise EditorError("invalid_input", f"{key} holds half a surrogate pair") from None
    return value


def _whole(given: dict[str, Any], key: str, default: int) -> int:
    value = given.get(key)
    value = default if value is None else value
    if not isinstance(value, int) or isinstance(value, bool):
        raise EditorError("invalid_input", f"{key} is not an integer")
    return value


def _line(given: dict[str, Any], key: str) -> int | None:
    if given.get(key) is None:
        return None
    value = _whole(given, key, 1)
    if value < 1:
        raise EditorError("invalid_input", f"{key} is counted from 1")
    return value


def _flag(given: dict[str, Any], key: str, default: bool) -> bool:
    value = given.get(key)
    value = default if value is None else value
    if not isinstance(value, bool):
        raise EditorError("invalid_input", f"{key} is not true or false")
    return value


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
