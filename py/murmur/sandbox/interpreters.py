"""What recognised interpreters read their modules from. spec/containment.md 16.

An interpreter is recognised by its dynamic symbols, not by its name, and asked with a fixed
one-line program. What it said, what its folders hold and what the modules there load are kept in
`~/.murmur/host_facts`, one record per binary, and worked out anew when one of those files has
changed. What a session may have of it is decided each time, from the facts (spec/registry.md 16).
"""

import dataclasses
import hashlib
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from murmur.core.safefs import Root
from murmur.sandbox import elf, host_facts
from murmur.sandbox.binaries import Binary, inside
from murmur.sandbox.elf import Elf
from murmur.sandbox.host_facts import Stamp, stamp

_TIMEOUT_S: Final = 20.0
_MOST_FOLDERS: Final = 20_000
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


@dataclasses.dataclass(frozen=True, slots=True)
class _Folder:
    """What one folder holds: extension modules, folders, and what its .pth files add."""

    stamp: Stamp | None
    modules: tuple[str, ...]
    below: tuple[str, ...]
    added: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class _Facts:
    """What was worked out of a binary, whatever the session: `path` is what it printed."""

    path: tuple[str, ...]
    folders: Mapping[str, _Folder]
    libraries: Mapping[str, Elf]


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
        runtime = _runtime(binary, trusted, writable, facts)
        if runtime is not None and (runtime.folders or runtime.files):
            found[name] = runtime
    return found


def keep(binaries: Mapping[str, Binary], path: str, facts: Root) -> int:
    """Keeps for the first session what it would ask; how many binaries something is kept of.

    A binary that is no interpreter counts: that it is none is kept of it. spec/registry.md 16.
    """
    runtimes(binaries, path, (), facts)
    trusted = _trusted(path, ())
    return sum(_remembered(each, trusted, facts) is not None for each in binaries.values())


def _runtime(
    binary: Binary, path: str, writable: Sequence[str], facts: Root | None
) -> Runtime | None:
    known = _remembered(binary, path, facts)
    runtime = None if known is None else _decide(known, writable)
    if runtime is None:
        known = _ask(binary, path, writable)
        if known is None:
            return None
        _remember(binary, path, known, facts)
        runtime = _decide(known, writable)
    return runtime


def _trusted(path: str, writable: Sequence[str]) -> str:
    return ":".join(
        each
        for each in path.split(":")
        if os.path.isabs(each) and not inside(os.path.realpath(each), writable)
    )


def _ask(binary: Binary, path: str, writable: Sequence[str]) -> _Facts | None:
    """What a binary reads; None for an interpreter that does not answer."""
    facts = elf.read_elf(binary.path)
    for symbol, arguments in _QUESTIONS:
        if facts is not None and _is(facts, symbol, binary):
            lines = _answer(binary, arguments, path)
            if not lines:
                return None
            printed = tuple(dict.fromkeys(os.path.realpath(line) for line in lines if line))
            return _look(printed, writable)
    return _Facts((), {}, {})


def _look(printed: tuple[str, ...], writable: Sequence[str]) -> _Facts:
    """The facts behind a printed path; nothing that commands can write is looked into."""
    folders: dict[str, _Folder] = {}
    roots = [each for each in printed if _is_root(each) and not inside(each, writable)]
    for root in roots:
        _scan(root, folders)
    for added in [each for root in roots for each in folders[root].added]:
        if not inside(added, writable):
            _scan(added, folders)
    modules = list(_modules(folders, folders))
    loaded = (*modules, *elf.closure(modules))
    libraries = {each: read for each in loaded if (read := elf.read_elf(each)) is not None}
    return _Facts(printed, folders, libraries)


def _is_root(path: str) -> bool:
    return path != "/" and os.path.isdir(path)


