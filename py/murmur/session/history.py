"""What a task's model calls are made of: the messages so far, each recorded the moment it enters.

A `History` is one task's view of one context; `Conversations` opens them for a session and holds
what outlives a task. Recording and loading are two things: `context.record` decides the first,
`lifecycle.conversation` and `--resume` the second. spec/sessions.md 10.2, 10.4 and 18.1.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from murmur.conversation.lines import message_id
from murmur.conversation.record import NO_IMAGES, Record
from murmur.core.home import Home
from murmur.core.ids import new_id
from murmur.inference.payload import Continuation
from murmur.manifest.segments import segment_problem

Message = dict[str, Any]

UNANSWERED: Final = "the call was not made: the task ended before it"


@dataclasses.dataclass(frozen=True, slots=True)
class Keeping:
    """How a session keeps its conversations.

    `store` None records nothing; `owner` is the capsule whose header a new record gets, None
    without `context.retain`; `threaded` loads what a context already holds; `resumed` is the one
    context that is loaded whatever `threaded` says, and `compacted` whether it is compacted then,
    the first time. `tell` takes a line for the operator.
    """

    home: Home | None = None
    store: str | None = None
    owner: str | None = None
    threaded: bool = False
    resumed: str | None = None
    compacted: bool = False
    tell: Callable[[str], None] = lambda line: None

    def record_of(self, context_id: str) -> Record | None:
        """The record of a context; None where there can be none."""
        if self.home is None or self.store is None or not context_id:
            return None
        if segment_problem(context_id) is not None:
            return None
        return Record(self.home, self.store, context_id, self.owner)


class Conversations:
    """Opens the history of each task. Used by the session's worker thread alone."""

    def __init__(self, keeping: Keeping) -> None:
        self._keeping = keeping
        self._told: set[str] = set()
        self._to_compact = keeping.resumed if keeping.compacted else None
        # The last task's, with the id of the last message that the driver knows under it.
        self._held: tuple[Continuation, str] | None = None

    def open(self, context_id: str) -> "History":
        """The history that a task of this context starts from."""
        keeping = self._keeping
        record = self._record(context_id)
        messages: list[Message] = []
        if record is not None and (keeping.threaded or context_id == keeping.resumed):
            messages = self._load(record)
        return History(context_id, messages, self, record, self._continued(context_id, messages))

    def to_compact(self, history: "History") -> bool:
        """Whether this is the resumed conversation as first loaded, to be compacted now."""
        if history.context_id != self._to_compact or not history.messages:
            return False
        self._to_compact = None
        return True

    def leave(self, history: "History") -> None:
        """The task is over; what its driver knows of the context may serve the next one."""
        held = history.continuation
        known = held.known if held is not None else 0
        if held is None or not 0 < known <= len(history.messages):
            self._held = None
            return
        last = message_id(history.messages[known - 1])
        self._held = (held, last) if last is not None else None

    def lost(self, path: Path, failure: OSError) -> None:
        """Says once that a record cannot be written, or read; the task goes on."""
        reason = failure.strerror or str(failure)
        self._once(f"[capsule-runtime] warning: {path} is not recorded: {reason}")

    def _continued(self, context_id: str, messages: list[Message]) -> Continuation | None:
        """The continuation of the task before, when these messages begin with what it knows.

        Records only grow at their end, so one id at its place stands for all before it.
        """
        if self._held is None:
            return None
        held, last = self._held
        if held.context_id != context_id or len(messages) < held.known:
            return None
        return held if message_id(messages[held.known - 1]) == last else None

    def _record(self, context_id: str) -> Record | None:
        record = self._keeping.record_of(context_id)
        if record is None and None not in (self._keeping.home, self._keeping.store) and context_id:
            self._once(
                f"[capsule-runtime] warning: the conversation {context_id!r} is not recorded: "
                f"as a context id, {segment_problem(context_id)}"
            )
        return record

    def _load(self, record: Record) -> list[Message]:
        try:
            contents = record.load()
        except OSError as failure:
            self.lost(record.path, failure)
            return []
        if contents.skipped:
            self._once(
                f"[capsule-runtime] warning: {record.path}: {contents.skipped} malformed "
                f"{'line was' if contents.skipped == 1 else 'lines were'} skipped"
            )
        return paired(contents.messages)

    def _once(self, line: str) -> None:
        if line not in self._told:
            self._told.add(line)
            self._keeping.tell(line)


