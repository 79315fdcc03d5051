"""A harness's events as turns: stream frames, trace lines, usage, what hooks hear.

spec/artifacts.md 13.3; spec/observability.md 5.3 and 5.11; spec/door.md 16.4. A turn is one message
of the model's, with the calls that it makes: it opens with the first thing that the model says or
asks for, and ends with the first answer to one of its calls, or where a second message begins.
"""

import dataclasses
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from murmur.core.tasks import StatusFrame, TaskState, TextFrame, ThinkingFrame
from murmur.inference.frames import TurnFrames
from murmur.inference.spend import SpendMeter, SpendRefused
from murmur.session.attempt import Attempt
from murmur.session.harness.calls import HarnessCalls
from murmur.session.harness.contract import (
    CallAnswered,
    Called,
    CallProgress,
    CallStarted,
    Event,
    FailureKind,
    Note,
    Quota,
    Retried,
    SessionStarted,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    TurnEnd,
    TurnFailed,
    Usage,
)
from murmur.session.harness.driver import CallFailed
from murmur.session.harness.usage import grown, highest, together
from murmur.session.hooks import events
from murmur.session.hooks.turns import TurnHooks
from murmur.trace.writer import TraceWriter

_ERROR_CODES: Final[Mapping[FailureKind, str]] = {
    "auth": "harness_auth",
    "quota": "harness_quota",
    "harness-error": "harness_error",
    "other": "harness_other",
}
"""Of the kinds that leave a failed `inference` line."""

_MODEL_SAYS: Final = (
    TextDelta, Text, ThinkingDelta, Thinking, CallStarted, CallProgress, Called
)  # fmt: skip


_LARGEST_TURN: Final = 64 << 20
_EVENT_COST: Final = 64
"""In characters: what keeping an event costs beside its texts."""

_MOST_ASIDES: Final = 1000
"""Lines of a run that are no turn's and no call's: a harness may say them without an end."""

_LONGEST_NOTE: Final = 4096


class TooManyTurns(Exception):
    """The harness began a turn that inference.max_turns does not allow."""


@dataclasses.dataclass(slots=True)
class _Turn:
    """The turn that is open."""

    number: int
    frames: TurnFrames
    began: float
    usage: Usage = dataclasses.field(default_factory=Usage)
    deltas: list[str] = dataclasses.field(default_factory=list)
    text: str | None = None
    thinking: list[str] = dataclasses.field(default_factory=list)
    thinks: bool = False
    calls: list[Called] = dataclasses.field(default_factory=list)
    size: int = 0

    def asked(self, identifier: str) -> bool:
        """Whether that call is one of its."""
        return any(each.id == identifier for each in self.calls)

    @property
    def said(self) -> str:
        """Its text so far."""
        return "".join(self.deltas) if self.text is None else self.text

    @property
    def content(self) -> list[dict[str, Any]]:
        """It as the blocks of an assistant's message."""
        blocks: list[dict[str, Any]] = [{"type": "thinking", "text": t} for t in self.thinking]
        if self.said:
            blocks.append({"type": "text", "text": self.said})
        blocks += [
            {"type": "tool_call", "id": each.id, "name": each.name, "input": each.input}
            for each in self.calls
        ]
        return blocks


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """What does not change during a session. `max_turns` None is no cap."""

    trace: TraceWriter
    meter: SpendMeter
    hooks: TurnHooks | None
    max_turns: int | None
    driver_config: Mapping[str, object] | None
    warn_auth: Callable[[str], str]
    """Says W-SEC-031 to the operator, with how the harness is logged in; its text."""


