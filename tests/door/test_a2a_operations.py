"""Every operation of the public A2A client: blocking, streaming, with and without a token.

The client's operations are read from its class, so that one it gains is noticed here.
"""

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import httpx
import pytest
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.client.auth.credentials import CredentialService
from a2a.client.auth.interceptor import AuthInterceptor
from a2a.client.client import ClientCallContext
from a2a.client.interceptors import ClientCallInterceptor
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import (
    A2AError,
    MethodNotFoundError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)

from murmur.core.tasks import StatusFrame, Task, TaskState
from murmur.door.tokens import DoorTokens
from murmur.session.board import Board

from .conftest import OpenDoor, ServedDoor

OPERATIONS = {
    "send_message",
    "get_task",
    "list_tasks",
    "cancel_task",
    "subscribe",
    "get_extended_agent_card",
    "create_task_push_notification_config",
    "get_task_push_notification_config",
    "list_task_push_notification_configs",
    "delete_task_push_notification_config",
}
NOT_OPERATIONS = {"add_interceptor", "close"}


class Held(CredentialService):
    """The one token of a test."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def get_credentials(
        self, security_scheme_name: str, context: ClientCallContext | None
    ) -> str | None:
        return self._token


Use = Callable[[Client], Coroutine[Any, Any, Any]]


def using(door: ServedDoor, use: Use, *, streaming: bool, token: str | None = None) -> Any:
    """What `use` returns, with a client of the door."""

    async def run() -> Any:
        async with httpx.AsyncClient(timeout=20) as http:
            card = await A2ACardResolver(http, door.url).get_agent_card()
            factory = ClientFactory(ClientConfig(streaming=streaming, httpx_client=http))
            interceptors: list[ClientCallInterceptor] = []
            if token is not None:
                interceptors.append(AuthInterceptor(Held(token)))
            client = factory.create(card, interceptors=interceptors)
            return await use(client)

    return asyncio.run(run())


def message(text: str, **fields: Any) -> pb.SendMessageRequest:
    return pb.SendMessageRequest(
        message=pb.Message(
            message_id="m1", role=pb.Role.ROLE_USER, parts=[pb.Part(text=text)], **fields
        )
    )


async def collected(events: AsyncIterator[pb.StreamResponse]) -> list[pb.StreamResponse]:
    return [event async for event in events]


async def ended(client: Client, task_id: str) -> pb.Task:
    while True:
        task = await client.get_task(pb.GetTaskRequest(id=task_id))
        if task.status.state not in (
            pb.TaskState.TASK_STATE_SUBMITTED,
            pb.TaskState.TASK_STATE_WORKING,
        ):
            return task
        await asyncio.sleep(0.01)


def test_these_are_all_the_operations_that_the_client_has() -> None:
    public = {
        name for name, member in inspect.getmembers(Client, callable) if not name.startswith("_")
    }
    assert public - NOT_OPERATIONS == OPERATIONS


@pytest.fixture(params=["public", "bearer"])
def tokens(request: pytest.FixtureRequest) -> DoorTokens | None:
    return DoorTokens("worker", {}) if request.param == "bearer" else None


@pytest.fixture(params=["streaming", "blocking"])
def streaming(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "streaming")


def operator(tokens: DoorTokens | None) -> str | None:
    return None if tokens is None else tokens.operator


def test_sending_reading_and_listing(
    open_door: OpenDoor, tokens: DoorTokens | None, streaming: bool
) -> None:
    door = open_door(tokens=tokens)

    async def use(client: Client) -> None:
        events = await collected(client.send_message(message("hello", context_id="theirs")))
        kinds = [event.WhichOneof("payload") for event in events]
        if streaming:
            assert kinds == ["task", "status_update", "artifact_update", "status_update"]
        else:
            assert kinds == ["task"]
        task = await ended(client, events[0].task.id)
        assert task.status.state == pb.TaskState.TASK_STATE_COMPLETED
        assert task.context_id == "theirs"
        assert task.artifacts[0].parts[0].text == "You said: hello"
        await collected(client.send_message(message("other")))
        pages = []
        token = ""
        while True:
            page = await client.list_tasks(pb.ListTasksRequest(page_size=1, page_token=token))
            assert (page.page_size, page.total_size) == (1, 2)
            pages += [each.id for each in page.tasks]
            token = page.next_page_token
            if not token:
                break
        assert len(set(pages)) == 2 and task.id in pages
        mine = await client.list_tasks(pb.ListTasksRequest(context_id="theirs"))
        assert [each.id for each in mine.tasks] == [task.id]

    using(door, use, streaming=streaming, token=operator(tokens))


def test_subscribing_answering_and_canceling(
    open_door: OpenDoor, tokens: DoorTokens | None, streaming: bool
) -> None:
    def ask(board: Board, task: Task) -> None:
        board.frame(task.id, StatusFrame(TaskState.WORKING, "inference turn 1"))
        reply = board.request_input(task.id, "which?", 20)
        board.finish(task.id, TaskState.COMPLETED, "session ended", response=f"got {reply}")

    door = open_door(script=ask, tokens=tokens)

    async def use(client: Client) -> None:
        asked = client.send_message(message("ask me"))
        task_id = (await anext(asked)).task.id
        while (await client.get_task(pb.GetTaskRequest(id=task_id))).status.state != (
            pb.TaskState.TASK_STATE_INPUT_REQUIRED
        ):
            await asyncio.sleep(0.01)
        subscribed = client.subscribe(pb.SubscribeToTaskRequest(id=task_id))
        if streaming:
            first = await anext(subscribed)
            assert first.task.status.state == pb.TaskState.TASK_STATE_INPUT_REQUIRED
            assert first.task.artifacts[0].parts[0].text == "which?"
        else:
            # A client that was made to block does not even ask.
            with pytest.raises(NotImplementedError):
                await anext(subscribed)
        other = client.send_message(message("queued"))
        queued = (await anext(other)).task
        canceled = await client.cancel_task(pb.CancelTaskRequest(id=queued.id))
        assert canceled.status.state == pb.TaskState.TASK_STATE_CANCELED
        with pytest.raises(TaskNotCancelableError):
            await client.cancel_task(pb.CancelTaskRequest(id=queued.id))
        with pytest.raises(UnsupportedOperationError):
            await collected(client.send_message(message("to an ended one", task_id=queued.id)))
        answered = client.send_message(message("the red one", task_id=task_id))
        assert (await anext(answered)).WhichOneof("payload") == "task"
        if not streaming:
            task = await ended(client, task_id)
            assert task.artifacts[0].parts[0].text == "got the red one"
            return
        rest = await collected(subscribed)
        assert rest[-1].status_update.status.state == pb.TaskState.TASK_STATE_COMPLETED
        assert rest[-2].artifact_update.artifact.parts[0].text == "got the red one"
        with pytest.raises(UnsupportedOperationError):
            await collected(client.subscribe(pb.SubscribeToTaskRequest(id=task_id)))
        with pytest.raises(TaskNotFoundError):
            await collected(client.subscribe(pb.SubscribeToTaskRequest(id="tsk_none")))

    using(door, use, streaming=streaming, token=operator(tokens))


def test_a_task_is_canceled_while_it_works(
    open_door: OpenDoor, tokens: DoorTokens | None, streaming: bool
) -> None:
    def wait(board: Board, task: Task) -> None:
        board.frame(task.id, StatusFrame(TaskState.WORKING, "inference turn 1"))
        stopped: threading.Event = board.cancelled(task.id)
        assert stopped.wait(20)
        board.finish(task.id, TaskState.FAILED, "session ended")

    door = open_door(script=wait, tokens=tokens)

    async def use(client: Client) -> None:
        sent = client.send_message(message("long"))
        task_id = (await anext(sent)).task.id
        task = await client.cancel_task(pb.CancelTaskRequest(id=task_id))
        assert task.status.state == pb.TaskState.TASK_STATE_CANCELED
        rest = await collected(sent)
        assert not rest or rest[-1].status_update.status.state == task.status.state

    using(door, use, streaming=streaming, token=operator(tokens))


def test_the_extended_card_is_behind_a_token(
    open_door: OpenDoor, tokens: DoorTokens | None, streaming: bool
) -> None:
    door = open_door(tokens=tokens, tools=("tool-editor",))

    async def use(client: Client) -> pb.AgentCard:
        return await client.get_extended_agent_card(pb.GetExtendedAgentCardRequest())

    card = using(door, use, streaming=streaming, token=operator(tokens))
    uris = [each.uri.rpartition("#")[2] for each in card.capabilities.extensions]
    # Without one the client answers with the public card, which names the session itself.
    assert uris == ["murmur-door-v1", "murmur-capsule-v1", "murmur-stream-v1"]
    assert card.capabilities.extended_agent_card == (tokens is not None)


def test_push_notifications_are_none_of_the_door_s_methods(
    open_door: OpenDoor, tokens: DoorTokens | None, streaming: bool
) -> None:
    door = open_door(tokens=tokens)

    async def use(client: Client) -> None:
        calls: list[Callable[[], Coroutine[Any, Any, Any]]] = [
            lambda: client.create_task_push_notification_config(
                pb.TaskPushNotificationConfig(task_id="t", url="http://x/")
            ),
            lambda: client.get_task_push_notification_config(
                pb.GetTaskPushNotificationConfigRequest(task_id="t", id="c")
            ),
            lambda: client.list_task_push_notification_configs(
                pb.ListTaskPushNotificationConfigsRequest(task_id="t")
            ),
            lambda: client.delete_task_push_notification_config(
                pb.DeleteTaskPushNotificationConfigRequest(task_id="t", id="c")
            ),
        ]
        for call in calls:
            with pytest.raises(MethodNotFoundError):
                await call()

    using(door, use, streaming=streaming, token=operator(tokens))


def test_a_client_without_the_token_gets_nowhere(open_door: OpenDoor, streaming: bool) -> None:
    tokens = DoorTokens("worker", {"reader": ["GetTask"]})
    door = open_door(tokens=tokens)

    async def use(client: Client) -> None:
        with pytest.raises(A2AError):
            await collected(client.send_message(message("hello")))

    for token in (None, "mdt1.none.none", tokens.credentials["reader"]):
        using(door, use, streaming=streaming, token=token)
    assert door.board.tasks() == ()
