"""Questions to a database: symbols, their text, paths between them, and what a change reaches."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from murmur_tooling.members import Members, ToolError, invalid
from murmur_tooling.places import failed, resolve

from code_graph.indexing import decoded
from code_graph.test_files import is_test

SHOWN = 50
LINES_SHOWN = 400
DEEPEST = 10
REACHED = 500
_KINDS = ("calls", "uses", "inherits", "imports")
_FOLLOWED = f"kind IN ({', '.join(repr(kind) for kind in _KINDS)})"


def find_symbol(asked: sqlite3.Connection, members: Members) -> dict[str, Any]:
    """Symbols by name: those so named first, then those that the query begins, then holds."""
    query = members.text("query").strip()
    if not query:
        raise invalid("query is blank; it must be a name or a part of one")
    limit = members.whole("limit", 20, 1, SHOWN)
    last = "CASE WHEN instr(name, '.') THEN replace(name, rtrim(name, replace(name, '.', '')), '')"
    rows = asked.execute(
        f"SELECT *, {last} ELSE name END AS short FROM symbols"
        " WHERE instr(lower(symbol_id), lower(:query)) AND (:kind IS NULL OR kind = :kind)"
        " ORDER BY name != :query, short != :query, lower(short) != lower(:query),"
        " instr(lower(short), lower(:query)) != 1, kind = 'module', length(name), symbol_id"
        " LIMIT :limit",
        {"query": query, "kind": members.value("kind"), "limit": limit + 1},
    ).fetchall()
    return {"symbols": [_shown(row) for row in rows[:limit]], "truncated": len(rows) > limit}


def get_symbol(asked: sqlite3.Connection, members: Members) -> dict[str, Any]:
    """One symbol, what it uses and what uses it."""
    row = symbol(asked, members.text("symbol_id"))
    name = row["symbol_id"]
    out = asked.execute(f"SELECT * FROM edges WHERE source = ? AND {_FOLLOWED}", (name,)).fetchall()
    into = asked.execute(
        f"SELECT * FROM edges WHERE target = ? AND {_FOLLOWED}", (name,)
    ).fetchall()
    inside = asked.execute(
        "SELECT target FROM edges WHERE source = ? AND kind = 'contains' ORDER BY line", (name,)
    ).fetchall()
    return {
        "symbol": _shown(row),
        "contains": [each["target"] for each in inside[:SHOWN]],
        "outgoing": [_edge(each, "target") for each in out[:SHOWN]],
        "incoming": [_edge(each, "source") for each in into[:SHOWN]],
        "truncated": max(len(out), len(into), len(inside)) > SHOWN,
    }


def slice_symbol(
    asked: sqlite3.Connection, members: Members, folder: Path, repository: str
) -> dict[str, Any]:
    """A symbol's source text, with lines around it if asked for."""
    row = symbol(asked, members.text("symbol_id"))
    around = members.whole("context_lines", 0, 0, 100)
    path = resolve(folder, row["path"] if repository == "." else f"{repository}/{row['path']}")
    try:
        with (folder / path).open("rb") as file:
            lines = decoded(file.read()).splitlines(keepends=True)
    except OSError as problem:
        raise failed(path, problem) from None
    if len(lines) < row["end"]:
        message = f"{path} has only {len(lines)} lines now; run index_repository again"
        raise ToolError("stale_index", message)
    first = max(row["line"] - around, 1)
    last = min(row["end"] + around, len(lines))
    shown = lines[first - 1 : min(last, first - 1 + LINES_SHOWN)]
    return {
        "symbol": _shown(row),
        "path": path,
        "start_line": first,
        "end_line": first + len(shown) - 1,
        "content": "".join(shown),
        "truncated": last - first + 1 > LINES_SHOWN,
    }


