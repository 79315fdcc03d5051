"""The processes that guests run in, as the runtime holds them: the zygote and its hosts.

design/decisions.md 7; spec/containment.md 8. Everything here is safe to use from several threads.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from murmur.guest.frames import BrokenFrame, Frame, PeerGone, receive_frame, send_frame

START_SECONDS = 30.0
_EXIT_STATUS_SECONDS = 1.0


class GuestsFailed(Exception):
    """No host can be had: the zygote did not start, died, or the host could not be contained."""


class GuestsProcess(Protocol):
    """What a starter returns: the process that `argv` runs in, and the gateway's listener in its
    network.
    """

    @property
    def pid(self) -> int: ...
    @property
    def listener(self) -> socket.socket | None: ...
    @property
    def contained(self) -> bool: ...
    @property
    def reason(self) -> str | None: ...


Starter = Callable[[list[str], socket.socket], GuestsProcess]
"""Runs `argv` with the socket as descriptor 3 and an empty environment."""


def zygote_argv() -> list[str]:
    """The zygote's command line: this interpreter, isolated, seeing only murmur and wasmtime beside
    the library.
    """
    roots: list[str] = []
    for name in ("murmur", "wasmtime"):
        found = importlib.util.find_spec(name)
        if found is None or not found.submodule_search_locations:
            raise GuestsFailed(f"the package {name} is not installed")
        root = str(Path(next(iter(found.submodule_search_locations))).resolve().parent)
        if root not in roots:
            roots.append(root)
    program = f"import sys; sys.path[:0] = {roots!r}; from murmur.guest.zygote import main; main()"
    return [sys.executable, "-I", "-S", "-c", program]


class HostProcess:
    """One host process: not usable before its `up` frame, of no use once `dead`."""

    def __init__(
        self, number: int, connection: socket.socket, pid: int, handle: int | None
    ) -> None:
        self.number = number
        self.connection = connection
        self.pid = pid
        self.handle = handle
        self.up = False
        self.contained = False
        self.dead = False
        self.closed = False

    def kill(self) -> None:
        """Ends the process at once, whatever it does; its number is not trusted once closed."""
        self.dead = True
        if self.closed:
            return
        with contextlib.suppress(ProcessLookupError):
            if self.handle is not None:
                signal.pidfd_send_signal(self.handle, signal.SIGKILL)
            else:
                os.kill(self.pid, signal.SIGKILL)

    def has_ended(self) -> bool:
        """Whether an idle host is gone: nothing comes from one unasked, so any news is its end."""
        poll = select.poll()
        poll.register(self.connection, select.POLLIN)
        return bool(poll.poll(0))

    def close(self) -> None:
        """Closes what this side holds of it."""
        self.closed = True
        self.connection.close()
        if self.handle is not None:
            os.close(self.handle)
            self.handle = None


class ZygoteProcess:
    """The control socket, shared by threads under one lock."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._lock = threading.Lock()
        self._facts: dict[str, Any] | None = None
        self._next = 0
        self._exits: dict[int, int] = {}

    def engine_facts(self) -> dict[str, Any]:
        """What the zygote says of its engine, waiting for it if need be."""
        with self._lock:
            return self._await_ready()

    def fork(self, library: str | None, specs: tuple[int, ...]) -> HostProcess:
        """A new host, not up yet. `GuestsFailed` when the zygote is gone or could not fork."""
        ours, theirs = socket.socketpair()
        try:
            with self._lock, theirs:
                self._await_ready()
                number = self._next
                self._next += 1
                try:
                    descriptors = (theirs.fileno(), *specs)
                    send_frame(
                        self._control, "host", descriptors=descriptors, id=number, library=library
                    )
                except (PeerGone, OSError) as gone:
                    raise GuestsFailed(f"the guests' zygote ended: {gone}") from None
                frame = self._receive(START_SECONDS, ("forked", "failed"), number)
            if frame.kind == "failed":
                raise GuestsFailed(f"no guest host could be started: {frame.facts['reason']}")
            handle = frame.descriptors[0] if frame.descriptors else None
            return HostProcess(number, ours, int(frame.facts["pid"]), handle)
        except BaseException:
            ours.close()
            raise

    def exit_of(self, host: HostProcess) -> str:
        """How a host ended, in words; waits up to a second for the zygote to say."""
        with self._lock:
            try:
                if host.number not in self._exits:
                    self._receive(_EXIT_STATUS_SECONDS, ("exited",), host.number)
            except GuestsFailed:
                return "with its zygote"
            status = self._exits.pop(host.number)
        if status >= 0:
            return f"exit status {status}"
        with contextlib.suppress(ValueError):
            return signal.Signals(-status).name
        return f"signal {-status}"

    def close(self) -> None:
        """Ends the zygote, and with it whatever host is left."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._control.close()

    def _await_ready(self) -> dict[str, Any]:
        if self._facts is None:
            frame = self._receive(START_SECONDS, ("ready",), None)
            self._facts = dict(frame.facts["engine"])
        return self._facts

    def _receive(self, seconds: float, kinds: tuple[str, ...], number: int | None) -> Frame:
        """The next frame of one of these kinds about that host; ends of other hosts are noted on
        the way.
        """
        end = time.monotonic() + seconds
        while True:
            try:
                self._control.settimeout(max(end - time.monotonic(), 0.001))
                frame = receive_frame(self._control)
            except (PeerGone, BrokenFrame, OSError) as gone:
                raise GuestsFailed(f"the guests' zygote does not answer: {gone}") from None
            if frame.kind == "unready":
                raise GuestsFailed(f"the guests' zygote cannot serve: {frame.facts['reason']}")
            if frame.kind == "exited":
                self._exits[int(frame.facts["id"])] = int(frame.facts["status"])
            if frame.kind in kinds and frame.facts.get("id") == number:
                return frame
            frame.close()


def reap(pid: int) -> None:
    """Ends the zygote where it is our child, and collects it.

    It is not waited for: one that is still importing would hold up a refused launch.
    """
    with contextlib.suppress(ChildProcessError, ProcessLookupError):
        if os.waitpid(pid, os.WNOHANG)[0] == 0:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
