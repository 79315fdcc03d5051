"""One call: what failing tests ran, ranked by how little passing ones did (spec 16.3).

A line's score is Ochiai's: failing tests that ran it, over the root of all failing tests times all
tests that ran it. 1 is a line that every failing test ran and no passing one. A symbol has the
highest score of its lines.
"""

import math
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from code_graph import database
from code_graph.test_files import is_test
from murmur_tooling.members import ToolError, read_members
from murmur_tooling.outcome import Outcome, passed, refused
from murmur_tooling.places import resolve

from code_coverage.recorded import Recorded, read_folder

OPERATIONS = {"localize": ("coverage_dir", "failing_tests", "repo_path", "limit")}
TESTS = 1000
SHOWN = 50
_LINES_SHOWN = 50
_NEAR = 5


@dataclass(slots=True)
class Suspect:
    """A symbol that failing tests ran."""

    row: sqlite3.Row
    score: float = 0.0
    lines: list[tuple[float, int]] = field(default_factory=list)
    failing: set[str] = field(default_factory=set)
    passing: set[str] = field(default_factory=set)


def localize(data: str | None, folder: Path) -> Outcome:
    """Rank below `folder`. Never raises for what an input or a file may hold."""
    metadata: tuple[tuple[str, str], ...] = ()
    try:
        _, members = read_members(data, OPERATIONS)
        metadata = (("state_effect", "read"),)
        path = resolve(folder, members.text("coverage_dir"))
        metadata += (("resource_id", f"workdir:{path}"),)
        named = members.texts("failing_tests", TESTS)
        repository = resolve(folder, members.text("repo_path", "."))
        limit = members.whole("limit", 10, 1, SHOWN)
        with closing(database.opened(folder, repository)) as asked:
            recorded, read = read_folder(folder, path)
            failing, unmatched = _matched(named, recorded)
            result = _ranked(asked, recorded, failing, limit)
    except sqlite3.Error as problem:
        where = database.location(folder, repository)
        return refused(database.damaged(where, problem), metadata)
    except ToolError as problem:
        return refused(problem, metadata)
    about = {"read": read, "tests": len(recorded), "failing_tests": sorted(failing)}
    summary = f"localize {len(failing)} failing of {len(recorded)} tests"
    told = {**about, "unmatched": unmatched, **result}
    return passed(summary, told, metadata, truncated=bool(result["truncated"]))


def _matched(named: Iterable[str], recorded: Recorded) -> tuple[set[str], list[str]]:
    """The recorded tests that are meant, and the names that mean none. Raises ToolError."""
    failing: set[str] = set()
    unmatched = []
    for name in named:
        ends = tuple(separator + name for separator in ("::", ".", "/"))
        found = {name} & recorded.keys() or {each for each in recorded if each.endswith(ends)}
        failing |= found
        if not found:
            unmatched.append(name)
    if not failing:
        known = ", ".join(sorted(recorded)[:_NEAR])
        message = f"none of failing_tests is among the {len(recorded)} recorded tests, as {known}"
        raise ToolError("unknown_tests", message)
    return failing, unmatched


def _ranked(
    asked: sqlite3.Connection, recorded: Recorded, failing: set[str], limit: int
) -> dict[str, Any]:
    indexed = [row["path"] for row in asked.execute("SELECT path FROM files")]
    where = _Paths(indexed)
    suspects: dict[str, Suspect] = {}
    unknown = set()
    for file, lines in _by_line(recorded, failing).items():
        path = where.of(file)
        if path is None:
            unknown.add(file)
        elif not is_test(path):
            _judge(asked, path, lines, len(failing), suspects)
    ordered = sorted(
        suspects.values(),
        key=lambda each: (-each.score, len(each.passing), -len(each.lines), each.row["symbol_id"]),
    )
    return {
        "symbols": [_shown(asked, each) for each in ordered[:limit]],
        "symbol_count": len(ordered),
        "unknown_files": sorted(unknown)[:SHOWN],
        "truncated": len(ordered) > limit,
    }


def _by_line(
    recorded: Recorded, failing: set[str]
) -> Mapping[str, Mapping[int, tuple[set[str], set[str]]]]:
    """For each file that a failing test ran, its lines with the failing and passing tests."""
    files = {file for test in failing for file in recorded[test]}
    found: dict[str, dict[int, tuple[set[str], set[str]]]] = {
        file: defaultdict(lambda: (set(), set())) for file in files
    }
    for test, ran in recorded.items():
        for file in files & ran.keys():
            for line in ran[file]:
                found[file][line][test not in failing].add(test)
    return found


def _judge(
    asked: sqlite3.Connection,
    path: str,
    lines: Mapping[int, tuple[set[str], set[str]]],
    failing: int,
    suspects: dict[str, Suspect],
) -> None:
    symbols = asked.execute(
        'SELECT * FROM symbols WHERE path = ? ORDER BY line, "end" DESC', (path,)
    ).fetchall()
    for line, (ran_failing, ran_passing) in lines.items():
        if not ran_failing:
            continue
        # The last that begins before the line and has not ended is the innermost.
        holding = [row for row in symbols if row["line"] <= line <= row["end"]]
        if not holding:
            continue
        row = holding[-1]
        suspect = suspects.setdefault(row["symbol_id"], Suspect(row))
        ran = len(ran_failing) + len(ran_passing)
        score = len(ran_failing) / math.sqrt(failing * ran)
        suspect.score = max(suspect.score, score)
        suspect.lines.append((score, line))
        suspect.failing |= ran_failing
        suspect.passing |= ran_passing


def _shown(asked: sqlite3.Connection, each: Suspect) -> dict[str, Any]:
    callers = asked.execute(
        "SELECT count(DISTINCT source) AS count FROM edges WHERE target = ? AND kind = 'calls'",
        (each.row["symbol_id"],),
    ).fetchone()
    lines = sorted(each.lines, key=lambda pair: (-pair[0], pair[1]))[:_LINES_SHOWN]
    return {
        "symbol_id": each.row["symbol_id"],
        "kind": each.row["kind"],
        "score": round(each.score, 4),
        "lines": [{"line": line, "score": round(score, 4)} for score, line in lines],
        "failing": len(each.failing),
        "passing": len(each.passing),
        "callers": callers["count"],
    }


class _Paths:
    """Recorded paths as the index has them: coverage tools write them absolute, or relative to
    where tests ran, so the longest end that the index has is taken."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = frozenset(paths)

    def of(self, file: str) -> str | None:
        parts = [part for part in file.split("/") if part not in ("", ".")]
        tails = ("/".join(parts[start:]) for start in range(len(parts)))
        return next((tail for tail in tails if tail in self._paths), None)
