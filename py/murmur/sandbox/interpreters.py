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
_FORMAT: Final = 2
_MOST_MODULES: Final = 20_000
_MOST_PATH_BYTES: Final = 1 << 16

# The interpreter runs uncontained here, so nothing that a command may have written is executed: no
# `import` line of a .pth file, no sitecustomize.
_PYTHON_PATH: Final = (
    "import sys, site; site.addpackage = lambda *_: None; "
    "site.addsitepackages(site.venv(site.removeduppaths())); "
    "print(*sys.path, sys.prefix + '/pyvenv.cfg', sep='\\n')"
)

# A symbol that tells the interpreter, and the arguments that make it print its import path, one
# entry a line.
_QUESTIONS: Final = (
    (
        "Py_BytesMain",
        ("-I", "-S", "-c", _PYTHON_PATH),
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
    `writable` root is left out: a command could have written there what the interpreter would run,
    or a module whose needs would be granted. A binary that is none, or does not answer, has no
    entry.
    """
    found: dict[str, Runtime] = {}
    trusted = _trusted(path, writable)
    for name, binary in binaries.items():
        answer = _remembered(binary, trusted, facts)
        if answer is None:
            answer = _ask(binary, trusted, writable)
            if answer is None:
                continue
            _remember(binary, trusted, answer, facts)
        folders = tuple(each for each in answer.folders if not inside(each, writable))
        files = tuple(each for each in answer.files if not inside(each, writable))
        if folders or files:
            found[name] = Runtime(folders, files)
    return found


def keep(binaries: Mapping[str, Binary], path: str, facts: Root) -> int:
    """Keeps for the first session what it would ask; how many binaries something is kept of.

    A binary that is no interpreter counts: that it is none is kept of it. spec/registry.md 16.
    """
    runtimes(binaries, path, (), facts)
    trusted = _trusted(path, ())
    return sum(_remembered(each, trusted, facts) is not None for each in binaries.values())


def _trusted(path: str, writable: Sequence[str]) -> str:
    return ":".join(
        each
        for each in path.split(":")
        if os.path.isabs(each) and not inside(os.path.realpath(each), writable)
    )


def _ask(binary: Binary, path: str, writable: Sequence[str]) -> Runtime | None:
    """What a binary reads; None for an interpreter that does not answer."""
    facts = elf.read_elf(binary.path)
    for symbol, arguments in _QUESTIONS:
        if facts is not None and _is(facts, symbol, binary):
            lines = _answer(binary, arguments, path)
            if not lines:
                return None
            entries = dict.fromkeys(os.path.realpath(line) for line in lines if line)
            kept = [each for each in entries if os.path.isdir(each) and each != "/"]
            folders = _with_path_files([each for each in kept if not inside(each, writable)])
            files = tuple(each for each in entries if os.path.isfile(each))
            scanned = [each for each in folders if not inside(each, writable)]
            needed = elf.closure(_modules(scanned))
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


def _with_path_files(folders: Sequence[str]) -> tuple[str, ...]:
    """The folders, and those that Python's .pth files in them add by plain lines."""
    found = dict.fromkeys(folders)
    for folder in folders:
        try:
            names = sorted(each for each in os.listdir(folder) if each.endswith(".pth"))
        except OSError:
            continue
        for name in names:
            for line in _lines(os.path.join(folder, name)):
                added = os.path.realpath(os.path.join(folder, line))
                if os.path.isdir(added) and added != "/":
                    found[added] = None
    return tuple(found)


def _lines(path: str) -> list[str]:
    """The lines of a .pth file that name folders."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read(_MOST_PATH_BYTES)
    except (OSError, ValueError):
        return []
    lines = (line.strip() for line in text.splitlines())
    return [
        each
        for each in lines
        if each and "\0" not in each and not each.startswith(("#", "import ", "import\t"))
    ]


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


def _file_name(binary: Binary, path: str) -> str:
    """Of one binary under one name and PATH: a virtual environment on PATH changes the answer."""
    told = os.fsencode(f"{binary.name}\0{binary.path}\0{path}")
    return hashlib.sha256(told).hexdigest() + ".json"


def _remembered(binary: Binary, path: str, facts: Root | None) -> Runtime | None:
    if facts is None:
        return None
    try:
        record: Any = json.loads(facts.read_bytes(_file_name(binary, path), limit=1 << 22))
        if record["format"] != _FORMAT:
            return None
        for each, stamp in record["stamps"].items():
            if _stamp(each) != stamp:
                return None
        return Runtime(tuple(map(str, record["folders"])), tuple(map(str, record["files"])))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _remember(binary: Binary, path: str, answer: Runtime, facts: Root | None) -> None:
    """Best effort: without it the next session asks again."""
    if facts is None:
        return
    stamps = {each: _stamp(each) for each in (binary.path, *answer.folders)}
    record = {
        "format": _FORMAT,
        "stamps": stamps,
        "folders": answer.folders,
        "files": answer.files,
    }
    try:
        facts.write_atomic(_file_name(binary, path), json.dumps(record).encode())
    except (OSError, ValueError):
        pass