def _decide(facts: _Facts, writable: Sequence[str]) -> Runtime | None:
    """What a session gets; None where the facts do not reach that far."""
    folders: dict[str, None] = {}
    for path in facts.path:
        if inside(path, writable) or path == "/":
            continue
        known = facts.folders.get(path)
        if known is not None:
            folders |= dict.fromkeys((path, *known.added))
        elif os.path.isdir(path):
            return None
    kept = tuple(each for each in folders if not inside(each, writable))
    if any(each not in facts.folders for each in kept):
        return None
    modules = [each for each in _modules(facts.folders, kept) if not inside(each, writable)]
    needed = elf.closure(modules, facts.libraries)
    files = (
        *(path for path in facts.path if os.path.isfile(path)),
        *(each for each in needed if not inside(each, kept)),
    )
    return Runtime(kept, tuple(each for each in files if not inside(each, writable)))


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


def _scan(root: str, folders: dict[str, _Folder]) -> None:
    """Looks through a folder and what lies below it, but for what is known already."""
    waiting = [root]
    while waiting and len(folders) < _MOST_FOLDERS:
        folder = waiting.pop()
        if folder in folders and (folder != root or folders[folder].added):
            continue
        before = stamp(folder)
        modules: list[str] = []
        below: list[str] = []
        paths: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        below.append(entry.path)
                    elif _is_module(entry.name):
                        modules.append(entry.path)
                    elif folder == root and entry.name.endswith(".pth"):
                        paths.append(entry.path)
        except OSError:
            pass
        added = dict.fromkeys(each for path in sorted(paths) for each in _added(folder, path))
        folders[folder] = _Folder(before, tuple(sorted(modules)), tuple(sorted(below)), (*added,))
        waiting += below


def _added(folder: str, path: str) -> Iterator[str]:
    """The folders that a .pth file adds by plain lines."""
    for line in _lines(path):
        added = os.path.realpath(os.path.join(folder, line))
        if _is_root(added):
            yield added


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


def _modules(folders: Mapping[str, _Folder], roots: Iterable[str]) -> Iterator[str]:
    """Extension modules in and below the roots, each once."""
    seen: set[str] = set()
    waiting = list(roots)
    while waiting:
        path = waiting.pop()
        known = folders.get(path)
        if known is None or path in seen:
            continue
        seen.add(path)
        yield from known.modules
        waiting += known.below


def _is_module(name: str) -> bool:
    return name.endswith(".so") or ".so." in name


def _file_name(binary: Binary, path: str) -> str:
    """Of one binary under one name and PATH: a virtual environment on PATH changes the answer."""
    told = os.fsencode(f"{binary.name}\0{binary.path}\0{path}")
    return hashlib.sha256(told).hexdigest() + ".json"


def _remembered(binary: Binary, path: str, facts: Root | None) -> _Facts | None:
    """What is kept of a binary, if every file that it is about looks as it did."""
    if facts is None:
        return None
    record: Any = host_facts.load(facts, _file_name(binary, path))
    try:
        if record is None or record["binary"] != stamp(binary.path):
            return None
        folders = {
            each: _Folder(stamp(each), tuple(modules), tuple(below), tuple(added))
            for each, (_, modules, below, added) in record["folders"].items()
        }
        if any(folders[each].stamp != row[0] for each, row in record["folders"].items()):
            return None
        libraries = {}
        for each, (then, loader, needed, search) in record["libraries"].items():
            if stamp(each) != then:
                return None
            libraries[each] = Elf(loader, tuple(needed), tuple(search))
        return _Facts(tuple(record["path"]), folders, libraries)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _remember(binary: Binary, path: str, known: _Facts, facts: Root | None) -> None:
    if facts is None:
        return
    record = {
        "binary": stamp(binary.path),
        "interpreter": bool(known.path),
        "path": list(known.path),
        "folders": {
            each: [row.stamp, list(row.modules), list(row.below), list(row.added)]
            for each, row in known.folders.items()
        },
        "libraries": {
            each: [stamp(each), row.interpreter, list(row.needed), list(row.search)]
            for each, row in known.libraries.items()
        },
    }
    host_facts.store(facts, _file_name(binary, path), record)
