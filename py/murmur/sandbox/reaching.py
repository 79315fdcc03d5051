"""Connecting to a port inside a session's network, from outside it.

A thread cannot enter a user namespace beside others, so a short-lived process enters the session's
namespaces, connects, and hands the connected socket back. spec/artifacts.md 3, `connect`.
"""

import os
import socket
import subprocess
import sys
from typing import Final

_ENTER: Final = """
import ctypes, os, socket, sys
pidfd, channel, port, seconds = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
libc = ctypes.CDLL(None, use_errno=True)
with socket.socket(fileno=channel) as told:
    try:
        if libc.setns(pidfd, 0x10000000 | 0x40000000):  # CLONE_NEWUSER, CLONE_NEWNET
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        wire = socket.create_connection(("127.0.0.1", port), float(seconds))
        socket.send_fds(told, [b"+"], [wire.fileno()])
    except OSError as failure:
        told.sendall(str(failure.strerror or failure).encode())
"""


def connect_inside(pidfd: int, port: int, seconds: float) -> socket.socket:
    """A connection to `127.0.0.1:port` in the namespaces of the process behind `pidfd`.

    Raises OSError with what the connecting process met.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs:
        argv = [sys.executable, "-I", "-S", "-c", _ENTER]
        kept = (pidfd, theirs.fileno())
        process = subprocess.Popen(
            [*argv, str(pidfd), str(theirs.fileno()), str(port), str(seconds)],
            pass_fds=kept,
            env={},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        theirs.close()
        try:
            ours.settimeout(seconds + 5)
            said, descriptors, _, _ = socket.recv_fds(ours, 4096, 1, socket.MSG_CMSG_CLOEXEC)
        finally:
            process.kill()
            process.wait()
    if not descriptors:
        raise OSError(said.decode("utf-8", "replace") or "the session's network cannot be entered")
    os.set_inheritable(descriptors[0], False)
    return socket.socket(fileno=descriptors[0])
