"""What each method of the door does. spec/door.md 10, 11.

A handler gets a `Call` whose envelope, version, credential and scope have already passed, and
answers with a result object or a stream; it refuses with an `RpcError`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.datastructures import Headers

from murmur.core.tasks import (
    Accepted,
    Caller,
    ContextMismatch,
    Submission,
    TaskBoard,
    TaskNotOpen,
    TaskState,
    UnknownTask,
    Watch,
)
from murmur.door import card, errors, extensions, methods
from murmur.door.card import CardFacts
from murmur.door.listing import list_tasks
from murmur.door.message import read_message, render
from murmur.door.senders import Sender, last_event_id
from murmur.door.stream import Bell, EventStream
from murmur.door.wire import connection_ack, task_object


@dataclass(frozen=True, slots=True)
class Call:
    """One request that may be answered. `forget_session` is the honoured header of that name."""

    request_id: str | int
    params: Mapping[str, Any]
    headers: Headers
    sender: Sender
    caller: Caller
    forget_session: bool = False


Handler = Callable[[Call], dict[str, Any] | EventStream]


class Calls:
    """The methods over one board, and the streams that they have opened."""

    def __init__(self, board: TaskBoard, facts: CardFacts) -> None:
        self._board = board
        self._facts = facts
        self._streams: set[EventStream] = set()
        self._handlers: Final[Mapping[str, Handler]] = {
            methods.SEND_MESSAGE: self._send_message,
            methods.SEND_STREAMING_MESSAGE: self._send_streaming_message,
            methods.WATCH_SESSION: self._watch_session,
            methods.GET_TASK: self._get_task,
            methods.LIST_TASKS: self._list_tasks,
            methods.SUBSCRIBE_TO_TASK: self._subscribe_to_task,
            methods.CANCEL_TASK: self._cancel_task,
            methods.STOP_SESSION: self._stop_session,
            methods.GET_EXTENDED_AGENT_CARD: self._get_extended_agent_card,
        }

    def answer(self, method: str, call: Call) -> dict[str, Any] | EventStream:
        """Runs a served method. Raises RpcError."""
        try:
            return self._handlers[method](call)
        except UnknownTask as unknown:
            raise errors.task_not_found(unknown.task_id) from None

    @property
    def open_streams(self) -> int:
        return len(self._streams)

    def end_streams(self) -> None:
        """Ends every open stream; call it on the event loop."""
        for stream in tuple(self._streams):
            stream.end()

    def _send_message(self, call: Call) -> dict[str, Any]:
        return {"task": task_object(self._accept(call, None).task)}

    def _send_streaming_message(self, call: Call) -> EventStream:
        bell = Bell()
        accepted = self._accept(call, bell)
        assert accepted.watch is not None
        refused = accepted.task.state is TaskState.REJECTED
        first = [] if refused else [{"task": task_object(accepted.task)}]
        return self._stream(call, first, accepted.watch, bell)

    def _accept(self, call: Call, bell: Bell | None) -> Accepted:
        message = read_message(call.params)
        submission = Submission(
            text=render(message, self._board.get),
            message_id=message.message_id,
            origin=call.sender.origin,
            trust=call.sender.trust,
            caller=call.caller,
            task_id=message.task_id,
            context_id=message.context_id,
            reference_task_ids=message.reference_task_ids,
            traceparent=call.headers.get("traceparent"),
            forget_session=call.forget_session,
        )
        try:
            if bell is None:
                return self._board.accept(submission)
            after = last_event_id(call.headers)
            return self._board.accept(submission, bell.notify, after)
        except TaskNotOpen as refusal:
            state = refusal.task.state.wire
            raise errors.unsupported_operation(
                f"The task waits for no message: it is {state}",
                {"taskId": refusal.task.id, "state": state},
            ) from None
        except ContextMismatch:
            raise errors.invalid_params(
                "message.contextId is not the context of the task that message.taskId names"
            ) from None

    def _watch_session(self, call: Call) -> EventStream:
        bell = Bell()
        watch = self._board.watch(None, bell.notify, last_event_id(call.headers) or 0)
        first = [connection_ack(self._facts.conversation_mode)]
        return self._stream(call, first, watch, bell, always_murmur=True)

    def _get_task(self, call: Call) -> dict[str, Any]:
        return task_object(self._board.get(_required_id(call, methods.GET_TASK)))

    def _list_tasks(self, call: Call) -> dict[str, Any]:
        return list_tasks(self._board.tasks(), call.params)

    def _subscribe_to_task(self, call: Call) -> EventStream:
        task_id = _required_id(call, methods.SUBSCRIBE_TO_TASK)
        bell = Bell()
        try:
            watch = self._board.watch(task_id, bell.notify, last_event_id(call.headers))
        except TaskNotOpen as refusal:
            state = refusal.task.state.wire
            raise errors.unsupported_operation(
                f"The task sends no more updates: it is {state}",
                {"taskId": task_id, "state": state},
            ) from None
        assert watch.task is not None
        return self._stream(call, [{"task": task_object(watch.task)}], watch, bell)

    def _cancel_task(self, call: Call) -> dict[str, Any]:
        task_id = _required_id(call, methods.CANCEL_TASK)
        try:
            report = self._board.cancel(task_id)
        except TaskNotOpen as refusal:
            raise errors.task_not_cancelable(task_id, refusal.task.state) from None
        return task_object(report.task, residue=report.residue)

    def _stop_session(self, call: Call) -> dict[str, Any]:
        report = self._board.cancel_all()
        return {
            "session_id": self._facts.session_id,
            "canceled": list(report.canceled),
            "residue": [dict(item) for item in report.residue],
        }

    def _get_extended_agent_card(self, call: Call) -> dict[str, Any]:
        return card.extended_card(self._facts)

    def _stream(
        self,
        call: Call,
        first: list[dict[str, Any]],
        watch: Watch,
        bell: Bell,
        always_murmur: bool = False,
    ) -> EventStream:
        asked = extensions.asked_for(call.headers.getlist(extensions.HEADER), extensions.STREAM)
        stream = EventStream(
            call.request_id, first, watch, bell, always_murmur or asked, self._streams.discard
        )
        self._streams.add(stream)
        return stream


def _required_id(call: Call, method: str) -> str:
    task_id = call.params.get("id")
    if not isinstance(task_id, str) or not task_id:
        raise errors.invalid_params(f"{method} requires an id")
    return task_id
