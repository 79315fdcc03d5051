"""The agent loop: turns of one attempt until the model ends it, a bound does, or a cancel.

spec/sessions.md 10.3. Plain blocking code in the session's worker thread; it meets the event loop
through the board alone. What a reader of the trace cares about is written by whoever did it.
"""

import dataclasses
import time
from collections.abc import Callable, Mapping

from murmur.core.diagnostics import Diagnostic, warning
from murmur.core.tasks import ArtifactFrame, StatusFrame, TaskState
from murmur.inference.driver import Answered, DriverClient, continuation_after
from murmur.inference.frames import TurnFrames
from murmur.inference.payload import TurnRequest
from murmur.inference.pieces import Pieces
from murmur.inference.reply import Turn, TurnFailure
from murmur.inference.retry import RetryNotice
from murmur.inference.spend import Admission, SpendMeter, SpendRefused
from murmur.manifest.inference import Retry
from murmur.session.attempt import (
    Attempt,
    Ending,
    canceled,
    driver_failed,
    failed,
    out_of_tokens,
    out_of_turns,
    unanswered,
)
from murmur.session.choices import InUse
from murmur.session.deadline import Notice
from murmur.session.dispatch import Dispatcher
from murmur.session.history import Message, unanswered_calls
from murmur.session.hooks.turns import TurnHooks
from murmur.session.images import Images
from murmur.session.offered import OfferedTools
from murmur.session.results import capped
from murmur.trace.content import Capture
from murmur.trace.writer import TraceWriter

# The choice that a turn's call is made with: asked with the turn's number and its task.
Choose = Callable[[int, str | None], InUse]


@dataclasses.dataclass(frozen=True, slots=True)
class LoopSettings:
    """What does not change during a session. `max_turns` None is no cap.

    `before_turn` raises what ends the session instead of another turn.
    """

    model: str
    output_cap: int
    max_turns: int | None
    retry: Retry
    system: str
    tools: OfferedTools
    driver_config: Mapping[str, object] | None
    warn: Callable[[Diagnostic], None]
    notice: Notice
    images: Images
    before_turn: Callable[[], None] = lambda: None
    meter: SpendMeter = dataclasses.field(default_factory=SpendMeter)


