"""Sockets inside a session's network, made from outside it.

A thread cannot enter a user namespace beside others, so a short-lived process enters the session's
namespaces, connects or listens, and hands the socket back. spec/artifacts.md 3, `connect`, and
13.5, where the harness's own network has the bridge to the capsule's tools.
"""

import os
import socket
import subprocess
import sys
from typing import Final

_ENTER: Final = """
import ctypes, os, socket, sys
pidfd, channel = int(sys.argv[1]), int(sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
with socket.socket(fileno=channel) as told:
    try:
        if libc.setns(pidfd, 0x10000000 | 0x40000000):  # CLONE_NEWUSER, CLONE_NEWNET
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        {make}
        socket.send_fds(told, [b"+"], [wire.fileno()])
    except OSError as failure:
        told.sendall(str(failure.strerror or failure).encode())
"""
_CONNECT: Final = (
    'wire = socket.create_connection(("127.0.0.1", int(sys.argv[3])), float(sys.argv[4]))'
)
_LISTEN: Final = 'wire = socket.create_server(("127.0.0.1", 0))'
_START_S: Final = 5.0


def connect_inside(pidfd: int, port: int, seconds: float) -> socket.socket:
    """A connection to `127.0.0.1:port` in the namespaces of the process behind `pidfd`.

    Raises OSError with what the connecting process met.
    """
    return _from_inside(pidfd, _CONNECT, [str(port), str(seconds)], seconds + _START_S)


def listen_inside(pidfd: int) -> socket.socket:
    """A listener on a free port of 127.0.0.1 in the namespaces of the process behind `pidfd`.

    Raises OSError with what the process met that made it.
    """
    return _from_inside(pidfd, _LISTEN, [], _START_S)


def _from_inside(pidfd: int, make: str, arguments: list[str], seconds: float) -> socket.socket:
    """The socket that `make` makes there."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        argv = [sys.executable, "-I", "-S", "-c", _ENTER.replace("{make}", make)]
        process = subprocess.Popen(
            [*argv, str(pidfd), str(theirs.fileno()), *arguments],
            pass_fds=(pidfd, theirs.fileno()),
            env={},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        theirs.close()
        try:
            ours.settimeout(seconds)
            said, descriptors, _, _ = socket.recv_fds(ours, 4096, 1, socket.MSG_CMSG_CLOEXEC)
        finally:
            process.kill()
            process.wait()
    if not descriptors:
        raise OSError(said.decode("utf-8", "replace") or "the session's network cannot be entered")
    os.set_inheritable(descriptors[0], False)
    return socket.socket(fileno=descriptors[0])