def explain_path(asked: sqlite3.Connection, members: Members) -> dict[str, Any]:
    """A shortest way from one symbol to another along what uses what; none is an answer too."""
    source = symbol(asked, members.text("from"))["symbol_id"]
    target = symbol(asked, members.text("to"))["symbol_id"]
    deepest = members.whole("depth", DEEPEST, 1, DEEPEST)
    came: dict[str, sqlite3.Row | None] = {source: None}
    edge_of = [source]
    for _ in range(deepest):
        if target in came:
            break
        reached = []
        for each in edge_of:
            for edge in asked.execute(
                f"SELECT * FROM edges WHERE source = ? AND {_FOLLOWED}"
                " ORDER BY certainty, kind, line",
                (each,),
            ):
                if edge["target"] not in came:
                    came[edge["target"]] = edge
                    reached.append(edge["target"])
        edge_of = reached
    steps: list[dict[str, Any]] = []
    at = target
    while at in came and (step := came[at]) is not None:
        steps.append({"from": step["source"], "to": at, **_edge(step, None)})
        at = step["source"]
    return {"found": target in came, "steps": steps[::-1], "depth": deepest}


def impact_analysis(asked: sqlite3.Connection, members: Members) -> dict[str, Any]:
    """What reaches a symbol along what uses what, nearest first, and which of it are tests."""
    row = symbol(asked, members.text("symbol_id"))
    deepest = members.whole("depth", 3, 1, DEEPEST)
    # A change of a class is a change of what it holds.
    start = [row["symbol_id"], *_inside(asked, row["symbol_id"])]
    seen = set(start)
    affected: list[dict[str, Any]] = []
    layer: Sequence[str] = start
    for depth in range(1, deepest + 1):
        reached: list[str] = []
        for each in layer:
            for edge in asked.execute(
                f"SELECT * FROM edges WHERE target = ? AND {_FOLLOWED} ORDER BY source, line",
                (each,),
            ):
                if edge["source"] not in seen:
                    seen.add(edge["source"])
                    reached.append(edge["source"])
                    shown = {"symbol_id": edge["source"], "depth": depth, "through": each}
                    affected.append({**shown, **_edge(edge, None)})
        layer = reached
    paths = sorted({each["symbol_id"].partition("#")[0] for each in affected})
    return {
        "symbol": _shown(row),
        "affected": affected[:REACHED],
        "affected_count": len(affected),
        "files": paths[:REACHED],
        "tests": [
            each["symbol_id"] for each in affected if is_test(each["symbol_id"].partition("#")[0])
        ][:REACHED],
        "depth": deepest,
        "truncated": len(affected) > REACHED,
    }


def symbol(asked: sqlite3.Connection, name: str) -> sqlite3.Row:
    """The symbol of that id. Raises ToolError `not_found` with ids that end like it."""
    row = asked.execute("SELECT * FROM symbols WHERE symbol_id = ?", (name,)).fetchone()
    if row is not None:
        found: sqlite3.Row = row
        return found
    short = name.rpartition("#")[2].rpartition(".")[2]
    near = asked.execute(
        "SELECT symbol_id FROM symbols WHERE name = :short OR name LIKE '%.' || :short"
        " ORDER BY symbol_id LIMIT 5",
        {"short": short},
    ).fetchall()
    others = f"; there are {', '.join(each['symbol_id'] for each in near)}" if near else ""
    raise ToolError("not_found", f"the index has no symbol {name}{others}")


def _inside(asked: sqlite3.Connection, name: str) -> list[str]:
    rows = asked.execute(
        "WITH RECURSIVE below (id) AS (SELECT target FROM edges WHERE source = ? AND"
        " kind = 'contains' UNION SELECT target FROM edges, below WHERE source = below.id AND"
        " kind = 'contains') SELECT id FROM below",
        (name,),
    )
    return [row["id"] for row in rows]


def _shown(row: sqlite3.Row) -> dict[str, Any]:
    keys = ("symbol_id", "name", "kind", "path", "line", "end", "signature", "doc")
    return {key: row[key] for key in keys if row[key] != ""}


def _edge(row: sqlite3.Row, other: str | None) -> dict[str, Any]:
    told = {"kind": row["kind"], "line": row["line"], "certainty": row["certainty"]}
    return {"symbol_id": row[other], **told} if other else told