class History:
    """The messages of one task's context, oldest first. Each has an `id` that never changes."""

    def __init__(
        self,
        context_id: str,
        messages: list[Message],
        conversations: Conversations,
        record: Record | None,
        continuation: Continuation | None,
    ) -> None:
        self.context_id = context_id
        self.messages = messages
        self.continuation = continuation
        self._conversations = conversations
        self._record = record
        self._images: dict[str, bytes] = {}
        self._brought: dict[str, bytes] = {}

    def add(self, message: Mapping[str, Any]) -> Message:
        """Appends a message, minting its id, and records it with the images that it names."""
        entering: Message = {**message, "id": message.get("id") or new_id("msg")}
        self.messages.append(entering)
        images, self._brought = self._brought, {}
        self._keep(entering, images)
        return entering

    def bring(self, images: Mapping[str, bytes]) -> None:
        """The images, by their SHA-256, of the message that is added next."""
        self._brought.update(images)

    def put_before(self, messages: Iterable[Mapping[str, Any]], inserted_by: str) -> list[Message]:
        """Places messages before all others and records them as `inserted_by` whom."""
        seeded = self._inserted(messages, inserted_by)
        self.messages[:0] = seeded
        self.continuation = None
        return seeded

    def replace(self, messages: Iterable[Mapping[str, Any]], inserted_by: str) -> None:
        """Replaces every message; what is new is recorded as `inserted_by` whom.

        A message that came back with its id stands in the record already and is not repeated.
        """
        self.messages[:] = self._inserted(messages, inserted_by)
        self.continuation = None

    def image(self, digest: str) -> bytes | None:
        """The bytes of an image that a message names; None when they are gone."""
        held = self._images.get(digest)
        if held is not None or self._record is None:
            return held
        try:
            return self._record.image(digest)
        except OSError:
            return None

    def close(self) -> None:
        """The task is over."""
        self._conversations.leave(self)

    def _inserted(self, messages: Iterable[Mapping[str, Any]], inserted_by: str) -> list[Message]:
        present = {each["id"] for each in self.messages}
        entering: list[Message] = []
        for message in messages:
            known = message.get("id")
            if known in present:
                entering.append(dict(message))
                continue
            new = {**message, "id": known or new_id("msg"), "inserted_by": inserted_by}
            self._keep(new, NO_IMAGES)
            entering.append(new)
        return entering

    def _keep(self, message: Message, images: Mapping[str, bytes]) -> None:
        if self._record is None:
            self._images.update(images)
            return
        try:
            self._record.append(message, images)
        except OSError as failure:
            self._images.update(images)
            self._conversations.lost(self._record.path, failure)


def paired(messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    """A loaded record as a driver can take it: every call answered, no answer without its call.

    A runtime that was killed between a call and its answer leaves the first, a truncation the
    second. Text alone as content becomes a block.
    """
    ready: list[Message] = []
    open_calls: list[str] = []
    for message in messages:
        role = message["role"]
        if role == "tool":
            if message.get("tool_call_id") not in open_calls:
                continue
            open_calls.remove(message["tool_call_id"])
        else:
            ready += map(_not_made, open_calls)
            open_calls = _calls_of(message) if role == "assistant" else []
        ready.append(_in_blocks(message))
    return [*ready, *map(_not_made, open_calls)]


def unanswered_calls(messages: Sequence[Mapping[str, Any]]) -> list[Message]:
    """An answer to each call of the newest assistant message that has none yet."""
    answered: set[object] = set()
    for message in reversed(messages):
        if message["role"] == "tool":
            answered.add(message.get("tool_call_id"))
        elif message["role"] == "assistant":
            return [_not_made(call) for call in _calls_of(message) if call not in answered]
        else:
            break
    return []


def _not_made(call_id: str) -> Message:
    """The answer to a call that was never made."""
    return {
        "role": "tool",
        "tool_call_id": call_id,
        "is_error": True,
        "content": [{"type": "text", "text": UNANSWERED}],
        "canceled": True,
        "id": new_id("msg"),
    }


def user_message(text: str, fence: str | None = None) -> Message:
    """A message of the task's sender; `fence` is the source it is fenced as, if it is."""
    message: Message = {"role": "user", "content": [{"type": "text", "text": text}]}
    return message if fence is None else {**message, "fence": fence}


def _calls_of(message: Mapping[str, Any]) -> list[str]:
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return [
        str(block.get("id", ""))
        for block in blocks
        if isinstance(block, Mapping) and block.get("type") == "tool_call"
    ]


def _in_blocks(message: Mapping[str, Any]) -> Message:
    content = message.get("content")
    if isinstance(content, list):
        blocks = [block for block in content if isinstance(block, Mapping)]
    else:
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else []
    return {**message, "content": blocks, "id": message_id(message) or new_id("msg")}