class AgentLoop:
    """Runs attempts, one after another."""

    def __init__(
        self,
        settings: LoopSettings,
        driver: DriverClient,
        dispatcher: Dispatcher,
        trace: TraceWriter,
        capture: Capture,
        hooks: TurnHooks | None = None,
        choose: Choose | None = None,
    ) -> None:
        """`choose` None always calls `driver`, with what the settings say."""
        self._hooks = hooks
        self._choose = choose
        self._model = settings.model
        self._output_cap = settings.output_cap
        self._driver_config = settings.driver_config
        self._settings = settings
        self._driver = driver
        self._dispatcher = dispatcher
        self._trace = trace
        self._capture = capture
        self._pieces = Pieces()

    def compact_loaded(self, attempt: Attempt) -> Ending | None:
        """Has the compaction hooks shorten what a resumed task starts from; how it ended if they
        failed at that."""
        if self._hooks is None:
            return None
        return self._hooks.compact_loaded(attempt, self._request(attempt))

    def run(self, attempt: Attempt) -> Ending:
        """Runs one attempt to its end; its history holds the message that it answers."""
        while True:
            ending = self._turn(attempt)
            if ending is not None:
                return ending

    def _turn(self, attempt: Attempt) -> Ending | None:
        """One turn; the attempt's ending, or None when another turn follows."""
        history, turn = attempt.history, attempt.turns.taken
        self._settings.before_turn()
        if attempt.cancel.is_set():
            return canceled("turn", turn)
        if self._settings.max_turns is not None and turn >= self._settings.max_turns:
            return out_of_turns(self._settings.max_turns)
        self._settings.tools.renew(turn, attempt.task_id)
        self._read_choice(attempt, turn)
        request = self._request(attempt)
        try:
            admission = self._settings.meter.admit(request.input_tokens(), self._output_cap)
        except SpendRefused as refused:
            self._trace.write(
                "spend_ceiling_reached", turn=turn, task_id=attempt.task_id, **refused.record()
            )
            return out_of_tokens(refused, turn)
        attempt.frame(StatusFrame(TaskState.WORKING, f"inference turn {turn + 1}"))
        answered = self._infer(attempt, request, admission, turn)
        result = answered.result
        attempt.turns.taken += 1
        if isinstance(result, TurnFailure):
            if attempt.cancel.is_set():
                return canceled("inference", turn)
            self._record(attempt, request, answered, turn)
            return driver_failed(result, turn)
        if self._hooks is not None:
            self._hooks.answered(attempt, request, answered, result, turn)
        self._record(attempt, request, answered, turn)
        history.continuation = continuation_after(result, request)
        if self._hooks is not None:
            ending = self._hooks.compact(attempt, request, answered, turn)
            if ending is not None:
                return ending
        if result.problem is not None:
            return failed(result.problem, "malformed_response", turn)
        history.add(_assistant_message(result))
        if result.stop_reason != "tool_call":
            return self._finish(result)
        return self._answer_calls(attempt, result, turn)

    def _read_choice(self, attempt: Attempt, turn: int) -> None:
        """Reads the driver choice and the output cap in use, once a call."""
        if self._choose is None:
            return
        using = self._choose(turn, attempt.task_id)
        choice = using.choice
        if choice.client is not self._driver or choice.model != self._model:
            # What one driver remembers of a conversation, another does not know.
            attempt.history.continuation = None
        self._driver, self._model = choice.client, choice.model
        self._output_cap, self._driver_config = using.output_cap, choice.driver_config

    def _request(self, attempt: Attempt) -> TurnRequest:
        return TurnRequest(
            model=self._model,
            max_tokens=self._output_cap,
            messages=self._settings.images.sent(attempt.history),
            tools=self._settings.tools.declarations,
            system=self._settings.system,
            prompt_cache_key=attempt.cache_key,
            context_id=attempt.history.context_id,
            continuation=attempt.history.continuation,
            pieces=self._pieces,
        )

    def _infer(
        self, attempt: Attempt, request: TurnRequest, admission: Admission, turn: int
    ) -> Answered:
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

        began = time.monotonic()
        answered = self._driver.call(
            request,
            self._settings.retry,
            cancel=attempt.cancel,
            on_event=frames.event,
            on_retry=on_retry,
            admission=admission,
        )
        self._trace.model_call_took(time.monotonic() - began)
        result = answered.result
        frames.finish(result if isinstance(result, Turn) else None)
        return answered

    def _record(
        self, attempt: Attempt, request: TurnRequest, answered: Answered, turn: int
    ) -> None:
        result = answered.result
        fields = dict(answered.trace_fields())
        if isinstance(result, Turn):
            sent = [piece.hashed for piece in request.sent()]
            new = request.messages[len(request.messages) - len(sent) :]
            fields["message_ids"] = [message["id"] for message in new]
            fields |= self._capture.inference(request.system, request.tools, sent, result.raw)
        self._trace.write(
            "inference",
            turn=turn,
            task_id=attempt.task_id,
            max_output_tokens=self._output_cap,
            driver_config=self._driver_config,
            **fields,
        )

    def _finish(self, turn: Turn) -> Ending:
        text = turn.text
        if turn.stop_reason == "max_tokens":
            self._settings.warn(warning("W-RUN-001", cap=self._output_cap))
            text = capped(text, self._output_cap)
        return Ending(status="ok", said="session ended", result=text, response=text)

    def _answer_calls(self, attempt: Attempt, result: Turn, turn: int) -> Ending | None:
        """Answers every call in the given order; an ending when that ended the attempt.

        Calls that were not made then are answered as such: a context without an answer to a call
        could never be continued.
        """
        ending: Ending | None = None
        for call in result.tool_calls:
            ending = canceled("turn", turn) if attempt.cancel.is_set() else None
            if ending is not None:
                break
            message, frame = self._noticed(*self._dispatcher.dispatch(call, turn, attempt))
            attempt.frame(frame)
            attempt.history.add(message)
            if attempt.cancel.is_set():
                ending = canceled(attempt.interrupted.phase or "turn", turn)
                break
            if attempt.interrupted.timed_out:
                ending = unanswered(turn)
                break
        for missing in unanswered_calls(attempt.history.messages):
            attempt.history.add(missing)
        return ending

    def _noticed(self, message: Message, frame: ArtifactFrame) -> tuple[Message, ArtifactFrame]:
        """The answer with the deadline's notice after it, outside its fence, once it is due."""
        notice = self._settings.notice.take()
        if notice is None:
            return message, frame
        content = [*message["content"], {"type": "text", "text": notice}]
        said = dataclasses.replace(frame, content=f"{frame.content}\n{notice}")
        return {**message, "content": content}, said


def _assistant_message(turn: Turn) -> Message:
    message: Message = {"role": "assistant", "content": list(turn.content)}
    return {**message, "truncated": True} if turn.stop_reason == "max_tokens" else message
