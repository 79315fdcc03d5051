"""What recognised interpreters read their modules from. spec/containment.md 16.

An interpreter is recognised by its dynamic symbols, not by its name, and asked with a fixed
one-line program. Answers are kept in `~/.murmur/host_facts`, one file per binary, and asked anew
when the binary or one of the folders has changed.
"""

import dataclasses
import hashlib
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, Final

from murmur.core.safefs import Root
from murmur.sandbox import elf
from murmur.sandbox.binaries import Binary, inside

_TIMEOUT_S: Final = 20.0
_FORMAT: Final = 1
_MOST_MODULES: Final = 20_000

# A symbol that tells the interpreter, and the arguments that make it print its import path, one
# entry a line.
_QUESTIONS: Final = (
    (
        "Py_BytesMain",
        ("-I", "-c", "import sys; print(*sys.path, sys.prefix + '/pyvenv.cfg', sep='\\n')"),
    ),
    ("perl_parse", ("-e", r'print join("\n", @INC), "\n"')),
)


@dataclasses.dataclass(frozen=True, slots=True)
class Runtime:
    """Folders to read and list, and files to read; canonical, none of them executable by this."""

    folders: tuple[str, ...]
    files: tuple[str, ...]


def runtimes(
    binaries: Mapping[str, Binary], path: str, writable: Sequence[str], facts: Root | None
) -> dict[str, Runtime]:
    """The runtime of each allowlisted interpreter, by allowlist name.

    `path` is the operator's PATH, in which an interpreter may look for itself. What lies below a
    `writable` root is left out. A binary that is none, or does not answer, has no entry.
    """
    found: dict[str, Runtime] = {}
    for name, binary in binaries.items():
        answer = _remembered(binary, facts)
        if answer is None:
            answer = _ask(binary, path)
            _remember(binary, answer, facts)
        folders = tuple(each for each in answer.folders if not inside(each, writable))
        files = tuple(each for each in answer.files if not inside(each, writable))
        if folders or files:
            found[name] = Runtime(folders, files)
    return found


def _ask(binary: Binary, path: str) -> Runtime:
    facts = elf.read_elf(binary.path)
    for symbol, arguments in _QUESTIONS:
        if facts is not None and _is(facts, symbol, binary):
            lines = _answer(binary, arguments, path)
            entries = dict.fromkeys(os.path.realpath(line) for line in lines if line)
            folders = tuple(each for each in entries if os.path.isdir(each) and each != "/")
            files = tuple(each for each in entries if os.path.isfile(each))
            needed = elf.closure(_modules(folders))
            return Runtime(
                folders, (*files, *(each for each in needed if not inside(each, folders)))
            )
    return Runtime((), ())


def _is(facts: elf.Elf, symbol: str, binary: Binary) -> bool:
    if facts.mentions(symbol):
        return True
    return any(
        (library := elf.read_elf(each)) is not None and library.mentions(symbol)
        for each in binary.closure
        if os.path.basename(each).startswith(("libpython", "libperl"))
    )


def _answer(binary: Binary, arguments: Sequence[str], path: str) -> list[str]:
    """Asked under the allowlist name, as commands start it: a venv's Python finds itself so."""
    try:
        done = subprocess.run(
            [binary.name, *arguments],
            executable=binary.path,
            cwd="/",
            env={"PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    if done.returncode != 0:
        return []
    return [line for line in os.fsdecode(done.stdout).split("\n") if os.path.isabs(line)]


def _modules(folders: Sequence[str]) -> list[str]:
    """ELF extension modules below the folders."""
    found: list[str] = []
    for folder in folders:
        for parent, _, names in os.walk(folder):
            found += [os.path.join(parent, name) for name in names if _is_module(name)]
            if len(found) > _MOST_MODULES:
                return found
    return found


def _is_module(name: str) -> bool:
    return name.endswith(".so") or ".so." in name


def _stamp(path: str) -> list[int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _file_name(binary: Binary) -> str:
    return hashlib.sha256(os.fsencode(f"{binary.name}\0{binary.path}")).hexdigest() + ".json"


def _remembered(binary: Binary, facts: Root | None) -> Runtime | None:
    if facts is None:
        return None
    try:
        record: Any = json.loads(facts.read_bytes(_file_name(binary), limit=1 << 22))
        if record["format"] != _FORMAT:
            return None
        for path, stamp in record["stamps"].items():
            if _stamp(path) != stamp:
                return None
        return Runtime(tuple(map(str, record["folders"])), tuple(map(str, record["files"])))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _remember(binary: Binary, answer: Runtime, facts: Root | None) -> None:
    """Best effort: without it the next session asks again."""
    if facts is None:
        return
    stamps = {path: _stamp(path) for path in (binary.path, *answer.folders)}
    record = {
        "format": _FORMAT,
        "stamps": stamps,
        "folders": answer.folders,
        "files": answer.files,
    }
    try:
        facts.write_atomic(_file_name(binary), json.dumps(record).encode())
    except (OSError, ValueError):
        pass
