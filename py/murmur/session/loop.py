"""The agent loop: turns of one attempt until the model ends it, a bound does, or a cancel.

spec/sessions.md 10.3. Plain blocking code in the session's worker thread; it meets the event loop
through the board alone. What a reader of the trace cares about is written by whoever did it.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from murmur.core.diagnostics import Diagnostic, warning
from murmur.core.ids import new_id
from murmur.core.tasks import StatusFrame, TaskState
from murmur.inference.driver import Answered, DriverClient, continuation_after
from murmur.inference.frames import TurnFrames
from murmur.inference.payload import Continuation, TurnRequest
from murmur.inference.reply import Turn, TurnFailure
from murmur.inference.retry import RetryNotice
from murmur.manifest.inference import Retry
from murmur.session.attempt import (
    Attempt,
    Ending,
    canceled,
    driver_failed,
    failed,
    out_of_turns,
    unanswered,
)
from murmur.session.dispatch import Dispatcher
from murmur.session.results import capped
from murmur.trace.content import Capture
from murmur.trace.writer import TraceWriter

Message = dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class LoopSettings:
    """What does not change during a session. `max_turns` None is no cap."""

    model: str
    output_cap: int
    max_turns: int | None
    retry: Retry
    system: str
    tools: Sequence[Mapping[str, object]]
    driver_config: Mapping[str, object] | None
    warn: Callable[[Diagnostic], None]


class AgentLoop:
    """Runs attempts, one after another."""

    def __init__(
        self,
        settings: LoopSettings,
        driver: DriverClient,
        dispatcher: Dispatcher,
        trace: TraceWriter,
        capture: Capture,
    ) -> None:
        self._settings = settings
        self._driver = driver
        self._dispatcher = dispatcher
        self._trace = trace
        self._capture = capture

    def run(self, attempt: Attempt) -> Ending:
        """Runs one attempt to its end."""
        messages: list[Message] = [_user_message(attempt.text)]
        continuation: Continuation | None = None
        turn = 0
        while True:
            if attempt.cancel.is_set():
                return canceled("turn", turn)
            if self._settings.max_turns is not None and turn >= self._settings.max_turns:
                return out_of_turns(self._settings.max_turns)
            attempt.frame(StatusFrame(TaskState.WORKING, f"inference turn {turn + 1}"))
            request = self._request(attempt, messages, continuation)
            answered = self._infer(attempt, request, turn)
            result = answered.result
            if isinstance(result, TurnFailure):
                if attempt.cancel.is_set():
                    return canceled("inference", turn)
                self._record(attempt, request, answered, turn)
                return driver_failed(result, turn)
            self._record(attempt, request, answered, turn)
            continuation = continuation_after(result, request)
            if result.problem is not None:
                return failed(result.problem, "malformed_response", turn)
            messages.append(_assistant_message(result))
            if result.stop_reason != "tool_call":
                return self._finish(result)
            ending = self._answer_calls(attempt, result, messages, turn)
            if ending is not None:
                return ending
            turn += 1

    def _request(
        self, attempt: Attempt, messages: Sequence[Message], continuation: Continuation | None
    ) -> TurnRequest:
        return TurnRequest(
            model=self._settings.model,
            max_tokens=self._settings.output_cap,
            messages=tuple(messages),
            tools=self._settings.tools,
            system=self._settings.system,
            prompt_cache_key=attempt.cache_key,
            context_id=attempt.context_id,
            continuation=continuation,
        )

    def _infer(self, attempt: Attempt, request: TurnRequest, turn: int) -> Answered:
        frames = TurnFrames(attempt.frame)

        def on_retry(notice: RetryNotice) -> None:
            self._trace.write(
                "inference_retry",
                turn=turn,
                task_id=attempt.task_id,
                attempt=notice.attempt,
                max_attempts=notice.max_attempts,
                provider_status=notice.provider_status,
                reason=notice.reason,
                wait_ms=notice.wait_ms,
            )

        answered = self._driver.call(
            request,
            self._settings.retry,
            cancel=attempt.cancel,
            on_event=frames.event,
            on_retry=on_retry,
        )
        result = answered.result
        frames.finish(result if isinstance(result, Turn) else None)
        return answered

    def _record(
        self, attempt: Attempt, request: TurnRequest, answered: Answered, turn: int
    ) -> None:
        result = answered.result
        fields = dict(answered.trace_fields())
        if isinstance(result, Turn):
            held = request.held_continuation()
            known = held.known if held else 0
            sent = request.messages[known:]
            fields["message_ids"] = [message["id"] for message in sent]
            fields |= self._capture.inference(request.members(known), result.raw)
        self._trace.write(
            "inference",
            turn=turn,
            task_id=attempt.task_id,
            max_output_tokens=self._settings.output_cap,
            driver_config=self._settings.driver_config,
            **fields,
        )

    def _finish(self, turn: Turn) -> Ending:
        text = turn.text
        if turn.stop_reason == "max_tokens":
            self._settings.warn(warning("W-RUN-001", cap=self._settings.output_cap))
            text = capped(text, self._settings.output_cap)
        return Ending(status="ok", said="session ended", result=text, response=text)

    def _answer_calls(
        self, attempt: Attempt, result: Turn, messages: list[Message], turn: int
    ) -> Ending | None:
        """Answers every call in the given order; an ending when that ended the attempt."""
        for call in result.tool_calls:
            if attempt.cancel.is_set():
                return canceled("turn", turn)
            message, frame = self._dispatcher.dispatch(call, turn, attempt)
            attempt.frame(frame)
            messages.append({**message, "id": new_id("msg")})
            if attempt.waited.canceled:
                return canceled("input", turn)
            if attempt.waited.timed_out:
                return unanswered(turn)
        return canceled("turn", turn) if attempt.cancel.is_set() else None


def _user_message(text: str) -> Message:
    return {
        "id": new_id("msg"),
        "role": "user",
        "content": [{"type": "text", "text": text}],
    }


def _assistant_message(turn: Turn) -> Message:
    return {"id": new_id("msg"), "role": "assistant", "content": list(turn.content)}
