"""What SIGTERM, SIGINT and SIGHUP do to `mur run`. CLI reference, *SIGTERM*.

While a launch is still being prepared there is no session to end: the first signal unwinds it, so
that what was made for it is taken away again. From `defer` on a first signal is handed to the
session, which ends as it would by itself, and the bound starts: after 20 seconds, or at a second
signal, the process exits 128 + the signal's number, wherever the teardown is.

The bound is kept by a timer thread, the third kind of thread here: the main thread may be the one
that hangs.
"""

import _thread
import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio

TEARDOWN_SECONDS: Final = 20.0

_ENDING: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Stopped(BaseException):
    """A launch was told to end before it had a session."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_status = 128 + number


class Stopping:
    """The signals of one `mur run`. Its methods belong to the main thread."""

    def __init__(self, bound: float = TEARDOWN_SECONDS) -> None:
        self._bound = bound
        self._asked = 0
        self._deferred = False
        self._stop: Callable[[], None] | None = None

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Handles the signals within the block, those excepted that whoever started us ignores.

        Only a process's main thread can: elsewhere the block runs as it is.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {}
        for number in _ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, self._received)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def defer(self) -> None:
        """From now on a signal raises nothing: it waits for `attach`."""
        self._deferred = True

    def release(self) -> None:
        """Lets a signal end this process at once from now on, as it would without any handler."""
        if threading.current_thread() is threading.main_thread():
            for number in _ENDING:
                if signal.getsignal(number) == self._received:
                    signal.signal(number, signal.SIG_DFL)

    def attach(self, loop: "asyncio.AbstractEventLoop", stop: Callable[[], None]) -> None:
        """Lets `loop` call `stop` at the first signal; at once when one has come already."""
        self._stop = lambda: _call_in(loop, stop)
        if self._asked:
            self._stop()

    @property
    def signalled(self) -> int | None:
        """128 + the signal that ended a session, where that is its exit status: not for SIGTERM,
        whose exit status is the session's own."""
        return 128 + self._asked if self._asked in (signal.SIGINT, signal.SIGHUP) else None

    def bound_teardown(self) -> None:
        """Starts the bound of a first signal, whose exit status is SIGTERM's, without one."""
        _thread.start_new_thread(self._end_late, (128 + signal.SIGTERM,))

    def _received(self, number: int, frame: FrameType | None) -> None:
        if self._asked:
            os._exit(128 + number)
        self._asked = number
        # Not by `threading`, whose lock the interrupted main thread may hold.
        _thread.start_new_thread(self._end_late, (128 + number,))
        if not self._deferred:
            raise Stopped(number)
        if self._stop is not None:
            self._stop()

    def _end_late(self, status: int) -> None:
        time.sleep(self._bound)
        os._exit(status)


def _call_in(loop: "asyncio.AbstractEventLoop", stop: Callable[[], None]) -> None:
    """A handler interrupts whatever the main thread does, a board's lock included: it only asks."""
    with contextlib.suppress(RuntimeError):
        # The loop is closed: the session has ended by itself.
        loop.call_soon_threadsafe(stop)
