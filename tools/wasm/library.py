"""Takes out of libpython what the component of one artifact never runs.

Its interpreter is initialized already and has imported all that it will: a function that nothing
reaches from there is emptied, so that indices stay. Reached is what another module of the component
imports, what lies in the table of function pointers, and what either calls. The table names every
method of every native module, therefore the ones of modules that were not imported are left out of
it (`spans.py`): their tables of methods are read by their initialization alone, and that now raises
ImportError. Without the module of syntax trees the compiler goes as well: `exec`, `eval` and
`compile` of text raise NotImplementedError.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence

from tools.wasm import binary, instructions, rodata
from tools.wasm.binary import Import, Section, Unreadable
from tools.wasm.spans import PARSER, SPANS, Span

ENTRY = "Py_InitializeFromConfig"
"""An export by which the library is known."""

_RELOCATE = "__wasm_apply_data_relocs"
_MEMORY_BASE = 1
"""The global that the library's own addresses are added to."""
_UNREACHABLE = b"\0\0\x0b"
_ONCE = (
    ENTRY,
    "Py_RunMain",
    "_PyUnicode_InitStaticStrings",
    _RELOCATE,
    "__wasm_init_memory",
    "_initialize",
)
"""What ran before the snapshot and never runs again."""
_COMPILERS = {
    "_PyParser_ASTFromString": 0,
    "_PyParser_ASTFromFile": 0,
    "_PyParser_InteractiveASTFromFile": 0,
    "PyAST_Check": -1,
    "PyAST_mod2obj": 0,
    "PyAST_obj2mod": 0,
    "_PyAST_Compile": 0,
}
"""The ways into parser and compiler, and what each returns when it raises."""


@dataclasses.dataclass(frozen=True, slots=True)
class Reduced:
    """The library without what is not reached: its sections, and what of its memory they tell.

    `unread` are stretches (first, past) that nothing refers to any more, `texts` what documents
    methods, `exported` the addresses of its data by name; all count from its memory on.
    """

    sections: list[Section]
    unread: list[tuple[int, int]]
    texts: list[tuple[int, int]]
    exported: Mapping[str, int]


def reduce(module: Sequence[Section], uses: Iterable[Import], imported: Collection[str]) -> Reduced:
    """The library of a component whose other modules import `uses`.

    `imported` are the native Python modules of the snapshot. Raises `Unreadable` for a library
    that is not the one known here.
    """
    parts = list(module)
    by_id = {part.id: part.payload for part in parts if part.id != binary.CUSTOM}
    index = {name: at for at, name in _names(parts).items()}
    _require(index, [*_ONCE, *_COMPILERS, "PyErr_SetNone"])
    own_imports = binary.imports(by_id[binary.IMPORTS])
    first = sum(each.kind == binary.FUNCTION for each in own_imports)
    globals_ = [each for each in own_imports if each.kind == binary.GLOBAL]
    exports = binary.exports(by_id[binary.EXPORTS])
    whole = dict(enumerate(binary.bodies(by_id[binary.CODE]), first))

    dropped = _dropped(index, imported)
    refusing = {at for name, at in index.items() if name.startswith("PyInit_") and at in dropped}
    functions = dict(whole)
    for name in _ONCE:
        functions[index[name]] = _UNREACHABLE
    for name, result in _COMPILERS.items() if PARSER not in imported else ():
        functions[index[name]] = _raising("PyExc_NotImplementedError", globals_, index, result)
    for at in refusing:
        functions[at] = _raising("PyExc_ImportError", globals_, index, 0)

    called, pointed_at = _uses(uses, exports)
    pointed_at |= set(binary.element_functions(by_id[binary.ELEMENTS]))
    reached = _reached(called | pointed_at - dropped | refusing, functions)
    code = binary.code_section(
        body if at in reached else _UNREACHABLE for at, body in functions.items()
    )
    gone = dropped - reached | refusing
    relocated = rodata.relocations(whole.pop(index[_RELOCATE]))
    addresses, inner = _addresses(by_id[binary.GLOBALS], exports, len(globals_))
    others = [body for at, body in whole.items() if at not in gone]
    known = {*addresses.values(), *inner}
    return Reduced(
        [code if part.id == binary.CODE else part for part in parts],
        rodata.unread(
            [whole[at] for at in sorted(gone) if at in whole], others, relocated.data, known
        ),
        rodata.documentation(relocated, known.union(*map(rodata.taken, whole.values()))),
        addresses,
    )


def _dropped(index: Mapping[str, int], imported: Collection[str]) -> set[int]:
    """What the table of function pointers may lose: what modules not imported consist of."""
    spans = [span for span in SPANS if not set(span.modules) & set(imported)]
    return {at for span in spans for at in _within(span, index)}


def _uses(
    uses: Iterable[Import], exports: Mapping[str, tuple[int, int]]
) -> tuple[set[int], set[int]]:
    """The library's functions that other modules call, and those whose address they take.

    Libraries call each other by way of `env`. The module that fills the table of function pointers
    imports from the library by its name.
    """
    called: set[int] = set()
    pointed_at: set[int] = set()
    for use in uses:
        kind, at = exports.get(use.name, (None, 0))
        if use.kind == binary.FUNCTION == kind:
            (called if use.module == "env" else pointed_at).add(at)
    return called, pointed_at


def _addresses(
    globals_: bytes, exports: Mapping[str, tuple[int, int]], imported: int
) -> tuple[Mapping[str, int], set[int]]:
    """The addresses in the library's memory that it exports, and those that it holds in globals."""
    values = binary.global_values(globals_)
    exported = {
        name: values[at - imported][1]
        for name, (kind, at) in exports.items()
        if kind == binary.GLOBAL
    }
    return exported, {value for base, value in values if base == _MEMORY_BASE}


def _names(parts: Iterable[Section]) -> Mapping[int, str]:
    for part in parts:
        if part.id == binary.CUSTOM and part.name == "name":
            return binary.function_names(part.payload)
    raise Unreadable("its libpython does not name its functions")


def _require(index: Mapping[str, int], names: Iterable[str]) -> None:
    for name in names:
        if name not in index:
            raise Unreadable(
                f"its libpython has no {name}: tools/wasm names the functions of another CPython"
            )


def _within(span: Span, index: Mapping[str, int]) -> range:
    _require(index, [span.first, span.last])
    found = range(index[span.first], index[span.last] + 1)
    if not found:
        raise Unreadable(f"in its libpython {span.last} comes before {span.first}")
    return found


def _raising(kind: str, globals_: list[Import], index: Mapping[str, int], result: int) -> bytes:
    """A body that raises an exception without a text and returns what says so."""
    for at, each in enumerate(globals_):
        if each.module == "GOT.mem" and each.name == kind:
            address = b"\x23" + binary.encode_unsigned(at) + b"\x28\x02\0"  # global.get, i32.load
            raised = b"\x10" + binary.encode_unsigned(index["PyErr_SetNone"])
            return b"\0" + address + raised + b"\x41" + binary.encode_signed(result) + b"\x0b"
    raise Unreadable(f"its libpython does not import {kind}")


def _reached(roots: Iterable[int], functions: Mapping[int, bytes]) -> set[int]:
    waiting = list(roots)
    reached = set(waiting)
    while waiting:
        body = functions.get(waiting.pop())
        for at in instructions.called(body) if body is not None else ():  # None: an import
            if at not in reached:
                reached.add(at)
                waiting.append(at)
    return reached
