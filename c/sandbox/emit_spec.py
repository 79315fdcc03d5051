"""Turns the preprocessed launch spec header into an out-of-line cffi module (ABI mode).

    cc -E -P -DMUR_SPEC_CDEF spec.h | python emit_spec.py MODULE OUTPUT

The module holds the structures' layout as cffi computed it, so importing it parses no C
(design/decisions.md: 3 ms instead of 60). A test compares sizes and offsets with the compiler's.
"""

import sys
from pathlib import Path

from cffi import FFI


def emit(declarations: str, module: str, output: Path) -> None:
    """Writes the cffi module `module` for the C `declarations` to `output`."""
    ffi = FFI()
    ffi.set_source(module, None)
    ffi.cdef(declarations)
    ffi.emit_python_code(str(output))


if __name__ == "__main__":
    emit(sys.stdin.read(), sys.argv[1], Path(sys.argv[2]))
