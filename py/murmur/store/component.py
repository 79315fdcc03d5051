"""What a component imports and exports, read from its own bytes. spec/artifacts.md 2.4.

Only the import and export sections of the outermost component are decoded; core modules and
nested components are skipped by their size, so nothing is validated or compiled. The binary
format is the Component Model's `Binary.md`.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Final

_PREAMBLE: Final = b"\0asm\x0d\x00\x01\x00"
_IMPORT_SECTION: Final = 10
_EXPORT_SECTION: Final = 11
# Sections of names alone; the largest seen is a few kilobytes.
_SECTION_LIMIT: Final = 4 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class Contracts:
    """The versioned interfaces a component names, each list ascending without repetition."""

    exports: tuple[str, ...]
    imports: tuple[str, ...]


class _Malformed(Exception):
    pass


class _Reader:
    """A cursor over one section; every step past its end is `_Malformed`."""

    def __init__(self, data: bytes, start: int, end: int) -> None:
        self._data = data
        self._at = start
        self._end = end

    @property
    def done(self) -> bool:
        return self._at >= self._end

    def byte(self) -> int:
        if self.done:
            raise _Malformed
        value = self._data[self._at]
        self._at += 1
        return value

    def leb(self, bits: int = 32) -> int:
        """An LEB128 number of at most `bits` bits, taken as unsigned."""
        value = shift = 0
        while shift < bits:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return value
            shift += 7
        raise _Malformed

    def take(self, length: int) -> bytes:
        if length > self._end - self._at:
            raise _Malformed
        piece = self._data[self._at : self._at + length]
        self._at += length
        return piece

    def text(self) -> str:
        try:
            return self.take(self.leb()).decode("utf-8")
        except UnicodeDecodeError:
            raise _Malformed from None


def _extern_name(reader: _Reader) -> str:
    # 0x01 marked an interface name in older encoders; both are read alike by every decoder.
    if reader.byte() not in (0x00, 0x01):
        raise _Malformed
    return reader.text()


def _skip_extern_type(reader: _Reader) -> None:
    kind = reader.byte()
    if kind == 0x00:  # a core module type
        if reader.byte() != 0x11:
            raise _Malformed
        reader.leb()
    elif kind in (0x01, 0x04, 0x05):  # function, component, instance
        reader.leb()
    elif kind == 0x02:  # a value, by index or by type
        if reader.byte() not in (0x00, 0x01):
            raise _Malformed
        reader.leb(35)
    elif kind == 0x03:  # a type bound: equal to an index, or a fresh resource
        bound = reader.byte()
        if bound == 0x00:
            reader.leb()
        elif bound != 0x01:
            raise _Malformed
    else:
        raise _Malformed


def _imports(reader: _Reader) -> list[str]:
    names = []
    for _ in range(reader.leb()):
        names.append(_extern_name(reader))
        _skip_extern_type(reader)
    return names


def _exports(reader: _Reader) -> list[str]:
    names = []
    for _ in range(reader.leb()):
        names.append(_extern_name(reader))
        if reader.byte() == 0x00:  # a core sort says which in a second byte
            reader.byte()
        reader.leb()
        ascribed = reader.byte()
        if ascribed == 0x01:
            _skip_extern_type(reader)
        elif ascribed != 0x00:
            raise _Malformed
    return names


class _Pieces:
    """The bytes of a component as they come; what is skipped is never kept."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._held = b""
        self._at = 0

    def _more(self) -> bool:
        """Whether there is a byte at hand, after fetching the next piece if need be."""
        while self._at >= len(self._held):
            piece = next(self._pieces, None)
            if piece is None:
                return False
            self._held, self._at = piece, 0
        return True

    @property
    def done(self) -> bool:
        return not self._more()

    def take(self, length: int) -> bytes:
        taken = []
        while length > 0:
            if not self._more():
                raise _Malformed
            piece = self._held[self._at : self._at + length]
            taken.append(piece)
            self._at += len(piece)
            length -= len(piece)
        return b"".join(taken)

    def skip(self, length: int) -> None:
        while length > 0:
            if not self._more():
                raise _Malformed
            step = min(length, len(self._held) - self._at)
            self._at += step
            length -= step

    def leb(self) -> int:
        value = shift = 0
        while shift < 32:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return value
            shift += 7
        raise _Malformed


def read_contracts(component: bytes | Iterable[bytes]) -> Contracts | None:
    """The interfaces named by a component; None for a core module or unreadable bytes.

    Raises what giving the bytes raises; all of them are asked for, so that a stream which checks
    itself at its end has done so.
    """
    pieces = _Pieces(iter([component] if isinstance(component, bytes) else component))
    imports: list[str] = []
    exports: list[str] = []
    try:
        if pieces.take(len(_PREAMBLE)) != _PREAMBLE:
            return None
        while not pieces.done:
            section = pieces.take(1)[0]
            size = pieces.leb()
            if section not in (_IMPORT_SECTION, _EXPORT_SECTION):
                pieces.skip(size)
                continue
            if size > _SECTION_LIMIT:
                return None
            body = _Reader(pieces.take(size), 0, size)
            if section == _IMPORT_SECTION:
                imports += _imports(body)
            else:
                exports += _exports(body)
            if not body.done:
                return None
    except _Malformed:
        return None
    return Contracts(_interfaces(exports), _interfaces(imports))


def _interfaces(names: list[str]) -> tuple[str, ...]:
    """Interface names hold a `/`; bare functions and types do not."""
    return tuple(sorted({name for name in names if "/" in name}))
