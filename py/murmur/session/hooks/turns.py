"""Hooks within a turn: what they hear of the model's answer, and the compaction of the context.

spec/sessions.md 10.3 and 17.3. The context's occupancy is the runtime's own count, request and
response: providers' counts are recorded and acted on by nothing (spec/observability.md 7), and so
`compaction.tokens_before` is what the turn's own line says.
"""

import dataclasses
import json
from collections.abc import Callable

from murmur.core.safefs import Root
from murmur.core.tasks import ArtifactFrame
from murmur.inference.driver import Answered
from murmur.inference.payload import TurnRequest
from murmur.inference.reply import Turn
from murmur.inference.spend import SpendRefused
from murmur.manifest.inference import Compaction
from murmur.session.attempt import Attempt, Ending, failed, not_compacted, out_of_tokens
from murmur.session.hooks import events
from murmur.session.hooks.dispatch import Hooks
from murmur.session.hooks.messages import Message, from_hook, paired, summary_text
from murmur.session.notices import keep
from murmur.trace.writer import TraceWriter

SUMMARIES = "out/compaction-summaries.jsonl"


@dataclasses.dataclass(frozen=True, slots=True)
class TurnHooks:
    """The hooks as the loop meets them. `input_budget` is in tokens; None means no compaction.

    `compaction_prompt` is the manifest's own prompt for the summary, as resolved at launch;
    `refused` what HookInference notes there of the hooks that compact; `compacted` is told of each
    context that was replaced.
    """

    hooks: Hooks
    trace: TraceWriter
    records: Root
    compaction: Compaction
    compaction_prompt: str | None
    input_budget: int | None
    refused: dict[str, SpendRefused] = dataclasses.field(default_factory=dict)
    compacted: Callable[[], None] = lambda: None

    def answered(
        self, attempt: Attempt, request: TurnRequest, answered: Answered, result: Turn, turn: int
    ) -> None:
        """The model has answered: tells it, and puts the hooks' artifacts into the stream."""
        self.tell(attempt, turn, lambda: events.inference_event(turn, request, answered, result))

    def tell(self, attempt: Attempt, turn: int, event: Callable[[], events.Event]) -> None:
        """`on-inference` with that event."""
        self.hooks.scope.at_turn(turn)
        for found in self.hooks.observe("on-inference", event):
            if not _is_object(found.value):
                self.hooks.reject(found.hook, "on-inference", "artifact", "it is no JSON object")
                continue
            attempt.frame(ArtifactFrame(tool_name=found.hook, content=found.value))

    def compact(
        self, attempt: Attempt, request: TurnRequest, answered: Answered, turn: int
    ) -> Ending | None:
        """Compacts the context once it is full enough; an ending when a hook failed at that."""
        if not self.input_budget:
            return None
        occupancy = answered.input_tokens + (answered.output_tokens or 0)
        if occupancy / self.input_budget < self.compaction.threshold:
            return None
        return self._compact(attempt, request, answered.input_tokens, occupancy, turn)

    def compact_loaded(self, attempt: Attempt, request: TurnRequest) -> Ending | None:
        """Compacts a conversation that is resumed, before anything of it is sent.

        However full it is, and without a budget too. spec/sessions.md 22.
        """
        occupancy = request.input_tokens()
        return self._compact(attempt, request, occupancy, occupancy, attempt.turns.taken)

    def _compact(
        self, attempt: Attempt, request: TurnRequest, before: int, occupancy: int, turn: int
    ) -> Ending | None:
        """Asks the hooks; `before` are the request's tokens, `occupancy` the response's too."""
        ratio = occupancy / self.input_budget if self.input_budget else 1.0
        messages = attempt.history.messages
        self.refused.clear()
        said = self.hooks.compact(
            lambda: events.compaction_event(
                messages, occupancy, ratio, self.compaction.model, self.compaction_prompt
            )
        )
        if attempt.cancel.is_set():
            return None
        if said.failure is not None:
            reason = f"the compaction hook {said.failure.hook} failed: {said.failure.value}"
            self._log(reason)
            refused = self.refused.get(said.failure.hook)
            if refused is not None:
                return not_compacted(out_of_tokens(refused, turn))
            return not_compacted(failed(reason, "compaction_hook", turn))
        if said.replacement is None:
            self._decline(attempt, occupancy, turn, "no_hook_replacement")
            return None
        replacement = from_hook(said.replacement.value, messages)
        if not replacement or not paired(replacement):
            self._decline(attempt, occupancy, turn, "unresolved_tool_call")
            return None
        self._commit(attempt, request, before, replacement, turn)
        return None

    def _commit(
        self,
        attempt: Attempt,
        request: TurnRequest,
        before: int,
        replacement: list[Message],
        turn: int,
    ) -> None:
        attempt.history.replace(replacement, "replace-context")
        self.compacted()
        entered = tuple(attempt.history.messages)
        after = dataclasses.replace(request, messages=entered, continuation=None).input_tokens()
        self.trace.write_aside(
            "compaction",
            turn=turn,
            task_id=attempt.task_id,
            tokens_before=before,
            tokens_after=after,
        )
        self._log(f"turn {turn}: {before} tokens became {after}")
        if self.compaction.dump_summaries:
            self._dump(turn, before, after, entered)

    def _decline(self, attempt: Attempt, occupancy: int, turn: int, reason: str) -> None:
        self.trace.write_aside(
            "compaction_declined",
            turn=turn,
            task_id=attempt.task_id,
            tokens=occupancy,
            reason=reason,
        )
        self._log(f"turn {turn}: {occupancy} tokens stay as they are ({reason})")

    def _dump(self, turn: int, before: int, after: int, messages: tuple[Message, ...]) -> None:
        new = [each for each in messages if each.get("inserted_by") == "replace-context"]
        row = {
            "turn": turn,
            "tokens_before": before,
            "tokens_after": after,
            "summary": summary_text(new),
        }
        try:
            line = json.dumps(row, separators=(",", ":"), ensure_ascii=False)
            self.records.append(SUMMARIES, line.encode("utf-8", "replace") + b"\n")
        except OSError as failure:
            self._log(f"{SUMMARIES} cannot be written: {failure.strerror or failure}")

    def _log(self, line: str) -> None:
        keep(self.records, f"[compaction] {line}")


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
