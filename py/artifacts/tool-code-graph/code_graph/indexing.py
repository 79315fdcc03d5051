"""Reading a repository: which of its files, in which languages."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from murmur_tooling.members import ToolError
from murmur_tooling.places import failed

from code_graph import database
from code_graph.brace_source import read_braces
from code_graph.facts import Facts
from code_graph.linking import Linker, rows
from code_graph.python_source import read_python

LANGUAGES = {
    ".c": "c",
    ".h": "c",
    ".go": "go",
    ".js": "javascript",
    ".jsx": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".ts": "javascript",
    ".tsx": "javascript",
    ".py": "python",
    ".rs": "rust",
}
LEFT_OUT = frozenset(
    (
        *(".git", ".hg", ".svn", database.FOLDER, "node_modules", "__pycache__", "target"),
        *(".venv", "venv", ".tox", ".mypy_cache", ".pytest_cache", "dist", "build", "vendor"),
    )
)
FILE_BYTES = 1024 * 1024
FILES = 10_000
LONGEST_LINE = 5000
_SHOWN = 20


def index(folder: Path, repository: str) -> dict[str, Any]:
    """Reads every source file below the repository and writes its database.

    Links are not followed. Raises ToolError.
    """
    path = database.location(folder, repository)
    root = folder / repository
    if not root.is_dir():
        raise ToolError("not_found", f"{repository} is no folder")
    files: list[Facts] = []
    skipped: list[dict[str, str]] = []
    for name in _sources(root, ""):
        if len(files) == FILES:
            raise ToolError("too_large", f"{repository} has more than {FILES} source files")
        text = _load(root / name)
        if text is None or max(map(len, text.splitlines()), default=0) > LONGEST_LINE:
            reason = "it cannot be read" if text is None else "its lines are too long: made"
            skipped.append({"path": name, "reason": reason})
            continue
        language = LANGUAGES[os.path.splitext(name)[1]]
        read = read_python(name, text) if language == "python" else None
        files.append(read or read_braces(name, text, language))
    if not files and skipped:
        first = f"{skipped[0]['path']}: {skipped[0]['reason']}"
        message = f"{repository} has {len(skipped)} source files, and none was read; {first}"
        raise ToolError("nothing_to_index", message)
    if not files:
        known = ", ".join(sorted(LANGUAGES))
        raise ToolError("nothing_to_index", f"{repository} has no file with one of {known}")
    linker = Linker(files)
    edges = list(linker.edges())
    symbols = list(rows(files, linker.ids))
    about = ((each.path, each.language, each.symbols[0].end, each.problem) for each in files)
    database.write(folder, path, about, symbols, edges)
    skipped += [{"path": each.path, "reason": each.problem} for each in files if each.problem]
    languages = sorted({each.language for each in files})
    return {
        "database": path,
        "files": {
            language: sum(each.language == language for each in files) for language in languages
        },
        "symbols": len(symbols),
        "edges": len({edge[:4] for edge in edges}),
        "skipped": skipped[:_SHOWN],
        "skipped_count": len(skipped),
    }


def _sources(root: Path, below: str) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(root / below), key=lambda entry: entry.name)
    except OSError as problem:
        if below:
            return
        raise failed(str(root), problem) from None
    for entry in entries:
        name = f"{below}/{entry.name}" if below else entry.name
        try:
            mode = entry.stat(follow_symlinks=False).st_mode
        except OSError:
            continue  # gone since it was listed
        if stat.S_ISDIR(mode) and entry.name not in LEFT_OUT:
            yield from _sources(root, name)
        elif stat.S_ISREG(mode) and os.path.splitext(entry.name)[1] in LANGUAGES:
            yield name


def _load(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES + 1)
    except OSError:
        return None
    return decoded(content) if len(content) <= FILE_BYTES else None


def decoded(content: bytes) -> str:
    """A source's text, without the mark that some editors begin it with."""
    return content.decode("utf-8", "replace").removeprefix("\ufeff")
