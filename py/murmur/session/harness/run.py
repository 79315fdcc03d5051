"""One run of a harness, from its driver's launch plan to its end. spec/artifacts.md 13.2.

The worker thread sits here: it hands the output to the driver, makes the calls that come through
the bridge, and stops the harness when the task is cancelled, a bound is reached, or nothing was
heard for too long.
"""

import dataclasses
import time
from collections.abc import Callable
from typing import Final, Literal

from murmur.inference.spend import SpendRefused
from murmur.session.attempt import Attempt
from murmur.session.harness.bridge import Answered, BridgeCall
from murmur.session.harness.calls import HarnessCalls
from murmur.session.harness.contract import (
    Description,
    Event,
    ExitStatus,
    Interrupt,
    LaunchPlan,
    TurnEnd,
    TurnFailed,
)
from murmur.session.harness.driver import CallFailed, ProcessDriver
from murmur.session.harness.inbox import Ended, Inbox, Lines
from murmur.session.harness.process import HarnessProcess
from murmur.session.harness.turns import HarnessTurns, TooManyTurns
from murmur.trace.writer import TraceWriter

INACTIVITY_SECONDS: Final = 600.0
GRACE_SECONDS: Final = 10.0

_CANCEL_CHECK_S: Final = 0.1

Cause = Literal["terminal", "eof", "inactivity", "max_turns", "driver_error", "canceled"]


@dataclasses.dataclass(frozen=True, slots=True)
class Silent:
    """Nothing was heard of the harness for `seconds`."""

    seconds: int


@dataclasses.dataclass(frozen=True, slots=True)
class Stopped:
    """The task was cancelled; `killed` when the harness had to be."""

    killed: bool


class Unanswered(Exception):
    """A tool asked the task's sender, who did not answer in time."""


Outcome = (
    TurnEnd | TurnFailed | CallFailed | TooManyTurns | SpendRefused | Unanswered | Silent | Stopped
)


