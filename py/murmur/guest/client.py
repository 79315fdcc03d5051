"""The runtime's side: starts the zygote, asks it for hosts, calls guests, and ends what runs too
long.

No wasmtime here (design/decisions.md 7). Every function may be called from any thread: calls of one
host queue up behind each other, calls of different hosts do not. The wall-clock limit is kept here,
by killing the host, because the engine's own epoch deadline stops a spinning guest only
(spec/sessions.md 25).
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import select
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from murmur.guest import failures
from murmur.guest.calls import GuestCall, GuestFailure, GuestResult, call_facts, result_from_facts
from murmur.guest.frames import BrokenFrame, Frame, PeerGone, receive_frame, send_frame
from murmur.guest.lockdown import Lockdown

START_SECONDS = 30.0
COMPILE_SECONDS = 600.0
GRACE_SECONDS = 0.25
"""How long past its limit a call may go on: time for the epoch deadline to end it, which tells
where it was.
"""

_CANCEL_POLL_SECONDS = 0.05
_EXIT_STATUS_SECONDS = 1.0

OnEvent = Callable[[str, dict[str, Any]], None]
"""Receives `murmur:stream/events` calls by name (`emit-chunk`, ...) and `request-denied`, in the
calling thread.
"""

Ask = Callable[[str], str]
"""Answers `request-input`; raising `InputRefused` traps the guest with its text."""


class InputRefused(Exception):
    """Nobody can answer a `request-input` (no task, or the wait ran out)."""


class GuestsFailed(Exception):
    """No host can be had: the zygote did not start, died, or the host could not be contained."""


class CompileFailed(Exception):
    """The component cannot be compiled; the text is the engine's reason."""


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


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled form, written: its own sha256 (hex) and size in bytes."""

    sha256: str
    size: int


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


class _Host:
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

    def kill(self) -> None:
        """Ends the process at once, whatever it does."""
        self.dead = True
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
        self.connection.close()
        if self.handle is not None:
            os.close(self.handle)
            self.handle = None


class Guests:
    """A session's guests. `start` returns at once; the first use waits for the zygote."""

    def __init__(
        self, process: GuestsProcess, control: socket.socket, lockdown: Lockdown | None
    ) -> None:
        self.process = process
        self._lockdown = lockdown
        self._zygote = _Zygote(control)
        self._hosts: dict[str, _Host] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    @classmethod
    def start(cls, starter: Starter, lockdown: Lockdown | None = None) -> Guests:
        """Starts the zygote through `starter` (the sandbox's `start_zygote`, partly applied)."""
        ours, theirs = socket.socketpair()
        try:
            process = starter(zygote_argv(), theirs)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return cls(process, ours, lockdown)

    def engine_key(self, *build: str) -> str:
        """16 hex digits for the second half of a compiled form's name: the engine, and whatever
        `build` adds.
        """
        text = json.dumps([self._zygote.engine_facts(), *build], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def contained(self) -> bool:
        """Whether the guests have namespaces of their own and hosts are locked down before they
        open a component.
        """
        return self.process.contained and self._lockdown is not None

    def warm(self, host: str) -> None:
        """Starts a host (`tools`, `drivers`) ahead of its first call; raises `GuestsFailed`."""
        with self._lock_of(host):
            self._host(host)

    def compile(self, component: Path | bytes, target: int) -> Compiled:
        """Compiles a component in a throw-away host, which writes the form to the descriptor
        `target`.

        Raises `CompileFailed` when the component does not compile, `GuestsFailed` when no host can
        be had and `OSError` when the component cannot be read.
        """
        with _component_descriptor(component) as source:
            host = self._start("compile")
            try:
                _await_up(host)
                send_frame(host.connection, "compile", descriptors=(source, target))
                frame = _await_frame(host, time.monotonic() + COMPILE_SECONDS, None)
            except (PeerGone, BrokenFrame):
                raise CompileFailed(
                    f"the compiling host ended ({self._zygote.exit_of(host)})"
                ) from None
            finally:
                host.kill()
                host.close()
        if frame is None:
            raise CompileFailed(f"compiling took more than {COMPILE_SECONDS:g} s")
        frame.close()
        if "error" in frame.facts:
            raise CompileFailed(str(frame.facts["error"]))
        return Compiled(str(frame.facts["sha256"]), int(frame.facts["size"]))

    def call(
        self,
        call: GuestCall,
        *,
        on_event: OnEvent | None = None,
        ask: Ask | None = None,
        cancel: threading.Event | None = None,
    ) -> GuestResult:
        """Calls a guest and waits for it; whatever the guest does, this returns.

        A set `cancel` ends the call within a twentieth of a second, by killing its host.
        `GuestsFailed` when no host can be had, `OSError` when the compiled form cannot be opened.
        """
        with self._lock_of(call.host):
            host = self._host(call.host)
            try:
                with _opened(call.compiled) as compiled:
                    directories = tuple(item.descriptor for item in call.preopens)
                    send_frame(
                        host.connection,
                        "call",
                        descriptors=(compiled, *directories),
                        **call_facts(call),
                    )
                return _await_result(host, call, on_event, ask, cancel)
            except PeerGone:
                how = self._zygote.exit_of(host)
                host.kill()
                return failures.crash_failure(call, how)
            except BrokenFrame as broken:
                host.kill()
                return failures.crash_failure(call, f"it sent a malformed frame: {broken}")
            except BaseException:
                host.kill()
                raise
            finally:
                if host.dead:
                    self._replace(call.host)

    def close(self) -> None:
        """Ends every host and the zygote. Calls under way return a failure; calling again does
        nothing.
        """
        for host in list(self._hosts.values()):
            host.kill()
        self._zygote.close()
        _reap(self.process.pid)

    def _lock_of(self, name: str) -> threading.Lock:
        with self._guard:
            return self._locks.setdefault(name, threading.Lock())

    def _host(self, name: str) -> _Host:
        """The live host of that name; the caller holds its lock."""
        host = self._hosts.get(name)
        if host is not None and host.up and host.has_ended():
            self._forget(name)
            host = None
        if host is None:
            host = self._hosts[name] = self._start(name)
        if not host.up:
            try:
                _await_up(host)
            except GuestsFailed:
                self._forget(name)
                raise
            except (PeerGone, BrokenFrame):
                how = self._zygote.exit_of(host)
                self._forget(name)
                raise GuestsFailed(f"the {name} host ended at once ({how})") from None
        return host

    def _forget(self, name: str) -> None:
        host = self._hosts.pop(name)
        host.kill()
        host.close()

    def _replace(self, name: str) -> None:
        """Starts the successor of a dead host without waiting for it, so that the next call finds
        it up.
        """
        self._forget(name)
        with contextlib.suppress(GuestsFailed):
            self._hosts[name] = self._start(name)

    def _start(self, name: str) -> _Host:
        if self._lockdown is None:
            return self._zygote.fork(None, ())
        spec = self._lockdown.open_spec(name)
        try:
            return self._zygote.fork(self._lockdown.library, (spec,))
        finally:
            os.close(spec)


class _Zygote:
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

    def fork(self, library: str | None, specs: tuple[int, ...]) -> _Host:
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
            return _Host(number, ours, int(frame.facts["pid"]), handle)
        except BaseException:
            ours.close()
            raise

    def exit_of(self, host: _Host) -> str:
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
            self._facts = dict(self._receive(START_SECONDS, ("ready",), None).facts["engine"])
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
            if frame.kind == "exited":
                self._exits[int(frame.facts["id"])] = int(frame.facts["status"])
            if frame.kind in kinds and frame.facts.get("id") == number:
                return frame
            frame.close()


def _await_up(host: _Host) -> None:
    frame = _await_frame(host, time.monotonic() + START_SECONDS, None)
    if frame is None:
        raise GuestsFailed(f"a guest host was not up within {START_SECONDS:g} s")
    frame.close()
    if frame.kind != "up":
        raise GuestsFailed(f"a guest host could not be contained: {frame.facts.get('reason')}")
    host.up = True
    host.contained = bool(frame.facts["contained"])


def _await_result(
    host: _Host,
    call: GuestCall,
    on_event: OnEvent | None,
    ask: Ask | None,
    cancel: threading.Event | None,
) -> GuestResult:
    """Serves the host's frames until the result; kills the host when time is up (sessions.md 25).

    The limit starts again when the call itself starts, and the wait for an answer of the user is
    not charged.
    """
    allowance = call.limits.deadline_seconds + GRACE_SECONDS
    end = time.monotonic() + allowance
    while True:
        frame = _await_frame(host, end, cancel)
        if frame is None:
            host.kill()
            if cancel is not None and cancel.is_set():
                return GuestFailure("cancelled", f"{call.subject} was cancelled")
            return failures.deadline_failure(call)
        frame.close()
        try:
            if frame.kind == "result":
                return result_from_facts(frame.facts)
            if frame.kind == "calling":
                end = time.monotonic() + allowance
            elif frame.kind == "event":
                name, facts = str(frame.facts["name"]), dict(frame.facts["facts"])
            elif frame.kind == "ask":
                prompt = str(frame.facts["prompt"])
            else:
                raise BrokenFrame(f"kind {frame.kind!r}")
        except (KeyError, TypeError, ValueError) as wrong:
            raise BrokenFrame(f"a {frame.kind} frame without its members: {wrong}") from None
        if frame.kind == "event" and on_event is not None:
            on_event(name, facts)
        elif frame.kind == "ask":
            asked = time.monotonic()
            send_frame(host.connection, "answer", **_answer(ask, prompt))
            end += time.monotonic() - asked


def _answer(ask: Ask | None, prompt: str) -> dict[str, Any]:
    if ask is None:
        return {"error": "request-input is served within a task only"}
    try:
        return {"text": ask(prompt)}
    except InputRefused as refused:
        return {"error": str(refused)}


def _await_frame(host: _Host, end: float, cancel: threading.Event | None) -> Frame | None:
    """The next frame, or None when `end` passes or `cancel` is set first."""
    poll = select.poll()
    poll.register(host.connection, select.POLLIN)
    while True:
        left = end - time.monotonic()
        if left <= 0 or (cancel is not None and cancel.is_set()):
            return None
        wait = left if cancel is None else min(left, _CANCEL_POLL_SECONDS)
        if not poll.poll(wait * 1000 + 1):
            continue
        host.connection.settimeout(left)
        try:
            return receive_frame(host.connection)
        except TimeoutError:
            return None
        finally:
            host.connection.settimeout(None)


@contextlib.contextmanager
def _opened(compiled: Path | int) -> Iterator[int]:
    if isinstance(compiled, int):
        yield compiled
        return
    descriptor = os.open(compiled, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _component_descriptor(component: Path | bytes) -> Iterator[int]:
    """A descriptor from which the component can be read, at its start."""
    if isinstance(component, Path):
        with _opened(component) as descriptor:
            yield descriptor
        return
    with tempfile.TemporaryFile() as held:
        held.write(component)
        held.flush()
        held.seek(0)
        yield held.fileno()


def _reap(pid: int) -> None:
    """Collects the zygote where it is our child; kills it when it does not end by itself."""
    end = time.monotonic() + _EXIT_STATUS_SECONDS
    with contextlib.suppress(ChildProcessError, ProcessLookupError):
        while os.waitpid(pid, os.WNOHANG)[0] == 0:
            if time.monotonic() > end:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return
            time.sleep(0.005)
