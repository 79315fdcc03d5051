"""One call of the code graph: the input's operation, its members, and the result (spec 16.3)."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from murmur_tooling.members import Members, ToolError, read_members
from murmur_tooling.outcome import Outcome, passed, refused
from murmur_tooling.places import resolve

from code_graph import asking, database
from code_graph.indexing import index

OPERATIONS: Mapping[str, tuple[str, ...]] = {
    "index_repository": ("repo_path",),
    "find_symbol": ("repo_path", "query", "kind", "limit"),
    "get_symbol": ("repo_path", "symbol_id"),
    "slice_symbol": ("repo_path", "symbol_id", "context_lines"),
    "explain_path": ("repo_path", "from", "to", "depth"),
    "impact_analysis": ("repo_path", "symbol_id", "depth"),
}
_QUESTIONS = {
    "find_symbol": asking.find_symbol,
    "get_symbol": asking.get_symbol,
    "explain_path": asking.explain_path,
    "impact_analysis": asking.impact_analysis,
}


def answer(data: str | None, folder: Path) -> Outcome:
    """Carry one operation out below `folder`. Never raises for what an input or a file may hold."""
    metadata: tuple[tuple[str, str], ...] = ()
    try:
        operation, members = read_members(data, OPERATIONS)
        effect = "mutate" if operation == "index_repository" else "read"
        metadata = (("state_effect", effect),)
        repository = resolve(folder, members.text("repo_path"))
        metadata += (("resource_id", f"workdir:{repository}/{database.FOLDER}"),)
        result = _run(operation, members, folder, repository)
    except ToolError as problem:
        return refused(problem, metadata)
    cut = bool(result.get("truncated", False))
    return passed(f"{operation} {_summary(operation, result)}", result, metadata, truncated=cut)


def _run(operation: str, members: Members, folder: Path, repository: str) -> dict[str, Any]:
    if operation == "index_repository":
        return index(folder, repository)
    try:
        with closing(database.opened(folder, repository)) as asked:
            if operation == "slice_symbol":
                return asking.slice_symbol(asked, members, folder, repository)
            return _QUESTIONS[operation](asked, members)
    except sqlite3.Error as problem:
        raise database.damaged(database.location(folder, repository), problem) from None


def _summary(operation: str, result: Mapping[str, Any]) -> str:
    if operation == "index_repository":
        return f"{result['database']}: {result['symbols']} symbols, {result['edges']} edges"
    if operation == "find_symbol":
        return f"found {len(result['symbols'])}"
    if operation == "explain_path":
        return f"found {len(result['steps'])} steps" if result["found"] else "found none"
    return str(result["symbol"]["symbol_id"])