class HarnessRun:
    """One run that is under way. `run` is called once."""

    def __init__(
        self,
        driver: ProcessDriver,
        description: Description,
        plan: LaunchPlan,
        inbox: Inbox,
        attempt: Attempt,
        turns: HarnessTurns,
        calls: HarnessCalls,
        trace: TraceWriter,
        inactivity: float = INACTIVITY_SECONDS,
    ) -> None:
        self._driver = driver
        self._description = description
        self._plan = plan
        self._inbox = inbox
        self._attempt = attempt
        self._turns = turns
        self._calls = calls
        self._trace = trace
        self._inactivity = inactivity
        self._heard = time.monotonic()
        self._terminal: TurnEnd | TurnFailed | None = None
        self._ended: Ended | None = None
        self._killed = False

    def run(self, start: Callable[[Inbox], HarnessProcess]) -> Outcome:
        """Starts the harness and stays with it to its end. Raises NotStarted."""
        began = time.monotonic()
        process = start(self._inbox)
        self._heard = time.monotonic()
        try:
            outcome, cause = self._follow(process)
            self._wind_down(process)
            if isinstance(outcome, Stopped):
                outcome = Stopped(self._killed)
        finally:
            left = process.close()
        self._calls.finish()
        if left is not None:
            self._turns.note(left)
        if self._ended is None:
            self._ended = self._last_word()
        self._trace_exit(cause, began)
        return outcome

    def _follow(self, process: HarnessProcess) -> tuple[Outcome, Cause]:
        """Until the run has an outcome; the harness may live on then."""
        try:
            while self._terminal is None and self._ended is None:
                if self._attempt.cancel.is_set():
                    return self._interrupt(process), "canceled"
                silent = time.monotonic() - self._heard
                if silent >= self._inactivity:
                    self._kill(process)
                    return Silent(round(self._inactivity)), "inactivity"
                self._take(min(_CANCEL_CHECK_S, self._inactivity - silent))
            if self._terminal is not None:
                return self._terminal, "terminal"
            return self._classified(process, interrupted=False), "eof"
        except CallFailed as failed:
            self._kill(process)
            return failed, "driver_error"
        except TooManyTurns as over:
            self._kill(process)
            return over, "max_turns"
        except (SpendRefused, Unanswered) as refused:
            # No cause of its own stands in the reference: the runtime stops it, as for a cancel.
            self._kill(process)
            return refused, "canceled"

    def _take(self, seconds: float) -> None:
        """One item of what came in, or nothing in that time."""
        item = self._inbox.take(seconds)
        match item:
            case Lines(lines):
                self._heard = time.monotonic()
                for event in self._driver.parse(lines):
                    self._event(event)
            case BridgeCall():
                self._call(item)
                self._heard = time.monotonic()
            case Ended():
                self._ended = item

    def _event(self, event: Event) -> None:
        if self._terminal is not None:
            return  # the run has its outcome
        if isinstance(event, TurnEnd | TurnFailed):
            self._terminal = event
        else:
            self._turns.take(event)

    def _call(self, asked: BridgeCall) -> None:
        if not asked.answer.set_running_or_notify_cancel():
            return  # whoever asked is gone
        if self._attempt.cancel.is_set():
            asked.answer.set_result(Answered("the task was canceled", is_error=True))
            return
        try:
            answered = self._calls.make(asked, self._turns.current)
        except BaseException:
            asked.answer.set_result(Answered("the session is over", is_error=True))
            raise
        asked.answer.set_result(answered)
        if self._attempt.interrupted.timed_out:
            raise Unanswered

    def _classified(self, process: HarnessProcess, *, interrupted: bool) -> TurnEnd | TurnFailed:
        """What a run came to whose output did not say. Raises CallFailed."""
        assert self._ended is not None
        result = self._ended.result
        if result.set_up_failure is not None:
            return TurnFailed("harness-error", result.set_up_failure)
        return self._driver.classify_exit(
            ExitStatus(
                code=None if result.signal is not None else result.exit_code,
                signal=result.signal,
                stderr_tail=process.stderr_tail,
                interrupted=interrupted,
                saw_terminal=False,
            )
        )

    def _interrupt(self, process: HarnessProcess) -> Outcome:
        """Asks the harness to stop, waits, and kills what does not. spec/door.md 11."""
        method = self._method()
        told = process.interrupt(method, self._plan.interrupt_stdin)
        grace = GRACE_SECONDS if told else 0.0
        self._trace.write(
            "harness_interrupt", method=method, delivered=told, grace_ms=round(grace * 1000)
        )
        end = time.monotonic() + grace
        try:
            while self._ended is None and self._terminal is None:
                left = end - time.monotonic()
                if left <= 0:
                    break
                self._take(min(_CANCEL_CHECK_S, left))
            if self._ended is not None and self._terminal is None:
                self._classified(process, interrupted=True)
        except (CallFailed, TooManyTurns, SpendRefused, Unanswered):
            pass  # it is stopped anyway
        if self._ended is None and self._terminal is None:
            self._kill(process)
        return Stopped(self._killed)

    def _method(self) -> Interrupt:
        method = self._description.interrupt
        if method == "stdin-message" and self._plan.interrupt_stdin is None:
            return "unsupported"
        return method

    def _kill(self, process: HarnessProcess) -> None:
        self._killed = True
        process.kill()

    def _wind_down(self, process: HarnessProcess) -> None:
        """Lets a harness that has said all end by itself, for as long as it has then.

        One that was asked to stop has that time too: it may still write down its conversation.
        """
        asked = self._attempt.cancel.is_set()
        process.close_stdin()
        end = time.monotonic() + GRACE_SECONDS
        while self._ended is None and (left := end - time.monotonic()) > 0:
            if self._attempt.cancel.is_set() and not (asked or self._killed):
                break
            item = self._inbox.take(min(_CANCEL_CHECK_S, left))
            if isinstance(item, Ended):
                self._ended = item
            elif isinstance(item, BridgeCall) and item.answer.set_running_or_notify_cancel():
                item.answer.set_result(Answered("the run is over", is_error=True))
        if self._ended is None:
            self._kill(process)

    def _last_word(self) -> Ended | None:
        """The end of a harness that was killed, which the reading thread has told by now."""
        while (item := self._inbox.take(0)) is not None:
            if isinstance(item, Ended):
                return item
        return None

    def _trace_exit(self, cause: Cause, began: float) -> None:
        result = self._ended.result if self._ended is not None else None
        code = result.exit_code if result is not None and result.signal is None else None
        self._trace.write(
            "harness_exit",
            code=code,
            signal=result.signal if result is not None else None,
            cause=cause,
            killed=self._killed,
            duration_ms=round((time.monotonic() - began) * 1000),
        )
