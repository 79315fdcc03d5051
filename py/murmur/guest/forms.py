"""Compiled forms of components: made in a host that instantiates nothing, opened in one that calls.

spec/registry.md 16; design/decisions.md 7.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import mmap
import os
import sys
from typing import Any

from wasmtime import Engine, WasmtimeError
from wasmtime import _ffi as ffi
from wasmtime.component import Component

from murmur.guest.engine import new_engine


class LoadError(Exception):
    """A compiled form that cannot be used, or a component that does not fit what is served here."""


def deserialize(engine: Engine, descriptor: int) -> Component:
    """Opens a compiled form. It is native code: the runtime hands over only what a compiling host
    wrote.

    Mapped from the file where that is allowed (4 ms for a Python guest), else copied (30 ms): a
    home may lie on a file system without execution, and a contained host may not be able to open
    the file again. `LoadError` when the engine refuses the form.
    """
    with contextlib.suppress(WasmtimeError):
        return Component.deserialize_file(engine, descriptor_path(descriptor))
    size = os.fstat(descriptor).st_size
    if size == 0:
        raise LoadError("its compiled form is empty")
    with mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY) as mapped:
        view = (ctypes.c_uint8 * size).from_buffer(mapped)
        loaded = ctypes.POINTER(ffi.wasmtime_component_t)()
        error = ffi.wasmtime_component_deserialize(engine.ptr(), view, size, ctypes.byref(loaded))
        del view
        if error:
            raise LoadError(f"its compiled form is not usable: {WasmtimeError._from_ptr(error)}")
    return Component._from_ptr(loaded)


def descriptor_path(descriptor: int) -> str:
    """A path that opens what a descriptor is open on, without walking to it again where the system
    allows.
    """
    if sys.platform == "darwin":
        import fcntl

        name: bytes = fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024))
        return os.fsdecode(name.rstrip(b"\0"))
    return f"/proc/self/fd/{descriptor}"


def compile_component(component: int, target: int) -> dict[str, Any]:
    """Compiles what `component` holds and writes the form to `target`; instantiates nothing.

    The facts of the answer: `sha256` and `size` of the form, or `error`.
    """
    with open(component, "rb", closefd=False) as source:
        wasm = source.read()
    try:
        form = Component(new_engine(parallel=True), wasm).serialize()
    except WasmtimeError as error:
        return {"error": str(error)}
    view = memoryview(form)
    while view:
        view = view[os.write(target, view) :]
    return {"sha256": hashlib.sha256(form).hexdigest(), "size": len(form)}
