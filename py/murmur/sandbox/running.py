"""One running command: its output, its end, and stopping it."""

import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable
from typing import Final, Literal, Protocol

from murmur.sandbox import reports
from murmur.sandbox.launchspec import constant
from murmur.sandbox.mur_sandbox import reap
from murmur.sandbox.reports import Report
from murmur.sandbox.results import PREFIX, CommandResult, SetUpFailed

Stream = Literal["stdout", "stderr"]
OnOutput = Callable[[Stream, bytes], None]

CAPTURE_BYTES: Final = 64 << 20
TERMINATE_S: Final = 2.0
KILL_S: Final = 3.0

_CHUNK: Final = 1 << 16
_LINGER_S: Final = 0.1
_CANCEL_CHECK_S: Final = 0.05


class RunningCommand:
    """A command that was started. One thread at a time drives it with `wait` or `pump`.

    `on_output`, when set, is called with every piece of output as it is read, before it is kept.
    """

    def __init__(
        self,
        relay_pid: int,
        channel: socket.socket,
        outputs: dict[int, Stream],
        finished: Callable[["RunningCommand", Report | None], str | None],
        leftover: Callable[[list[int]], None],
        exec_hint: str = "",
    ) -> None:
        self.on_output: OnOutput | None = None
        self._relay_pid = relay_pid
        self._channel = channel
        self._outputs = outputs
        self._finished = finished
        self._leftover = leftover
        self._exec_hint = exec_hint
        self._kept: dict[Stream, list[bytes]] = {"stdout": [], "stderr": []}
        self._kept_bytes: dict[Stream, int] = {"stdout": 0, "stderr": 0}
        self._keeps = True
        self._discarded = 0
        self._failure: Report | None = None
        self._ended: Report | None = None
        self._ended_at: float | None = None
        self._started_at = time.monotonic()
        self._timed_out = False
        self._cancelled = False
        self._result: CommandResult | None = None
        self._driving = threading.Lock()
        self._poll = select.poll()
        for descriptor in (channel.fileno(), *outputs):
            os.set_blocking(descriptor, False)
            self._poll.register(descriptor, select.POLLIN)

    @property
    def result(self) -> CommandResult | None:
        """The result, once the command has ended and its output is read."""
        return self._result

    def descriptors(self) -> tuple[int, ...]:
        """What an event loop may watch for reading before it calls `pump(0)`."""
        if self._result is not None:
            return ()
        ended = () if self._ended_at is not None else (self._channel.fileno(),)
        return (*ended, *self._outputs)

    def wait(
        self, timeout: float | None = None, cancel: threading.Event | None = None
    ) -> CommandResult | None:
        """Reads until the command has ended; None if `timeout` seconds pass or `cancel` is set
        before. The command runs on then: `stop` or `kill` it, or wait again."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._result is None:
            remaining = None if deadline is None else deadline - time.monotonic()
            if (remaining is not None and remaining <= 0) or (cancel and cancel.is_set()):
                return None
            if cancel is not None:
                remaining = min(remaining or _CANCEL_CHECK_S, _CANCEL_CHECK_S)
            self.pump(remaining)
        return self._result

    def pump(self, timeout: float | None = 0.0) -> CommandResult | None:
        """Reads what is there, waiting at most `timeout` seconds; the result once it stands."""
        with self._driving:
            if self._result is not None:
                return self._result
            if self._ended_at is not None:
                left = max(0.0, self._ended_at + _LINGER_S - time.monotonic())
                timeout = left if timeout is None else min(timeout, left)
            events = self._poll.poll(None if timeout is None else max(0, timeout * 1000))
            for descriptor, _ in events:
                if descriptor == self._channel.fileno():
                    self._read_report()
                else:
                    self._read_output(descriptor)
            self._settle()
            return self._result

    def _read_report(self) -> None:
        try:
            report = reports.receive(self._channel)
        except BlockingIOError:
            return
        except (OSError, ValueError):
            report = None
        if report is not None and report.kind == "FAILED":
            self._failure = report
        if report is None or report.kind == "ENDED":
            self._ended = report
            self._ended_at = time.monotonic()
            self._poll.unregister(self._channel.fileno())

    def _read_output(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return
        stream = self._outputs[descriptor]
        if not data:
            self._poll.unregister(descriptor)
            del self._outputs[descriptor]
            os.close(descriptor)
            return
        if self.on_output is not None:
            self.on_output(stream, data)
        room = CAPTURE_BYTES - self._kept_bytes[stream] if self._keeps else 0
        kept = data[:room] if room > 0 else b""
        self._discarded += len(data) - len(kept)
        if kept:
            self._kept[stream].append(kept)
            self._kept_bytes[stream] += len(kept)

    def _settle(self) -> None:
        """Makes the result when the command has ended and its pipes are closed, or held open by
        processes that it left running: those get a moment, then their output goes nowhere."""
        if self._ended_at is None:
            return
        if self._outputs and time.monotonic() < self._ended_at + _LINGER_S:
            return
        if self._outputs:
            for descriptor in list(self._outputs):
                self._poll.unregister(descriptor)
            self._leftover(list(self._outputs))
            self._outputs.clear()
        self._channel.close()
        reap(self._relay_pid)
        limit = self._finished(self, self._ended)
        self._result = self._make_result(limit)

    def _make_result(self, limit: str | None) -> CommandResult:
        assert self._ended_at is not None
        ended, failure = self._ended, None
        code = -1 if ended is None else exit_code(ended.status)
        if self._failure is not None:
            hint = self._exec_hint if self._failure.step == "exec" else ""
            failure, code = PREFIX + self._failure.detail + hint, -1
        elif ended is None:
            failure = "sandbox relay ended without saying how the command did"
        return CommandResult(
            exit_code=code,
            stdout=b"".join(self._kept["stdout"]),
            stderr=b"".join(self._kept["stderr"]),
            duration_ms=round((self._ended_at - self._started_at) * 1000),
            resource_limit=limit,
            set_up_failure=failure,
            timed_out=self._timed_out,
            cancelled=self._cancelled,
            discarded_bytes=self._discarded,
            user_ms=0 if ended is None else ended.user_us // 1000,
            system_ms=0 if ended is None else ended.system_us // 1000,
            max_rss_kib=0 if ended is None else ended.max_rss_kib,
            signal=None if ended is None else _signal_of(ended.status),
        )

    def let_go(self) -> None:
        """Keeps output no longer, also what was kept: from now on `on_output` alone has it.

        The result counts it as discarded.
        """
        with self._driving:
            self._keeps = False
            for stream, pieces in self._kept.items():
                pieces.clear()
                self._discarded += self._kept_bytes[stream]
                self._kept_bytes[stream] = 0

    def interrupt(self) -> None:
        """SIGINT to the command alone; nothing if it has ended."""
        self._order("INTERRUPT")

    def terminate(self) -> None:
        """SIGTERM to the command's process group; nothing if it has ended."""
        self._order("TERMINATE")

    def kill(self) -> None:
        """SIGKILL to the command's process group; nothing if it has ended."""
        self._order("KILL")

    def _order(self, name: str) -> None:
        try:
            self._channel.send(bytes([constant(f"ORDER_{name}")]), socket.MSG_NOSIGNAL)
        except OSError:  # the relay has ended, and with it the command
            pass

    def stop(
        self, terminate_s: float = TERMINATE_S, kill_s: float = KILL_S
    ) -> CommandResult | None:
        """SIGTERM, after `terminate_s` SIGKILL, and `kill_s` more for it to be gone; the result,
        None if it is still there. spec/containment.md 23."""
        self.terminate()
        result = self.wait(terminate_s)
        if result is None:
            self.kill()
            result = self.wait(kill_s)
        return result

    def mark(self, *, timed_out: bool = False, cancelled: bool = False) -> None:
        """Says in the result why the command is being stopped."""
        self._timed_out |= timed_out
        self._cancelled |= cancelled


