"""Holds randomness, clock and file metadata still while a component is built.

The component stores the memory of an interpreter that ran at build time, and whatever that was told
about its surroundings with it. `still.c` says how; here is when: the library must be there before
the process starts, and takes file metadata over only after all libraries are loaded, since the
loader tells them apart by the inodes that it hides.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_PRELOAD = "LD_PRELOAD"


def begin(library: Path) -> None:
    """Starts this program again with `library` preloaded, unless it is already."""
    wanted = str(library.resolve())
    if os.environ.get(_PRELOAD) == wanted:
        return
    # A guest's random numbers come from the generator of the thread that runs it: one thread.
    threads = {"TOKIO_WORKER_THREADS": "1", "RAYON_NUM_THREADS": "1"}
    environment = {**os.environ, **threads, _PRELOAD: wanted}
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)


def hold() -> None:
    """From now on file times, inodes, devices and directory orders are the same everywhere.

    Raises OSError where the kernel does not filter system calls.
    """
    library = ctypes.CDLL(None, use_errno=True)
    if library.still() != 0:
        raise OSError(ctypes.get_errno(), "cannot hold file metadata still")
