"""What the edits of a turn changed, file by file. Plain functions over texts."""

import difflib
import json
from collections.abc import Mapping

LARGEST = 256 * 1024
"""Bytes of a file that is looked at; a larger one is named without a diff."""

DIFF_CHARACTERS = 32 * 1024

_LANGUAGES = {
    "c": "c",
    "cpp": "cpp",
    "css": "css",
    "go": "go",
    "h": "c",
    "html": "html",
    "java": "java",
    "js": "javascript",
    "json": "json",
    "md": "markdown",
    "py": "python",
    "rb": "ruby",
    "rs": "rust",
    "sh": "shell",
    "toml": "toml",
    "ts": "typescript",
    "txt": "text",
    "yaml": "yaml",
    "yml": "yaml",
}


def destinations(response: str) -> list[str]:
    """The files that the calls of a driver's response are about to write, each once."""
    try:
        content = json.loads(response)["content"]
    except (ValueError, KeyError, TypeError):
        return []
    inputs = (
        block.get("input")
        for block in content
        if isinstance(block, dict) and block.get("type") == "tool_call"
    )
    found = (given.get("dest_path") for given in inputs if isinstance(given, dict))
    return list(dict.fromkeys(path for path in found if isinstance(path, str) and path))


def summary(path: str, before: str | None, after: str | None) -> dict[str, object] | None:
    """One file's entry; None when nothing changed. A text is None for a file that is not there."""
    if before == after:
        return None
    lines = list(
        difflib.unified_diff(
            (before or "").splitlines(),
            (after or "").splitlines(),
            "/dev/null" if before is None else f"a/{path}",
            "/dev/null" if after is None else f"b/{path}",
            lineterm="",
        )
    )
    changed = lines[2:]
    diff = "\n".join(lines)
    return {
        "path": path,
        "language": _LANGUAGES.get(path.rpartition(".")[2].lower(), "text"),
        "diff": diff[:DIFF_CHARACTERS],
        "hunks": sum(line.startswith("@@") for line in changed),
        "added_lines": sum(line.startswith("+") for line in changed),
        "removed_lines": sum(line.startswith("-") for line in changed),
        "truncated": len(diff) > DIFF_CHARACTERS,
    }


def artifact(
    session_id: str, before: Mapping[str, str | None], after: Mapping[str, str | None]
) -> str | None:
    """The JSON text of everything that changed; None when nothing did."""
    files = [summary(path, text, after.get(path)) for path, text in before.items()]
    changed = [each for each in files if each is not None]
    if not changed:
        return None
    return json.dumps({"session_id": session_id, "files": changed}, ensure_ascii=False)
