"""What a hook asks of the runtime, and what it is told. spec/artifacts.md 15.6.

Every import links whatever is granted; one that is not answers so on each call.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from murmur.guest.questions import (
    CONVERSATION_INTERFACE,
    INFERENCE_INTERFACE,
    TASK_IO_INTERFACE,
    TOKENS_INTERFACE,
    Answer,
    Answering,
    Err,
    Ok,
    Question,
    Value,
    unserved,
)
from murmur.inference.tokens import count_tokens
from murmur.session.hooks.contracts import Handler, StagedHook
from murmur.session.hooks.inference import HookInference
from murmur.session.hooks.messages import Message, to_hook
from murmur.session.hooks.scope import Moment, Scope
from murmur.session.hooks.task_io import read_task

_NOT_GRANTED: Final = "not-granted"
_LARGEST_PAGE: Final = 100
_CURSOR: Final = "mc_"
_NO_DRIVER: Final = "no model can be called here: inference.driver.artifact is reached by"


class ReadRecord(Protocol):
    """Every message that a context's record holds, oldest first. Raises OSError."""

    def __call__(self, context_id: str) -> Sequence[Message]: ...


@dataclasses.dataclass(frozen=True, slots=True)
class Imports:
    """Answers hooks' questions. `inference` None is staging, and `transport: process`."""

    scope: Scope
    inference: HookInference | None
    read_record: ReadRecord | None

    def answering(
        self, hook: StagedHook, handler: Handler, moment: Callable[[], Moment] | None = None
    ) -> Answering:
        """Answers for one call of a handler; `moment` says where the session stood when it was
        asked for (default: stands now).
        """

        def answer(question: Question) -> Answer:
            now = self.scope.now
            arguments = question.arguments
            if question.interface == TOKENS_INTERFACE:
                return Value(count_tokens(str(arguments[0])))
            if question.interface == INFERENCE_INTERFACE:
                if self.inference is None:
                    return Err(f"{_NO_DRIVER} hooks of a running http session alone")
                return self.inference.run(
                    hook.name,
                    arguments[0],
                    now if moment is None else moment(),
                    compacting=handler == "on-compaction",
                    cancel=self.scope.cancel,
                )
            granted = hook.artifact.entry.capabilities
            if question.interface == TASK_IO_INTERFACE:
                if granted is None or granted.task_io is None or not granted.task_io.read:
                    return Err(_NOT_GRANTED)
                return read_task(now, question.function, arguments)
            if question.interface == CONVERSATION_INTERFACE:
                if granted is None or granted.conversation is None or not granted.conversation.read:
                    return Err(_NOT_GRANTED)
                context = (now if moment is None else moment()).context_id
                return self._page(context, *arguments)
            return unserved(question)

        return answer

    def _page(self, context: str | None, cursor: str | None, limit: int) -> Answer:
        """A page of the record, newest first. The cursor counts from the oldest message, so that
        later appends leave it true.
        """
        try:
            stored = self.read_record(context) if self.read_record and context else ()
        except OSError as failure:
            return Err(f"unavailable: {failure.strerror or failure}")
        end = len(stored)
        if cursor is not None:
            digits = cursor.removeprefix(_CURSOR)
            if digits == cursor or not (digits.isascii() and digits.isdigit()):
                return Err("invalid-cursor")
            if int(digits) > len(stored):
                return Err("invalid-cursor")
            end = int(digits)
        start = max(end - min(max(limit, 1), _LARGEST_PAGE), 0)
        page: dict[str, Any] = {
            "messages": [to_hook(message) for message in reversed(stored[start:end])],
            "next-cursor": f"{_CURSOR}{start}" if start else None,
            "total": len(stored),
        }
        return Ok(page)
