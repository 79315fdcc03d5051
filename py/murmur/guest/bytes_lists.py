"""`list<u8>` in bulk: wasmtime's Python binding converts byte lists one element at a time, about 1
s a MB.

A list value is an array of fixed-size tagged unions, so a byte list is a strided copy of one
column. `install` replaces the two conversions of `ListType`; lists of anything else still take the
library's own way.
"""

from __future__ import annotations

import ctypes
from typing import Any

from wasmtime import _ffi as ffi
from wasmtime.component import ListType

_SIZE = ctypes.sizeof(ffi.wasmtime_component_val_t)
_KIND = ffi.wasmtime_component_val_t.kind.offset
_BYTE = ffi.wasmtime_component_val_t.of.offset
_U8 = bytes([ffi.WASMTIME_COMPONENT_U8.value])
_CHUNK = 1 << 16

_one_by_one_to_c = ListType.convert_to_c
_one_by_one_from_c = ListType.convert_from_c


def install() -> None:
    """Makes every later conversion of a byte list use the bulk way. Calling it again changes
    nothing.
    """
    ListType.convert_to_c = _to_c  # type: ignore[method-assign]
    ListType.convert_from_c = _from_c  # type: ignore[method-assign]


def _to_c(self: ListType, store: Any, val: Any, ptr: Any) -> None:
    if not self._is_bytes():
        _one_by_one_to_c(self, store, val, ptr)
        return
    if not isinstance(val, bytes):
        raise TypeError("expected bytes value")
    values = ffi.wasmtime_component_vallist_t()
    ffi.wasmtime_component_vallist_new_uninit(values, len(val))
    if val:
        target = ctypes.addressof(values.data.contents)
        rows = bytearray(_SIZE * min(len(val), _CHUNK))
        rows[_KIND::_SIZE] = _U8 * (len(rows) // _SIZE)
        column = (ctypes.c_char * len(rows)).from_buffer(rows)
        for start in range(0, len(val), _CHUNK):
            part = val[start : start + _CHUNK]
            rows[_BYTE : _SIZE * len(part) : _SIZE] = part
            ctypes.memmove(target + start * _SIZE, column, _SIZE * len(part))
    ptr.contents.kind = ffi.WASMTIME_COMPONENT_LIST
    ptr.contents.of.list = values


def _from_c(self: ListType, c: Any) -> Any:
    if not self._is_bytes():
        return _one_by_one_from_c(self, c)
    if c.kind != ffi.WASMTIME_COMPONENT_LIST.value:
        raise TypeError("expected a list value")
    values = c.of.list
    try:
        if not values.size:
            return b""
        address = ctypes.addressof(values.data.contents)
        rows = memoryview((ctypes.c_char * (values.size * _SIZE)).from_address(address)).cast("B")
        if rows[_KIND::_SIZE].tobytes() != _U8 * values.size:
            raise TypeError("a byte list holds something else")
        return rows[_BYTE::_SIZE].tobytes()
    finally:
        ffi.wasmtime_component_vallist_delete(ctypes.byref(values))
