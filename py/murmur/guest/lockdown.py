"""Locking a guest host down: one thread, then the helper's code from a shared library.

The library is the sandbox's (`libmur-lockdown.so`, design/decisions.md 7); the runtime names it and
hands over a descriptor with the launch spec. Without one the host runs uncontained and says so.
"""

from __future__ import annotations

import ctypes
import os
from typing import Protocol

_ERROR_BYTES = 1024


class LockdownFailed(Exception):
    """The host could not be contained as its launch spec says; it must not open a component."""


class Lockdown(Protocol):
    """What the runtime's sandbox gives for hosts: the library, and a launch spec for each host."""

    @property
    def library(self) -> str:
        """Path of `libmur-lockdown.so`."""

    def open_spec(self, host: str) -> int:
        """A new descriptor of the launch spec for `host` (`tools`, `drivers`, `compile`); the
        caller closes it.
        """


def thread_count() -> int:
    """How many threads the kernel sees in this process; 1 where the system cannot say."""
    try:
        return len(os.listdir("/proc/self/task"))
    except FileNotFoundError:
        return 1


def load_library(path: str) -> ctypes.CDLL:
    """Loads the library before the fork, while files can still be opened. `OSError` when it cannot
    be loaded.
    """
    library = ctypes.CDLL(path)
    library.mur_lockdown.restype = ctypes.c_int
    library.mur_lockdown.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t]
    return library


def apply(library: ctypes.CDLL, spec: int) -> None:
    """Contains this process for good. `LockdownFailed` with the library's own words."""
    if (threads := thread_count()) != 1:
        raise LockdownFailed(f"the guest host has {threads} threads before its lockdown")
    reason = ctypes.create_string_buffer(_ERROR_BYTES)
    if library.mur_lockdown(spec, reason, _ERROR_BYTES) != 0:
        raise LockdownFailed(reason.value.decode("utf-8", "replace") or "no reason given")
