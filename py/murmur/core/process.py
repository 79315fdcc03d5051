"""What a process says about itself to the kernel. spec/containment.md 9.1."""

import sys
from typing import Final

_PR_SET_DUMPABLE: Final = 4


def forbid_reading() -> None:
    """Makes this process's memory and /proc entries root's alone, and its core never dumped.

    Keys live in the runtime's memory; another process of the same user could attach to it and read
    them. Programs that it starts are readable again. Does nothing where the kernel is another.
    """
    if sys.platform != "linux":
        return
    # Late: a command that holds no secret pays for no ctypes.
    import ctypes

    none = ctypes.c_ulong(0)
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, none, none, none, none)
