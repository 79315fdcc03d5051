"""Makes a component of componentize-py smaller without changing what it does.

The first of its core modules holds the memory of an interpreter that has imported the artifact, the
others the libraries that it is linked of. Gone afterwards: what the heap holds free (`heap.py`),
what of libpython this artifact cannot reach (`library.py`) or read (`rodata.py`), the names of
functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tools.wasm import binary, heap, instructions, library, rodata
from tools.wasm.binary import Section, Unreadable
from tools.wasm.trimming import MARK

_GAP = 64
"""From how many zeros on a new segment begins: each takes the engine time to compile."""
_RUNS = re.compile(rb"[^\0](?:\0{0,%d}[^\0])*" % (_GAP - 1), re.DOTALL)
_NAMES = ("name", "component-name")
_HEAP_BASE = "__heap_base"
_LIBRARY_BASE = "libpython3.14.so:memory_base"
_MODULES = re.compile(re.escape(MARK) + rb"((?:[\w.]+;)+)")


def slim(component: bytes) -> bytes:
    """The component without what it can do without. Raises `Unreadable` for any other one."""
    parts = [part for part in binary.sections(component) if not _is_names(part)]
    modules = {
        at: list(binary.sections(part.payload))
        for at, part in enumerate(parts)
        if part.id == binary.CORE_MODULE
    }
    libraries = [at for at, held in modules.items() if library.ENTRY in _exports(held)]
    if len(libraries) != 1:
        raise Unreadable(f"{len(libraries)} of its modules export {library.ENTRY}, not one")
    if any(part.id == binary.START for held in modules.values() for part in held):
        raise Unreadable("one of its modules has a start function, so it is no snapshot")

    memory = min(modules)
    image, addresses = _memory(modules[memory])
    heap.clear_free(image, addresses[_HEAP_BASE])
    uses = [
        each
        for at, held in modules.items()
        if at != libraries[0]
        for part in held
        if part.id == binary.IMPORTS
        for each in binary.imports(part.payload)
    ]
    reduced = library.reduce(modules[libraries[0]], uses, _imported(image))
    modules[libraries[0]] = reduced.sections
    base = addresses[_LIBRARY_BASE]
    rodata.clear(image, base, reduced.unread)
    rodata.clear_texts(image, base, reduced.texts)
    rodata.clear_frozen(image, base, reduced.exported)
    modules[memory] = [
        binary.data_section(_segments(image)) if part.id == binary.DATA else part
        for part in modules[memory]
    ]
    for at, held in modules.items():
        header = parts[at].payload[: binary.HEADER_BYTES]
        slimmed = binary.assemble(header, [_in_short(part) for part in held if not _is_names(part)])
        parts[at] = Section(binary.CORE_MODULE, slimmed)
    return binary.assemble(component[: binary.HEADER_BYTES], parts)


def _is_names(part: Section) -> bool:
    return part.id == binary.CUSTOM and part.name in _NAMES


def _in_short(part: Section) -> Section:
    if part.id != binary.CODE:
        return part
    return binary.code_section(map(instructions.shortened, binary.bodies(part.payload)))


def _exports(module: Iterable[Section]) -> Mapping[str, tuple[int, int]]:
    for part in module:
        if part.id == binary.EXPORTS:
            return binary.exports(part.payload)
    return {}


def _memory(module: Sequence[Section]) -> tuple[bytearray, Mapping[str, int]]:
    """The memory as the snapshot holds it, and where in it what lies, by the names of globals."""
    by_id = {part.id: part.payload for part in module if part.id != binary.CUSTOM}
    if binary.DATA not in by_id or binary.GLOBALS not in by_id:
        raise Unreadable("its first module holds no memory")
    values = binary.global_values(by_id[binary.GLOBALS])
    addresses = {
        name: values[at][1]
        for name, (kind, at) in _exports(module).items()
        if kind == binary.GLOBAL
    }
    for name in (_HEAP_BASE, _LIBRARY_BASE):
        if name not in addresses:
            raise Unreadable(f"its first module does not say what {name} is")
    return binary.memory_image(by_id[binary.DATA]), addresses


def _imported(image: bytearray) -> list[str]:
    """The native modules that the interpreter has imported, as `trimming.after` wrote them down."""
    found = set(_MODULES.findall(image))
    if len(found) != 1:
        raise Unreadable(f"its memory holds {len(found)} lists of imported modules, not one")
    names: str = found.pop().decode()
    return names.rstrip(";").split(";")


def _segments(image: bytearray) -> Iterator[tuple[int, bytes]]:
    for run in _RUNS.finditer(image):
        yield run.start(), run.group()
