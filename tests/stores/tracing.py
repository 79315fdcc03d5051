"""A child that is stopped at each of its system calls, and killed at one of them.

ptrace through ctypes: exact, where counting calls by name is not, and quick, since the child is a
fork of a process that has imported everything already.
"""

import ctypes
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass

_TRACEME, _SYSCALL, _SETOPTIONS = 0, 24, 0x4200
_TRACESYSGOOD, _EXITKILL = 0x1, 0x100000
_SYSCALL_STOP = signal.SIGTRAP | 0x80

_ptrace = ctypes.CDLL(None, use_errno=True).ptrace
_ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_ptrace.restype = ctypes.c_long


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended. `calls` are the system calls that it entered; `status` None: killed."""

    calls: int
    status: int | None


def _call(request: int, pid: int, data: int = 0) -> None:
    if _ptrace(request, pid, None, data) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), f"ptrace {request}")


def run(work: Callable[[], int], kill_at: int | None = None) -> Ended:
    """Runs `work` in a fork and kills it as it enters its system call number `kill_at`, from 0.

    Half of the calls are entered and half are done, for the kernel ends a call that it is stopped
    before: what had happened until then has, and nothing of this one.
    """
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            _call(_TRACEME, 0)
            os.kill(os.getpid(), signal.SIGSTOP)
            status = work()
        finally:
            os._exit(status)
    os.waitpid(pid, 0)
    _call(_SETOPTIONS, pid, _TRACESYSGOOD | _EXITKILL)
    calls = stops = passing = 0
    while True:
        if kill_at is not None and stops % 2 and calls - 1 == kill_at:
            os.kill(pid, signal.SIGKILL)
        else:
            _call(_SYSCALL, pid, passing)
        _, status = os.waitpid(pid, 0)
        if os.WIFEXITED(status):
            return Ended(calls, os.WEXITSTATUS(status))
        if os.WIFSIGNALED(status):
            return Ended(calls, None)
        stopped_by = os.WSTOPSIG(status)
        passing = 0
        if stopped_by == _SYSCALL_STOP:
            stops += 1
            calls += stops % 2
        else:
            passing = stopped_by