class HarnessTurns:
    """The turns of one run. `session` is what the harness said of its own, once it did."""

    def __init__(self, settings: Settings, attempt: Attempt, calls: HarnessCalls) -> None:
        self._settings = settings
        self._trace = settings.trace
        self._attempt = attempt
        self._calls = calls
        self._open: _Turn | None = None
        self._closed = 0
        self._told = False  # whether the newest turn's text reached the stream
        self._latest = Usage()
        self._attributed = Usage()
        self._asides = 0
        self.session: SessionStarted | None = None

    @property
    def current(self) -> int:
        """The number that a call belongs to which is made now."""
        if self._open is not None:
            return self._open.number
        return max(0, self._attempt.turns.taken - 1)

    @property
    def produced(self) -> bool:
        """Whether the model said anything."""
        return self._open is not None or self._closed > 0

    def take(self, event: Event) -> None:
        """One event that does not end the run. Raises TooManyTurns, SpendRefused and, for a turn
        that nobody could keep, CallFailed."""
        if isinstance(event, _MODEL_SAYS):
            self._model_says(self._turn_for(event), event)
            return
        match event:
            case SessionStarted():
                self._session(event)
            case CallAnswered():
                # The model has asked and waits: what follows is its next turn.
                if self._open is not None and self._open.asked(event.id):
                    self._close("tool_call")
                if not self._calls.answered(event):
                    self.note(f"a result came for {event.id!r}, which is no call that is open")
            case Usage():
                self._latest = _newest(self._latest, event)
                self._attribute()
            case Retried():
                if self._tells():
                    self._trace.write("harness_retry", attempt=event.attempt, reason=event.reason)
            case Quota():
                if self._tells():
                    self._quota(event)
            case Note():
                self.note(event.text)

    def note(self, text: str) -> None:
        if self._tells():
            self._trace.write("harness_note", text=text[:_LONGEST_NOTE])

    def _tells(self) -> bool:
        """Whether one more aside of this run has its line; the last says that it is that."""
        self._asides += 1
        if self._asides == _MOST_ASIDES:
            said = f"the harness said {_MOST_ASIDES} things beside its turns; no more are kept"
            self._trace.write("harness_note", text=said)
        return self._asides < _MOST_ASIDES

    def end(self, event: TurnEnd) -> None:
        """The run has its answer."""
        if not self.produced:
            self._begin()
        elif self._open is None:
            self._attribute()
        turn = self._open
        if turn is not None:
            if not turn.calls and not turn.said:
                turn.text = event.text
            self._close("tool_call" if turn.calls else "end_turn")
        if not self._told:
            self._attempt.frame(TextFrame(event.text, final=True))
        self._charge_the_rest()

    def fail(self, event: TurnFailed, code: str | None = None) -> None:
        """The run failed; `code` is another `error_code` than its kind's."""
        code = code or _ERROR_CODES.get(event.kind)
        if code is None:  # of its own making or somebody's wish: no call failed
            self.leave()
            return
        turn, self._open = self._open, None
        number = self._attempt.turns.taken if turn is None else turn.number
        fields: dict[str, Any] = {}
        if turn is not None:
            turn.frames.close(None)
            fields = _tokens(turn.usage)
            self._charge(turn.usage)
        self._trace.write(
            "inference",
            task_id=self._attempt.task_id,
            turn=number,
            decision="error",
            stop_reason="error",
            tool_name=None,
            driver_config=self._settings.driver_config,
            error_code=code,
            error=event.message,
            **fields,
        )
        self._charge_the_rest()

    def leave(self) -> None:
        """The run is broken off; what was open is a turn all the same."""
        if self._open is not None:
            self._close("tool_call" if self._open.calls else "text")
        self._charge_the_rest()

    def _turn_for(self, event: Event) -> _Turn:
        """The open turn, or the next where this event is not one of its."""
        turn = self._open
        if turn is not None and turn.text is not None and isinstance(event, Text | TextDelta):
            self._close("tool_call" if turn.calls else "text")
            turn = None
        return self._begin() if turn is None else turn

    def _begin(self) -> _Turn:
        attempt, limit = self._attempt, self._settings.max_turns
        number = attempt.turns.taken
        if limit is not None and number >= limit:
            raise TooManyTurns
        refused = self._settings.meter.exhausted()
        if refused is not None:
            self.refuse(refused, number)
            raise refused
        attempt.turns.taken += 1
        attempt.frame(StatusFrame(TaskState.WORKING, f"inference turn {number + 1}"))
        self._told = False
        self._open = _Turn(number, TurnFrames(attempt.frame), time.monotonic())
        return self._open

    def refuse(self, refused: SpendRefused, turn: int) -> None:
        """The line of a turn that a spend ceiling does not allow."""
        self._trace.write(
            "spend_ceiling_reached", turn=turn, task_id=self._attempt.task_id, **refused.record()
        )

    def _model_says(self, turn: _Turn, event: Event) -> None:
        frames = turn.frames
        values = (getattr(event, field.name) for field in dataclasses.fields(event))
        turn.size += _EVENT_COST + sum(len(each) for each in values if isinstance(each, str))
        if turn.size > _LARGEST_TURN:
            raise CallFailed("parse", f"one turn has more than {_LARGEST_TURN >> 20} MiB")
        match event:
            case TextDelta(text):
                turn.deltas.append(text)
                frames.event("emit-chunk", {"chunk": text})
                self._told = True
            case Text(text):
                turn.text = text
                frames.close(text)
                self._told = True
                turn.frames = TurnFrames(self._attempt.frame)
            case ThinkingDelta(text):
                turn.thinks = True
                frames.event("emit-thinking-chunk", {"chunk": text})
            case Thinking(text):
                turn.thinking.append(text)
                if not turn.thinks:
                    self._attempt.frame(ThinkingFrame(text))
                turn.thinks = False
            case CallStarted(identifier, name):
                frames.event("tool-call-started", {"id": identifier, "name": name})
            case CallProgress(identifier, count):
                frames.event("tool-call-input-bytes", {"id": identifier, "bytes": count})
            case Called():
                turn.calls.append(event)
                frames.settle(event.id)
                self._calls.called(event, turn.number)

    def _close(self, decision: str) -> None:
        turn, self._open = self._open, None
        assert turn is not None
        self._closed += 1
        turn.frames.close(None)
        tool_name = turn.calls[0].name if turn.calls else None
        if self._settings.hooks is not None:
            tokens = (turn.usage.input or 0, turn.usage.output or 0)
            self._settings.hooks.tell(
                self._attempt,
                turn.number,
                lambda: events.harness_event(
                    turn.number, tokens, decision, tool_name, turn.content
                ),
            )
        self._trace.model_call_took(time.monotonic() - turn.began)
        self._trace.write(
            "inference",
            task_id=self._attempt.task_id,
            turn=turn.number,
            decision=decision,
            tool_name=tool_name,
            driver_config=self._settings.driver_config,
            **_tokens(turn.usage),
        )
        self._charge(turn.usage)

    def _attribute(self) -> None:
        if self._open is None:
            return
        self._open.usage = together(self._open.usage, grown(self._attributed, self._latest))
        self._attributed = highest(self._attributed, self._latest)

    def _charge_the_rest(self) -> None:
        """Tokens that no turn was open for are spent all the same."""
        left = grown(self._attributed, self._latest)
        self._attributed = highest(self._attributed, self._latest)
        if left.input or left.output:
            self._charge(left)

    def _charge(self, usage: Usage) -> None:
        if usage.input is not None or usage.output is not None:
            self._settings.meter.charge(usage.input or 0, usage.output or 0)

    def _session(self, event: SessionStarted) -> None:
        told = self.session is not None and self.session.auth == event.auth
        self.session = event
        if not self._tells():
            return
        self._trace.write(
            "harness_session", harness_session_id=event.id, auth=event.auth, model=event.model
        )
        if event.auth != "subscription" and not told:
            text = self._settings.warn_auth(event.auth)
            self._trace.write("harness_warning", code="W-SEC-031", message=text)

    def _quota(self, event: Quota) -> None:
        self._trace.write(
            "harness_quota",
            name=event.name,
            used=event.used,
            resets_at_ms=None if event.resets_at is None else event.resets_at * 1000,
            window_minutes=event.window_minutes,
            state=event.state,
        )


def _newest(before: Usage, now: Usage) -> Usage:
    """The counts as they stand; a member that is absent stays what it was."""
    return Usage(
        *(
            getattr(before, field.name) if (count := getattr(now, field.name)) is None else count
            for field in dataclasses.fields(Usage)
        )
    )


def _tokens(usage: Usage) -> dict[str, int]:
    """The token fields of an `inference` line; what was not reported is left out."""
    named = {
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cached_tokens": usage.cache_read,
        "cache_write_tokens": usage.cache_creation,
        "thinking_tokens": usage.thinking,
    }
    return {name: count for name, count in named.items() if count is not None}
