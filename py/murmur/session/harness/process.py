"""The harness's process: started, fed, read to its end. spec/artifacts.md 13.2.

The worker thread answers tool calls, which may take minutes, while the harness goes on writing; so
a thread of each run's own reads what it writes. Standard input that stays open is written by the
event loop, for a harness may never read it.
"""

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from murmur.sandbox.ceiling import CeilingReached
from murmur.sandbox.results import NotAllowed, RootNotComposed, SetUpFailed
from murmur.sandbox.running import Started, Stream
from murmur.session.harness.contract import Interrupt, LaunchPlan
from murmur.session.harness.inbox import Ended, Inbox, LineSplitter

if TYPE_CHECKING:
    from murmur.sandbox.plain import PlainSession
    from murmur.sandbox.session import CommandSession

_STDERR_TAIL: Final = 16 << 10
_JOIN_S: Final = 10.0


class NotStarted(Exception):
    """The harness could not be started; the text says why."""


class HarnessProcess:
    """One run of the harness. All methods are the worker thread's."""

    def __init__(
        self,
        session: "CommandSession | PlainSession",
        loop: asyncio.AbstractEventLoop,
        argv: Sequence[str],
        env: Mapping[str, str],
        plan: LaunchPlan,
        inbox: Inbox,
    ) -> None:
        """Starts it. Raises NotStarted, and E-RUN-013 and E-RUN-014, which end the session."""
        self._session = session
        self._inbox = inbox
        self._lines = LineSplitter()
        self._stderr = bytearray()
        self._feeder: _Feeder | None = None
        given, read_end = plan.stdin or b"", -1
        if plan.keep_stdin_open:
            read_end, write_end = os.pipe2(os.O_CLOEXEC)
            self._feeder = _Feeder(loop, write_end)
        try:
            self._running: Started = session.start(
                argv,
                env,
                given=None if plan.keep_stdin_open else given,
                stdin=read_end if plan.keep_stdin_open else None,
                on_output=self._take,
            )
        except (RootNotComposed, CeilingReached) as lost:
            self.close_stdin()
            raise lost.refusal from None
        except (SetUpFailed, NotAllowed, OSError) as failure:
            self.close_stdin()
            raise NotStarted(str(failure)) from None
        finally:
            if read_end >= 0:
                os.close(read_end)
        self._running.let_go()
        if self._feeder is not None:
            self._feeder.write(given)
        self._reader = threading.Thread(target=self._read, name="murmur-harness", daemon=True)
        self._reader.start()

    @property
    def stderr_tail(self) -> str:
        return bytes(self._stderr).decode("utf-8", "replace")

    def _take(self, stream: Stream, data: bytes) -> None:
        if stream == "stdout":
            self._inbox.put_lines(self._lines.take(data))
        else:
            self._stderr += data
            del self._stderr[:-_STDERR_TAIL]

    def _read(self) -> None:
        """The reading thread: until the process has ended and its output is read."""
        result = None
        while result is None:
            result = self._running.wait()
        self._inbox.put_lines(self._lines.rest())
        self._inbox.post(Ended(result))

    def interrupt(self, method: Interrupt, message: bytes | None) -> bool:
        """Asks it to stop as its driver says; whether it could be told."""
        if method == "signal-int":
            self._running.interrupt()
            return True
        if method == "stdin-message" and message is not None and self._feeder is not None:
            return self._feeder.write(message)
        return False

    def close_stdin(self) -> None:
        """No more input follows what was written."""
        if self._feeder is not None:
            self._feeder.finish()

    def kill(self) -> None:
        self._running.kill()

    def close(self) -> str | None:
        """Ends it with all that it left running, and the thread that reads it.

        What it left would read the next run's files, whose caller may be another. Says why, where
        that could not be ended.
        """
        self.close_stdin()
        self._inbox.close()
        self._running.kill()
        self._reader.join(_JOIN_S)
        try:
            self._session.kill_leftovers()
        except OSError as failure:
            return f"what the harness left running could not be ended: {failure}"
        return None


class _Feeder:
    """Writes to a pipe on the event loop, as fast as the other end reads."""

    def __init__(self, loop: asyncio.AbstractEventLoop, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._loop = loop
        self._descriptor = descriptor
        self._waiting = bytearray()
        self._finishing = False
        self._watched = False

    def write(self, data: bytes) -> bool:
        """Whether somebody may still read it."""
        if self._descriptor < 0 or self._finishing:
            return False
        self._later(self._add, data)
        return True

    def finish(self) -> None:
        """Closes the pipe once all is written."""
        if not self._finishing:
            self._finishing = True
            self._later(self._push)

    def _later(self, call: Callable[..., None], *given: bytes) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is gone, and the session with it
            self._loop.call_soon_threadsafe(call, *given)

    # On the event loop.

    def _add(self, data: bytes) -> None:
        self._waiting += data
        self._push()

    def _push(self) -> None:
        if self._descriptor < 0:
            return
        try:
            while self._waiting:
                del self._waiting[: os.write(self._descriptor, self._waiting[: 1 << 16])]
        except BlockingIOError:
            if not self._watched:
                self._watched = True
                self._loop.add_writer(self._descriptor, self._push)
            return
        except OSError:  # nobody reads any more
            self._waiting.clear()
            self._finishing = True
        if self._watched:
            self._watched = False
            self._loop.remove_writer(self._descriptor)
        if self._finishing:
            os.close(self._descriptor)
            self._descriptor = -1
