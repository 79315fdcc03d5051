"""Ending what the programs of a session left running, while the session goes on.

Only the kernel can end all processes of a namespace at once, and only for one that is in it: any
list of them is out of date while they fork. So a short-lived process enters the session's
namespaces and signals everybody there. Its parent lies outside, which it sees as parent 0; in any
other case it signals nobody. spec/artifacts.md 13.2; spec/containment.md 19.
"""

import subprocess
import sys
from typing import Final

_KILL: Final = """
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.setns(int(sys.argv[1]), 0x10000000 | 0x20000000):  # CLONE_NEWUSER, CLONE_NEWPID
    sys.exit(os.strerror(ctypes.get_errno()))
child = os.fork()
if child:
    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
if os.getppid() != 0:
    sys.exit("the session's processes cannot be told from others")
try:
    os.kill(-1, signal.SIGKILL)
except ProcessLookupError:
    pass  # nobody was left
"""
_SECONDS: Final = 10.0
_REASON_CHARS: Final = 200


def kill_leftovers(pidfd: int) -> None:
    """Kills every process of the namespaces of `pidfd`, which is their pid 1, but that one.

    Raises OSError with what kept it from being done.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _KILL, str(pidfd)],
            pass_fds=(pidfd,),
            env={},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise OSError(f"it took longer than {_SECONDS:g} s") from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip()[-_REASON_CHARS:]
        raise OSError(said or f"it ended with {done.returncode}")
