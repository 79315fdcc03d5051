"""The zygote: imports the engine once, stays single-threaded, and forks a host whenever the runtime
asks.

It runs in a process of its own with an empty environment, inside namespaces of the guests' own;
descriptor 3 is the control socket (design/decisions.md 7; spec/containment.md 8). Control frames:
`ready` (engine facts) once; for each `host` request either `forked` (pid, and a pidfd where the
kernel has them) or `failed`; `exited` when a host ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import itertools
import os
import select
import signal
import socket
import sys
import traceback

from murmur.guest import lockdown
from murmur.guest.frames import Frame, PeerGone, receive_frame, send_frame

CONTROL = 3
_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Serves the control socket until the runtime closes it; hosts die with this process."""
    connection = socket.socket(fileno=CONTROL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        zygote = Zygote(connection)
    except PeerGone:
        os._exit(0)  # the launch was refused meanwhile, and says why itself
    except Exception as error:
        with contextlib.suppress(PeerGone):
            send_frame(connection, "unready", reason=f"{type(error).__name__}: {error}")
        raise
    with contextlib.suppress(PeerGone):
        zygote.serve()
    os._exit(0)


class Zygote:
    """Everything that a forked host finds ready: engine, linkers, gate."""

    def __init__(self, connection: socket.socket) -> None:
        from murmur.guest import bytes_lists, host
        from murmur.guest.engine import engine_facts, new_engine
        from murmur.guest.gate import Gate
        from murmur.guest.linking import Bridge, Linkers
        from murmur.guest.memory import MemoryAccount

        bytes_lists.install()
        self._host = host
        self._connection = connection
        self._account = MemoryAccount()
        self._engine = new_engine(self._account)
        self._bridge = Bridge()
        self._linkers = Linkers(self._engine, self._bridge)
        self._linkers.of("tool")  # drivers take the same, and every session has one
        self._libraries: dict[str, ctypes.CDLL] = {}
        self._children: dict[int, int] = {}
        self._libc = ctypes.CDLL(None) if sys.platform == "linux" else None
        send_frame(connection, "ready", engine=engine_facts(self._engine))
        self._gate = Gate(self._engine)
        gc.collect()
        gc.freeze()

    def serve(self) -> None:
        """Handles requests and children's ends; `PeerGone` when the control socket ends."""
        read_end, write_end = os.pipe()
        os.set_blocking(write_end, False)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        self._pipe = (read_end, write_end)
        poll = select.poll()
        poll.register(self._connection, select.POLLIN)
        poll.register(read_end, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if read_end in ready:
                os.read(read_end, 4096)
                self._reap()
            if self._connection.fileno() in ready:
                self._fork(receive_frame(self._connection))

    def _reap(self) -> None:
        for pid in list(self._children):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                number = self._children.pop(pid)
                send_frame(
                    self._connection, "exited", id=number, status=os.waitstatus_to_exitcode(status)
                )

    def _fork(self, frame: Frame) -> None:
        number = frame.facts["id"]
        try:
            threads = lockdown.thread_count()
            if threads != 1:
                raise OSError(f"the zygote has {threads} threads")
            path = frame.facts["library"]
            if path is not None and path not in self._libraries:
                self._libraries[path] = lockdown.load_library(path)
            parent = os.getpid()
            pid = os.fork()
        except OSError as error:
            frame.close()
            send_frame(self._connection, "failed", id=number, reason=str(error))
            return
        if pid == 0:
            self._become_host(frame.descriptors, self._libraries.get(path), parent)
        self._children[pid] = number
        frame.close()
        handle = _pidfd(pid)
        send_frame(self._connection, "forked", descriptors=handle, id=number, pid=pid)
        for descriptor in handle:
            os.close(descriptor)

    def _become_host(
        self, descriptors: tuple[int, ...], library: ctypes.CDLL | None, parent: int
    ) -> None:
        """Never returns. Any failure before serving is told to the runtime as `unready`."""
        status = 1
        try:
            if self._libc is not None:
                self._libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
            if os.getppid() != parent:
                os._exit(1)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            kept = {0, 1, 2, *descriptors}
            _close_others(kept)
            connection = socket.socket(fileno=descriptors[0])
            try:
                if library is not None:
                    lockdown.apply(library, descriptors[1])
            except lockdown.LockdownFailed as error:
                send_frame(connection, "unready", reason=str(error))
                os._exit(1)
            for descriptor in descriptors[1:]:
                os.close(descriptor)
            send_frame(connection, "up", contained=library is not None)
            tools = (self._engine, self._account, self._linkers, self._gate, self._bridge)
            self._host.Host(connection, *tools).serve()
            status = 0
        except PeerGone:
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stderr.flush()
            os._exit(status)


def _pidfd(pid: int) -> tuple[int, ...]:
    if hasattr(os, "pidfd_open"):
        with contextlib.suppress(OSError):
            return (os.pidfd_open(pid),)
    return ()


def _close_others(kept: set[int]) -> None:
    """Closes every descriptor but these. An empty range is never asked for: CPython passes it on as
    all of them.
    """
    highest = min(os.sysconf("SC_OPEN_MAX"), 1 << 20)
    edges = [-1, *sorted(kept), highest]
    for below, above in itertools.pairwise(edges):
        if below + 1 < above:
            os.closerange(below + 1, above)
