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
import json
import os
import select
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from murmur.guest import failures
from murmur.guest.calls import (
    GuestCall,
    GuestFailure,
    GuestResult,
    Returned,
    call_facts,
    result_from_facts,
    returned_from_facts,
)
from murmur.guest.frames import BrokenFrame, Frame, PeerGone, receive_frame, send_frame
from murmur.guest.lockdown import Lockdown
from murmur.guest.processes import (
    START_SECONDS,
    GuestsFailed,
    GuestsProcess,
    HostProcess,
    Starter,
    ZygoteProcess,
    reap,
    zygote_argv,
)
from murmur.guest.questions import (
    UNCHARGED,
    Answering,
    InputRefused,
    Question,
    Trap,
    pack_answer,
    unpack,
    unserved,
)

__all__ = [
    "Answering",
    "Ask",
    "CompileFailed",
    "Compiled",
    "Guests",
    "GuestsFailed",
    "GuestsProcess",
    "InputRefused",
    "Lockdown",
    "OnEvent",
    "Starter",
]

Result = TypeVar("Result")

COMPILE_SECONDS = 600.0
GRACE_SECONDS = 0.25
"""How long past its limit a call may go on: time for the epoch deadline to end it, which tells
where it was.
"""

_CANCEL_POLL_SECONDS = 0.05

OnEvent = Callable[[str, dict[str, Any]], None]
"""Receives `murmur:stream/events` calls by name (`emit-chunk`, ...) and `request-denied`, in the
calling thread; `dropped` too, a resource that the guest let go of (`interface`, `resource`,
`number`).
"""

Ask = Callable[[str], str]
"""Answers `request-input`; raising `InputRefused` traps the guest with its text."""


class CompileFailed(Exception):
    """The component cannot be compiled; the text is the engine's reason."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled form, written: its own sha256 (hex) and size in bytes."""

    sha256: str
    size: int


class Guests:
    """A session's guests. `start` returns at once; the first use waits for the zygote."""

    def __init__(
        self, process: GuestsProcess, control: socket.socket, lockdown: Lockdown | None
    ) -> None:
        self.process = process
        self._lockdown = lockdown
        self._zygote = ZygoteProcess(control)
        self._hosts: dict[str, HostProcess] = {}
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
        answering: Answering = unserved,
        cancel: threading.Event | None = None,
    ) -> GuestResult:
        """Calls `murmur:tool/run` of a guest and waits for it; whatever it does, this returns.

        `answering` is called in this thread for each import that is a question. A set `cancel`
        ends the call within a twentieth of a second, by killing its host. `GuestsFailed` when no
        host can be had, `OSError` when the compiled form cannot be opened.
        """
        return self._exchange(call, _Serving(on_event, answering, cancel), result_from_facts)

    def invoke(
        self,
        call: GuestCall,
        *,
        on_event: OnEvent | None = None,
        answering: Answering = unserved,
        cancel: threading.Event | None = None,
    ) -> Returned | GuestFailure:
        """Calls any other function of a guest, `call.function` with `call.arguments`; as `call`."""
        return self._exchange(call, _Serving(on_event, answering, cancel), returned_from_facts)

    def _exchange(
        self, call: GuestCall, serving: _Serving, read: Callable[[dict[str, Any]], Result]
    ) -> Result | GuestFailure:
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
                return _await_result(host, call, serving, read)
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
        reap(self.process.pid)

    def _lock_of(self, name: str) -> threading.Lock:
        with self._guard:
            return self._locks.setdefault(name, threading.Lock())

    def _host(self, name: str) -> HostProcess:
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

    def _start(self, name: str) -> HostProcess:
        if self._lockdown is None:
            return self._zygote.fork(None, ())
        spec = self._lockdown.open_spec(name)
        try:
            return self._zygote.fork(self._lockdown.library, (spec,))
        finally:
            os.close(spec)


def _await_up(host: HostProcess) -> None:
    frame = _await_frame(host, time.monotonic() + START_SECONDS, None)
    if frame is None:
        raise GuestsFailed(f"a guest host was not up within {START_SECONDS:g} s")
    frame.close()
    if frame.kind != "up":
        raise GuestsFailed(f"a guest host could not be contained: {frame.facts.get('reason')}")
    host.up = True
    host.contained = bool(frame.facts["contained"])


@dataclass(frozen=True, slots=True)
class _Serving:
    """What the runtime does for a guest while it runs."""

    on_event: OnEvent | None
    answering: Answering
    cancel: threading.Event | None


def _await_result(
    host: HostProcess,
    call: GuestCall,
    serving: _Serving,
    read: Callable[[dict[str, Any]], Result],
) -> Result | GuestFailure:
    """Serves the host's frames until the result; kills the host when time is up (sessions.md 25).

    The limit starts again when the call itself starts. Answering is charged to the guest, but for
    what waits for a person or a model.
    """
    allowance = call.limits.deadline_seconds + GRACE_SECONDS
    end = time.monotonic() + allowance
    while True:
        frame = _await_frame(host, end, serving.cancel)
        if frame is None:
            host.kill()
            if serving.cancel is not None and serving.cancel.is_set():
                return GuestFailure("cancelled", f"{call.subject} was cancelled")
            return failures.deadline_failure(call)
        frame.close()
        question = None
        try:
            if frame.kind == "result":
                return read(frame.facts)
            if frame.kind == "calling":
                end = time.monotonic() + allowance
            elif frame.kind == "event":
                name, facts = str(frame.facts["name"]), dict(frame.facts["facts"])
            elif frame.kind == "ask":
                question = _question(frame, end, serving.cancel)
            else:
                raise BrokenFrame(f"kind {frame.kind!r}")
        except (LookupError, TypeError, ValueError, AttributeError) as wrong:
            raise BrokenFrame(f"a {frame.kind} frame without its members: {wrong}") from None
        if frame.kind == "event" and serving.on_event is not None:
            serving.on_event(name, facts)
        elif question is not None:
            asked = time.monotonic()
            answer = _answer(serving.answering, question)
            if question.interface in UNCHARGED:
                end += time.monotonic() - asked
            elif time.monotonic() >= question.deadline:
                host.kill()  # what it asked for took all the time it had
                return failures.deadline_failure(call)
            send_frame(host.connection, "answer", **answer)


def _question(frame: Frame, end: float, cancel: threading.Event | None) -> Question:
    interface, function = frame.facts["interface"], frame.facts["function"]
    arguments = unpack(frame.facts["arguments"])
    if not (isinstance(interface, str) and isinstance(function, str)):
        raise TypeError("no names of interface and function")
    if not isinstance(arguments, tuple):
        raise TypeError("arguments are no tuple")
    return Question(interface, function, arguments, end - GRACE_SECONDS, cancel)


def _answer(answering: Answering, question: Question) -> dict[str, Any]:
    """The members of an answer. `BrokenFrame` for arguments that the function does not take, which
    only a host that was taken over sends.
    """
    try:
        return {"answer": pack_answer(answering(question))}
    except Trap as trap:
        return {"trap": str(trap)}
    except (LookupError, TypeError, ValueError) as wrong:
        name = f"{question.interface}#{question.function}"
        raise BrokenFrame(f"arguments of {name}: {wrong!r}") from None


def _await_frame(host: HostProcess, end: float, cancel: threading.Event | None) -> Frame | None:
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
