"""A harness's tool calls from both sides: what the bridge was asked, what the harness reports.

The bridge makes a call; the harness's own report is what trace and stream say of it
(spec/artifacts.md 8.3, 13.3). The two are one call when tool and input are the same; what only the
bridge knows of it, its state effect and resource, is then said in the report's line. A call that
was made has a line also where the harness keeps silent about it.
"""

import dataclasses
import json
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final

from murmur.core.foreign_json import read_json
from murmur.core.tasks import ArtifactFrame
from murmur.inference.reply import ToolCall
from murmur.session.answers import Answer
from murmur.session.attempt import Attempt
from murmur.session.deadline import Notice
from murmur.session.dispatch import Dispatcher
from murmur.session.harness.bridge import Answered, BridgeCall, Image
from murmur.session.harness.contract import CallAnswered, Called

_MOST_MADE: Final = 64
_MOST_OPEN: Final = 1024
"""Of each kind, what waits for its other side; the oldest is not waited for any longer."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Made:
    """A call that was made and that the harness told nothing of yet."""

    name: str
    given: Mapping[str, Any]
    answer: Answer
    turn: int
    duration_ms: int


@dataclasses.dataclass(slots=True)
class _Reported:
    """A call that the harness told of and has no answer to yet."""

    call: Called
    turn: int
    given: Any
    began: float
    answer: Answer | None = None
    made: bool = False


class HarnessCalls:
    """The tool calls of one run."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        attempt: Attempt,
        notice: Notice,
        before_call: Callable[[], None] = lambda: None,
    ) -> None:
        """`before_call` raises what ends the session instead of another call; `notice` says once,
        after a result, that the deadline is near."""
        self._notice = notice
        self._before_call = before_call
        self._dispatcher = dispatcher
        self._attempt = attempt
        self._open: dict[str, _Reported] = {}
        self._made: deque[_Made] = deque()

    def make(self, asked: BridgeCall, turn: int) -> Answered:
        """Makes a call that the bridge was asked for; `turn` is the one that it belongs to."""
        given = asked.arguments
        reported = next(
            (each for each in self._open.values() if _same(each, asked.name, given)), None
        )
        call = ToolCall(reported.call.id if reported else "", asked.name, given)
        self._before_call()
        began = time.monotonic()
        answer = self._dispatcher.answer(call, turn, self._attempt)
        if reported is not None:
            reported.answer, reported.made = answer, True
        else:
            took_ms = int((time.monotonic() - began) * 1000)
            self._made.append(_Made(asked.name, given, answer, turn, took_ms))
            if len(self._made) > _MOST_MADE:
                self._untold(self._made.popleft())
        notes = (answer.text, answer.note, self._notice.take())
        text = "\n".join(part for part in notes if part is not None)
        images = tuple(
            Image(str(block["media_type"]), answer.images.data[str(block["sha256"])])
            for block in answer.images.blocks
        )
        return Answered(text, answer.is_error, images)

    def called(self, call: Called, turn: int) -> None:
        """The harness tells of a call."""
        given = _parsed(call.input)
        reported = _Reported(call, turn, given, time.monotonic())
        for index, made in enumerate(self._made):
            if made.name == call.name and made.given == given:
                del self._made[index]
                reported.answer, reported.made = made.answer, True
                break
        self._open[call.id] = reported
        if len(self._open) > _MOST_OPEN:
            self._unanswered(self._open.pop(next(iter(self._open))))

    def answered(self, event: CallAnswered) -> bool:
        """The harness tells what a call gave: its line and its frame. False for no known call."""
        reported = self._open.pop(event.id, None)
        if reported is None:
            return False
        duration_ms = int((time.monotonic() - reported.began) * 1000)
        self._record(reported, event.output, duration_ms, is_error=event.is_error)
        self._attempt.frame(
            ArtifactFrame(
                tool_name=reported.call.name,
                content=event.output,
                tool_call_id=event.id or None,
                is_error=event.is_error,
                duration_ms=duration_ms,
            )
        )
        return True

    def finish(self) -> None:
        """The run is over: what was made has its line, whatever the harness said of it."""
        for reported in self._open.values():
            self._unanswered(reported)
        self._open.clear()
        while self._made:
            self._untold(self._made.popleft())

    def _unanswered(self, reported: _Reported) -> None:
        answer = reported.answer
        if answer is not None:
            duration_ms = int((time.monotonic() - reported.began) * 1000)
            self._record(reported, answer.text, duration_ms, is_error=answer.is_error)

    def _untold(self, made: _Made) -> None:
        text = json.dumps(made.given, separators=(",", ":"), ensure_ascii=False)
        reported = _Reported(Called("", made.name, text), made.turn, made.given, 0.0, made.answer)
        self._record(reported, made.answer.text, made.duration_ms, is_error=made.answer.is_error)

    def _record(
        self, reported: _Reported, output: str, duration_ms: int, *, is_error: bool
    ) -> None:
        call, turn, task_id = reported.call, reported.turn, self._attempt.task_id
        if self._dispatcher.is_skill(call.name) and not is_error:
            size = len(output.encode("utf-8", "replace"))
            self._dispatcher.trace_skill(call.name, turn, task_id, size, duration_ms)
            return
        given = reported.given if isinstance(reported.given, Mapping) else {}
        self._dispatcher.trace_tool(
            ToolCall(call.id, call.name, given),
            turn,
            task_id,
            len(call.input.encode("utf-8", "replace")),
            output,
            duration_ms,
            is_error,
            reported.answer,
        )


def _same(reported: _Reported, name: str, given: Any) -> bool:
    return not reported.made and reported.call.name == name and reported.given == given


def _parsed(text: str) -> Any:
    """A call's input; an empty one where it is no JSON."""
    try:
        return read_json(text) if text.strip() else {}
    except ValueError:
        return {}
