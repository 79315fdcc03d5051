"""What tests ran, test by test, as coverage tools record it.

Three forms are read, each only where it says which test ran which line: coverage.py's data file
(SQLite) and its JSON report (`coverage json --show-contexts`), both recorded with contexts, and
LCOV tracefiles (`*.info`) whose `TN:` lines name tests.
"""

import os
import sqlite3
import stat
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from murmur_tooling.documents import read_json
from murmur_tooling.members import ToolError
from murmur_tooling.places import failed

# Test -> file as recorded -> lines.
Recorded = dict[str, dict[str, set[int]]]
FILE_BYTES = 64 * 1024 * 1024
FILES = 1000
_SQLITE = b"SQLite format 3\0"
_PHASES = ("|run", "|setup", "|teardown")


def read_folder(folder: Path, path: str) -> tuple[Recorded, list[str]]:
    """Everything recorded in a folder, and which of its files were read.

    Links are not followed. Raises ToolError `not_found`, `no_coverage` where nothing there says
    what single tests ran, `damaged_coverage` for a file that begins as one of the forms and is not.
    """
    recorded: Recorded = defaultdict(lambda: defaultdict(set))
    read: list[str] = []
    for name in _files(folder, path):
        reader = _reader(folder / name)
        if reader is None:
            continue
        if len(read) == FILES:
            raise ToolError("too_large", f"{path} has more than {FILES} coverage files")
        try:
            if reader(folder / name, recorded):
                read.append(name)
        except (ValueError, KeyError, TypeError, AttributeError, sqlite3.Error) as problem:
            raise ToolError("damaged_coverage", f"{name}: {problem}; record it again") from None
        except OSError as problem:
            raise failed(name, problem) from None
    if not recorded:
        raise ToolError(
            "no_coverage",
            f"{path} has no coverage by test; record it with `pytest --cov --cov-context=test` "
            "and copy .coverage there, or give LCOV files with TN: lines",
        )
    return recorded, read


def _files(folder: Path, path: str) -> Iterator[str]:
    try:
        if not stat.S_ISDIR((folder / path).lstat().st_mode):
            raise ToolError("not_found", f"{path} is no folder; name the folder with the coverage")
        names = sorted(os.listdir(folder / path))
    except OSError as problem:
        raise failed(path, problem) from None
    for name in names:
        each = name if path == "." else f"{path}/{name}"
        if stat.S_ISREG((folder / each).lstat().st_mode):
            yield each


def _reader(path: Path) -> Callable[[Path, Recorded], bool] | None:
    try:
        with path.open("rb") as file:
            start = file.read(len(_SQLITE))
    except OSError:
        return None
    if start == _SQLITE:
        return _data_file
    if path.suffix == ".info" or start.startswith((b"TN:", b"SF:")):
        return _lcov
    if path.suffix == ".json" and start.lstrip().startswith(b"{"):
        return _report
    return None


def _data_file(path: Path, recorded: Recorded) -> bool:
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as data:
        tables = {row[0] for row in data.execute("SELECT name FROM sqlite_master")}
        if "line_bits" not in tables:
            return False  # some other database
        for file, context, bits in data.execute(
            "SELECT path, context, numbits FROM line_bits JOIN file ON file.id = file_id"
            " JOIN context ON context.id = context_id"
        ):
            _add(recorded, context, file, _numbers(bits))
        for file, context, line in data.execute(
            "SELECT path, context, abs(tono) FROM arc JOIN file ON file.id = file_id"
            " JOIN context ON context.id = context_id WHERE tono > 0"
        ):
            _add(recorded, context, file, {line})
    return True


def _numbers(bits: bytes) -> set[int]:
    """coverage.py's numbits: bit i of byte n stands for line 8n + i."""
    return {
        8 * place + bit
        for place, byte in enumerate(bits)
        if byte
        for bit in range(8)
        if byte & 1 << bit
    }


def _report(path: Path, recorded: Recorded) -> bool:
    value = read_json(_text(path))
    if not isinstance(value.get("meta"), dict) or "files" not in value:
        return False  # some other JSON
    for file, entry in value["files"].items():
        for line, contexts in entry.get("contexts", {}).items():
            for context in contexts:
                _add(recorded, context, file, {int(line)})
    return True


def _lcov(path: Path, recorded: Recorded) -> bool:
    test = file = ""
    for line in _text(path).splitlines():
        word, _, rest = line.partition(":")
        if word == "TN":
            test = rest.strip()
        elif word == "SF":
            file = rest.strip()
        elif word == "DA":
            number, count, *_ = rest.split(",")
            if float(count) > 0:
                _add(recorded, test, file, {int(number)})
    return True


def _add(recorded: Recorded, context: str, file: str, lines: set[int]) -> None:
    for phase in _PHASES:
        context = context.removesuffix(phase)
    if context:  # without one it ran while modules were imported
        recorded[context][file] |= lines


def _text(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(FILE_BYTES + 1)
    if len(content) > FILE_BYTES:
        raise ToolError("too_large", f"{path} is larger than {FILE_BYTES} bytes")
    return content.decode("utf-8", "replace")
