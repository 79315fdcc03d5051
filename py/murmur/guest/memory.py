"""Linear memories of guests, allocated here so that a refused growth is known and not only refused.

The engine's own limiter answers a growth past its limit with -1 and tells nobody; the reference
wants the first denial recorded, with the wanted size (spec/sessions.md 25). So the engine asks a
memory creator of ours, and the limit is the sum over the memories of one call's store. The price is
that a memory's initial contents are copied instead of mapped copy-on-write: huge pages keep that at
about 3 ms for a Python guest.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from wasmtime import Config
from wasmtime import _ffi as ffi

from murmur.guest.failures import Denial

_HUGE_PAGE = 2 * 1024 * 1024
_NO_ACCESS = 0
_READ_WRITE = mmap.PROT_READ | mmap.PROT_WRITE
_NO_RESERVE = 0x4000 if sys.platform == "linux" else 0x40
_FLAGS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
_FAILED = ctypes.c_void_p(-1).value

_LINEAR: dict[str, Any] = dict(ffi.wasmtime_linear_memory_t._fields_)  # type: ignore[arg-type]
_CREATOR: dict[str, Any] = dict(ffi.wasmtime_memory_creator_t._fields_)  # type: ignore[arg-type]


@dataclass(slots=True)
class _Memory:
    mapping: int
    mapping_size: int
    base: int
    size: int
    capacity: int
    charged: bool


class MemoryAccount:
    """The memory of the call that is running: what it may have, what it has, the first growth
    refused.
    """

    def __init__(self) -> None:
        self.limit = 0
        self.used = 0
        self.denial: Denial | None = None
        self._charging = True
        self._memories: dict[int, _Memory] = {}
        self._numbers = itertools.count(1)
        self._libc = _libc()
        self._get = _LINEAR["get_memory"](self._get_memory)
        self._grow = _LINEAR["grow_memory"](self._grow_memory)
        self._finish = _LINEAR["finalizer"](self._free)
        self._new = _CREATOR["new_memory"](self._new_memory)
        self._end = _CREATOR["finalizer"](lambda env: None)

    def start(self, limit: int) -> None:
        """Begins a call whose guest may have `limit` bytes."""
        self.limit = limit
        self.used = 0
        self.denial = None

    @contextmanager
    def uncharged(self) -> Iterator[None]:
        """Memories created within belong to the runtime's own gate, not to the guest."""
        self._charging = False
        try:
            yield
        finally:
            self._charging = True

    def install(self, config: Config) -> None:
        """Makes engines of `config` allocate through this account, which must outlive them."""
        creator: Any = ffi.wasmtime_memory_creator_t()
        creator.env = 0
        creator.new_memory = self._new
        creator.finalizer = self._end
        ffi.wasmtime_config_host_memory_creator_set(config.ptr(), ctypes.byref(creator))

    def _new_memory(
        self, env: int, kind: Any, minimum: int, maximum: int, reserved: int, guard: int, made: Any
    ) -> int:
        try:
            if self._charging and not self._admits(minimum):
                return _error("the memory limit does not admit the initial size")
            capacity = max(reserved, minimum)
            mapping_size = capacity + guard + _HUGE_PAGE
            mapping = self._libc.mmap(None, mapping_size, _NO_ACCESS, _FLAGS, -1, 0)
            if mapping == _FAILED:
                return _error(f"no address space for a memory of {capacity} bytes")
            base = -(-mapping // _HUGE_PAGE) * _HUGE_PAGE
            memory = _Memory(mapping, mapping_size, base, 0, capacity, self._charging)
            if not self._open_up_to(memory, minimum):
                self._libc.munmap(mapping, mapping_size)
                return _error(f"no memory for {minimum} bytes")
            number = next(self._numbers)
            self._memories[number] = memory
            result = made[0]
            result.env = number
            result.get_memory = self._get
            result.grow_memory = self._grow
            result.finalizer = self._finish
            return 0
        except (
            Exception
        ) as error:  # an exception must not cross into the engine, where 0 means success
            return _error(repr(error))

    def _get_memory(self, env: int, size: Any, capacity: Any) -> int:
        memory = self._memories[env]
        size[0] = memory.size
        capacity[0] = memory.capacity
        return memory.base

    def _grow_memory(self, env: int, wanted: int) -> int:
        try:
            memory = self._memories[env]
            if memory.charged and not self._admits(wanted - memory.size):
                return _error("the memory limit does not admit the growth")
            if wanted > memory.capacity or not self._open_up_to(memory, wanted):
                return _error(f"no memory for {wanted} bytes")
            return 0
        except Exception as error:
            return _error(repr(error))

    def _free(self, env: int) -> None:
        memory = self._memories.pop(env, None)
        if memory is not None:
            self._libc.munmap(memory.mapping, memory.mapping_size)

    def _admits(self, more: int) -> bool:
        if self.used + more <= self.limit:
            return True
        if self.denial is None:
            self.denial = Denial("memory_bytes", self.used + more, self.limit)
        return False

    def _open_up_to(self, memory: _Memory, size: int) -> bool:
        if size > memory.size:
            if self._libc.mprotect(memory.base, size, _READ_WRITE) != 0:
                return False
            if sys.platform == "linux":
                whole = -(-size // _HUGE_PAGE) * _HUGE_PAGE
                self._libc.madvise(memory.base, whole, mmap.MADV_HUGEPAGE)
        if memory.charged:
            self.used += size - memory.size
        memory.size = size
        return True


def _error(message: str) -> int:
    pointer = ffi.wasmtime_error_new(message.encode())
    return ctypes.cast(pointer, ctypes.c_void_p).value or 0


def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_long,
    ]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return libc
