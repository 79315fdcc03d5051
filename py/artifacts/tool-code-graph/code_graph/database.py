"""The database of one repository, `<repo_path>/.murmur/code-graph.db`: SQLite.

    files    path, language, lines, problem
    symbols  symbol_id (`<path>#<name>`, `~2` for a second of one name), path, name, kind, line,
             end, signature, doc
    edges    source, target (symbol ids), kind (`calls`, `uses`, `inherits`, `imports`, `contains`),
             line, certainty (`exact`: by scopes, imports and types; `name`: the only one so named)

Lines count from 1, both included. It is written whole beside the old one and then renamed.
"""

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from murmur_tooling.members import ToolError
from murmur_tooling.places import failed, resolve

FOLDER = ".murmur"
NAME = "code-graph.db"
VERSION = "1"
_TABLES = """
PRAGMA journal_mode = OFF;
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE files (path TEXT PRIMARY KEY, language TEXT NOT NULL, lines INTEGER NOT NULL,
                    problem TEXT NOT NULL);
CREATE TABLE symbols (symbol_id TEXT PRIMARY KEY, path TEXT NOT NULL, name TEXT NOT NULL,
                      kind TEXT NOT NULL, line INTEGER NOT NULL, "end" INTEGER NOT NULL,
                      signature TEXT NOT NULL, doc TEXT NOT NULL);
CREATE TABLE edges (source TEXT NOT NULL, target TEXT NOT NULL, kind TEXT NOT NULL,
                    line INTEGER NOT NULL, certainty TEXT NOT NULL,
                    UNIQUE (source, target, kind, line));
"""
_INDEXES = """
CREATE INDEX symbols_by_path ON symbols (path, line);
CREATE INDEX edges_by_target ON edges (target);
"""


def location(folder: Path, repository: str) -> str:
    """The database's path below `folder`. Raises ToolError where links lead elsewhere."""
    wanted = FOLDER if repository == "." else f"{repository}/{FOLDER}"
    for path in (wanted, f"{wanted}/{NAME}"):
        if resolve(folder, path) != path:
            raise ToolError("io_error", f"{path} is a link; the index is kept in a folder itself")
    return f"{wanted}/{NAME}"


def write(
    folder: Path,
    path: str,
    files: Iterable[tuple[str, str, int, str]],
    symbols: Iterable[tuple[str, str, str, str, int, int, str, str]],
    edges: Iterable[tuple[str, str, str, int, str]],
) -> None:
    """Writes a whole database. Raises ToolError."""
    target = folder / path
    fresh = target.with_name(NAME + ".new")
    try:
        target.parent.mkdir(exist_ok=True)
        fresh.unlink(missing_ok=True)
        connection = sqlite3.connect(fresh)
        try:
            connection.executescript(_TABLES)
            with connection:
                connection.execute("INSERT INTO facts VALUES ('version', ?)", (VERSION,))
                connection.executemany("INSERT INTO files VALUES (?, ?, ?, ?)", files)
                rows = "INSERT INTO symbols VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
                connection.executemany(rows, symbols)
                connection.executemany("INSERT OR IGNORE INTO edges VALUES (?, ?, ?, ?, ?)", edges)
                connection.executescript(_INDEXES)
        finally:
            connection.close()
        fresh.replace(target)
    except OSError as problem:
        raise failed(path, problem) from None
    except sqlite3.Error as problem:
        raise ToolError("io_error", f"{path}: {problem}") from None


def opened(folder: Path, repository: str) -> sqlite3.Connection:
    """The database for reading. Raises ToolError `not_indexed` or `damaged_index`."""
    path = location(folder, repository)
    again = "run index_repository of tool-code-graph on this repo_path"
    if not (folder / path).is_file():
        raise ToolError("not_indexed", f"{path} is not there; {again}")
    try:
        connection = sqlite3.connect(f"file:{folder / path}?mode=ro&immutable=1", uri=True)
        connection.row_factory = sqlite3.Row
        row = connection.execute("SELECT value FROM facts WHERE name = 'version'").fetchone()
    except sqlite3.Error as problem:
        raise damaged(path, problem) from None
    if row is None or row["value"] != VERSION:
        raise ToolError("damaged_index", f"{path} is of another version; {again}")
    return connection


def damaged(path: str, problem: sqlite3.Error) -> ToolError:
    """The refusal of a file that SQLite cannot read."""
    return ToolError("damaged_index", f"{path}: {problem}; run index_repository again")
