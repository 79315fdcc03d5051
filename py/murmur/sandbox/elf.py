"""Reading ELF files as far as containment needs: what a program loads. spec/containment.md 15.2."""

import dataclasses
import mmap
import os
import stat
import struct
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Final

_PT_LOAD: Final = 1
_PT_DYNAMIC: Final = 2
_PT_INTERP: Final = 3
_DT_NEEDED: Final = 1
_DT_STRTAB: Final = 5
_DT_STRSZ: Final = 10
_DT_RPATH: Final = 15
_DT_RUNPATH: Final = 29
_MOST_ENTRIES: Final = 65536

DEFAULT_FOLDERS: Final = (
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
)

# Loaded by the C library through dlopen, so no DT_NEEDED names them; implied by libc itself.
_NSS_MODULES: Final = ("libnss_files.so.2", "libnss_dns.so.2", "libnss_compat.so.2")


@dataclasses.dataclass(frozen=True, slots=True)
class Elf:
    """What a dynamic ELF64 file asks for."""

    interpreter: str | None
    needed: tuple[str, ...]
    search: tuple[str, ...]
    names: bytes = b""

    def mentions(self, symbol: str) -> bool:
        """Whether its dynamic symbol table defines or wants a symbol of this name."""
        return b"\0" + symbol.encode("ascii") + b"\0" in self.names


def read_elf(path: str) -> Elf | None:
    """The dynamic facts of an ELF64 little-endian file; None for anything else or unreadable."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as image:
                return _parse(image)
        finally:
            os.close(descriptor)
    except (OSError, ValueError, struct.error, IndexError, OverflowError):
        return None


def _parse(image: mmap.mmap) -> Elf | None:
    if image[:6] != b"\x7fELF\x02\x01":
        return None
    table, entry_size, count = _program_headers(image)
    interpreter: str | None = None
    loads: list[tuple[int, int, int]] = []
    dynamic: tuple[int, int] | None = None
    for index in range(count):
        kind, _, offset, address, _, length = struct.unpack_from(
            "<IIQQQQ", image, table + index * entry_size
        )
        if kind == _PT_INTERP:
            interpreter = os.fsdecode(image[offset : offset + length].rstrip(b"\0"))
        elif kind == _PT_DYNAMIC:
            dynamic = (offset, length)
        elif kind == _PT_LOAD:
            loads.append((address, offset, length))
    if dynamic is None:
        return Elf(interpreter, (), ())
    return _dynamic(image, interpreter, loads, dynamic)


def _program_headers(image: mmap.mmap) -> tuple[int, int, int]:
    (table,) = struct.unpack_from("<Q", image, 32)
    entry_size, count = struct.unpack_from("<HH", image, 54)
    return table, entry_size, count


def _dynamic(
    image: mmap.mmap,
    interpreter: str | None,
    loads: list[tuple[int, int, int]],
    section: tuple[int, int],
) -> Elf:
    entries: list[tuple[int, int]] = []
    offset, length = section
    for index in range(min(length // 16, _MOST_ENTRIES)):
        tag, value = struct.unpack_from("<qQ", image, offset + index * 16)
        if tag == 0:
            break
        entries.append((tag, value))
    table = dict(entries)
    strings = _file_offset(loads, table.get(_DT_STRTAB, 0))
    size = table.get(_DT_STRSZ, 0)

    def string(at: int) -> str:
        start = strings + at
        end = image.find(b"\0", start, strings + size)
        if end < 0:
            raise ValueError("a name without an end")
        return os.fsdecode(image[start:end])

    needed = tuple(string(value) for tag, value in entries if tag == _DT_NEEDED)
    search = [string(value) for tag, value in entries if tag in (_DT_RPATH, _DT_RUNPATH)]
    folders = tuple(folder for text in search for folder in text.split(":") if folder)
    return Elf(interpreter, needed, folders, bytes(image[strings : strings + size]))


def _file_offset(loads: list[tuple[int, int, int]], address: int) -> int:
    for start, offset, length in loads:
        if start <= address < start + length:
            return offset + address - start
    raise ValueError("an address outside every segment")


def closure(paths: Iterable[str], known: Mapping[str, Elf] = {}) -> tuple[str, ...]:
    """The canonical files that these ELF files load, loaders included, themselves not, sorted.

    Breadth-first; the first folder that has a name wins; a name that cannot be found shrinks the
    closure and fails nothing. A module says itself what it needs, so only ELF files are believed:
    one could as well name a key of the operator's. `known` are facts that need no reading.
    """
    roots = {path if path in known else os.path.realpath(path) for path in paths}
    queue = deque(sorted(roots))
    seen = set(queue)
    # Modules by the hundred ask for the same few libraries.
    looked: set[tuple[str, tuple[str, ...]]] = set()

    def visit(name: str, folders: tuple[str, ...]) -> None:
        if (name, folders) in looked:
            return
        found = _find(name, (*folders, *DEFAULT_FOLDERS))
        looked.add((name, folders))
        canonical = None if found is None else os.path.realpath(found)
        if canonical is None or canonical in seen:
            return
        if canonical in known or _is_elf(canonical):
            seen.add(canonical)
            queue.append(canonical)

    while queue:
        path = queue.popleft()
        facts = known.get(path) or read_elf(path)
        if facts is None:
            continue
        if facts.interpreter is not None:
            visit(facts.interpreter, ())
        names = facts.needed
        if any(name.startswith("libc.so.") for name in names):
            names += _NSS_MODULES
        folders = _own_folders(facts, path)
        for name in names:
            visit(name, folders)
    return tuple(sorted(seen - roots))


def find_library(name: str, path: str) -> str | None:
    """Where the loader finds a library of that name for the program at `path`; None if nowhere."""
    facts = read_elf(path)
    found = None if facts is None else _find(name, (*_own_folders(facts, path), *DEFAULT_FOLDERS))
    return found if found is not None and _is_elf(found) else None


def _is_elf(path: str) -> bool:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def _own_folders(facts: Elf, path: str) -> tuple[str, ...]:
    """Where a file says that its libraries are, before the default folders."""
    origin = os.path.dirname(path)
    return tuple(
        folder.replace("${ORIGIN}", origin).replace("$ORIGIN", origin) for folder in facts.search
    )


def _find(name: str, folders: Iterable[str]) -> str | None:
    if "/" in name:
        return name if os.path.isfile(name) else None
    for folder in folders:
        candidate = os.path.join(folder, name)
        if os.path.isfile(candidate):
            return candidate
    return None