class Started(Protocol):
    """What a session's `start` returns, at every tier."""

    def interrupt(self) -> None: ...

    def kill(self) -> None: ...

    def let_go(self) -> None: ...

    def wait(
        self, timeout: float | None = None, cancel: threading.Event | None = None
    ) -> CommandResult | None: ...

    def mark(self, *, timed_out: bool = False, cancelled: bool = False) -> None: ...

    def stop(
        self, terminate_s: float = TERMINATE_S, kill_s: float = KILL_S
    ) -> CommandResult | None: ...


def run_to_end(
    start: Callable[[], Started], timeout: float | None, cancel: threading.Event | None
) -> CommandResult:
    """Starts a command and waits for its end. After `timeout` seconds, or once `cancel` is set, it
    is stopped and the result says so. A set-up that fails is a result; NotAllowed passes through.
    """
    try:
        command = start()
    except SetUpFailed as failure:
        return failure.result()
    result = command.wait(timeout, cancel)
    if result is None:
        cancelled = cancel is not None and cancel.is_set()
        command.mark(timed_out=not cancelled, cancelled=cancelled)
        result = command.stop()
    return result or _not_ended()


def _not_ended() -> CommandResult:
    """For a command that survives SIGKILL for seconds: one in an uninterruptible wait."""
    return CommandResult(
        -1, b"", b"", 0, set_up_failure="the command did not end after SIGKILL", timed_out=True
    )


def exit_code(status: int) -> int:
    """The exit code of a wait status: the code, or 128 + signal."""
    if os.WIFSIGNALED(status):
        return 128 + os.WTERMSIG(status)
    return os.WEXITSTATUS(status)


def _signal_of(status: int) -> int | None:
    """The signal that ended a process, by its wait status."""
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else None


def signal_limit(status: int) -> str | None:
    """The limit that a death by this signal proves. spec/containment.md 21."""
    if not os.WIFSIGNALED(status):
        return None
    return {signal.SIGXCPU: "cpu_seconds", signal.SIGXFSZ: "max_file_size_bytes"}.get(
        signal.Signals(os.WTERMSIG(status))
    )
