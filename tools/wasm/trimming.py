"""Runs in a component while it is built, around the import of the artifact: a small snapshot.

What only importing needs goes: docstrings, annotations, caches, the modules that data classes are
made with. Line numbers and names stay, so a traceback reads as ever (columns go: where there is no
source, none are shown). What is gone says so when it is used after all. This is the guest's Python,
3.14, and not that of the build.
"""

import functools
import gc
import io
import sys
import types

MARK = b"murmur-native-modules:"
"""Begins the list of built-in modules that the snapshot has imported, for `slim.py` to find."""

_RUNTIME = ("random", "weakref")
"""What componentize-py's runtime imports after the artifact."""

_LEFT_OUT = (
    "_opcode",
    "_opcode_metadata",
    "_sitebuiltins",
    "_tokenize",
    "annotationlib",
    "ast",
    "dis",
    "importlib.machinery",
    "inspect",
    "linecache",
    "opcode",
    "re._casefix",
    "site",
    "token",
    "tokenize",
    "zipimport",
)
"""Modules that importing pulls in and that artifacts, unless they import them, do not call."""
_MAKERS = ("dataclasses", "functools", "importlib", "typing")
"""What uses those to make classes, and may lose them once the classes are made."""

_HAS_DOCSTRING = 0x4000000
_HEAP_TYPE = 1 << 9
_NO_COLUMNS, _NO_LINE = 13, 15
_STDIN_BYTES = 512
"""Enough for a stream that no artifact is given; the usual buffer holds 128 KiB of old memory."""


class Absent(types.ModuleType):
    """Stands where a module was left out."""

    def __getattr__(self, name: str) -> object:
        raise ImportError(
            f"{self.__name__} is not in a component: make classes and read signatures while "
            "modules are imported"
        )


class Unbuilt(types.ModuleType):
    """Stands where `ast` would be: the standard library names its classes and uses none of them."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def before(*, parser: bool) -> None:
    """Before the artifact is imported, with `parser` for one that imports `ast` or compiles text.

    The interpreter cannot forget the classes of syntax trees again, once it made them.
    """
    if parser:
        __import__("ast")
    else:
        sys.modules["ast"] = Unbuilt("ast")
    for name in _RUNTIME:
        __import__(name)


class Recorder:
    """Adds what is still imported to the list."""

    def __init__(self, found: bytearray) -> None:
        self._found = found

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Finds nothing: the importers after it do."""
        if name in sys.builtin_module_names:
            self._found += name.encode() + b";"


def after() -> bytearray:
    """After it: leaves out what can be; the list of native modules, to be kept in the snapshot.

    Raises ImportError for an artifact that imports `ast` without a parser.
    """
    _leave_out()
    native = sorted(name for name in sys.modules if name in sys.builtin_module_names)
    if isinstance(sys.modules.get("ast"), Unbuilt):
        raise ImportError("it imports ast, which only an artifact with `parser = True` has")
    for module in list(sys.modules.values()):
        for name in ("__doc__", "__cached__"):
            if getattr(module, name, None) is not None:
                setattr(module, name, None)
    for thing in gc.get_objects():
        if isinstance(thing, types.FunctionType):
            thing.__doc__ = None
            thing.__annotate__ = None  # type: ignore[attr-defined]
            thing.__code__ = _bare(thing.__code__)
        elif isinstance(thing, functools._lru_cache_wrapper):
            thing.cache_clear()
        elif isinstance(thing, type) and thing.__flags__ & _HEAP_TYPE:
            _forget_docstring(thing)
    if isinstance(sys.stdin, io.TextIOWrapper):
        raw: io.RawIOBase = sys.stdin.detach().detach()
        sys.stdin = io.TextIOWrapper(io.BufferedReader(raw, _STDIN_BYTES))
        sys.__stdin__ = sys.stdin  # type: ignore[misc]
    sys.path_importer_cache.clear()
    gc.collect()
    sys._clear_internal_caches()  # type: ignore[attr-defined]
    found = bytearray(MARK + "".join(f"{name};" for name in native).encode())
    sys.meta_path.insert(0, Recorder(found))
    return found


def _forget_docstring(kind: type) -> None:
    try:
        if isinstance(kind.__dict__.get("__doc__"), str):
            kind.__doc__ = None
    except (AttributeError, TypeError):
        pass  # one of the interpreter's own, which cannot be changed


def _leave_out() -> None:
    """Takes away the modules that nothing but each other and the makers refers to."""
    candidates = {name: sys.modules[name] for name in _LEFT_OUT if name in sys.modules}
    kept = {
        name: module
        for name, module in sys.modules.items()
        if name not in candidates and name not in _MAKERS
    }
    while True:
        used = {id(value) for module in kept.values() for value in vars(module).values()}
        used |= {
            id(sys.modules.get(getattr(value, "__module__", None) or ""))
            for module in kept.values()
            for value in vars(module).values()
            if isinstance(value, (type, types.FunctionType, types.BuiltinFunctionType))
        }
        found = [name for name, module in candidates.items() if id(module) in used]
        if not found:
            break
        for name in found:
            kept[name] = candidates.pop(name)
    gone = {id(module): Absent(name) for name, module in candidates.items()}
    for name in candidates:
        del sys.modules[name]
    for name in _MAKERS:
        names = vars(sys.modules[name]) if name in sys.modules else {}
        for attribute, value in list(names.items()):
            if id(value) in gone:
                names[attribute] = gone[id(value)]


def _bare(code: types.CodeType) -> types.CodeType:
    """The code without docstrings and columns."""
    consts = [_bare(each) if isinstance(each, types.CodeType) else each for each in code.co_consts]
    flags = code.co_flags
    if flags & _HAS_DOCSTRING:
        consts[0] = None
        flags &= ~_HAS_DOCSTRING
    return code.replace(co_consts=tuple(consts), co_flags=flags, co_linetable=_lines_alone(code))


def _lines_alone(code: types.CodeType) -> bytes:
    """The code's table of positions with lines and no columns.

    The format is CPython's InternalDocs/code_objects.md: an entry is for at most eight units of two
    bytes, of kind 13 with the difference to the line before, or of kind 15 without a line.
    """
    table = bytearray()
    before = code.co_firstlineno
    for start, end, line in code.co_lines():
        for at in range(start, end, 16):
            units = (min(end, at + 16) - at) // 2
            table.append(0x80 | (_NO_COLUMNS if line is not None else _NO_LINE) << 3 | units - 1)
            if line is None:
                continue
            difference = (line - before) * 2 if line >= before else (before - line) * 2 + 1
            while difference >= 64:
                table.append(0x40 | difference & 63)
                difference >>= 6
            table.append(difference)
            before = line
    return bytes(table)
