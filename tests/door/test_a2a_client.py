"""The public A2A client against a served door, with every answer parsed strictly besides."""

import asyncio
from typing import Any

import httpx
import pytest
from a2a.client import ClientCallContext, ClientConfig, ClientFactory
from a2a.client.service_parameters import ServiceParametersFactory, with_a2a_extensions
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import InvalidParamsError, TaskNotCancelableError, TaskNotFoundError
from google.protobuf.json_format import MessageToDict, ParseDict  # type: ignore[import-untyped]

from murmur.core.tasks import StatusFrame, Task, TaskState
from murmur.door.extensions import STREAM
from murmur.session.board import Board

from .conftest import OpenDoor, ServedDoor


def message(text: str) -> pb.SendMessageRequest:
    part = pb.Part(text=text)
    return pb.SendMessageRequest(
        message=pb.Message(message_id="m1", role=pb.Role.ROLE_USER, parts=[part])
    )


async def connect(door: ServedDoor, *, streaming: bool = True) -> Any:
    factory = ClientFactory(ClientConfig(streaming=streaming))
    return await factory.create_from_url(f"http://{door.facts.address}")


def test_the_client_fetches_the_card_sends_streams_to_the_end_and_reads_the_task(
    open_door: OpenDoor,
) -> None:
    door = open_door()

    async def use() -> tuple[list[pb.StreamResponse], pb.Task, pb.ListTasksResponse]:
        client = await connect(door)
        async with client:
            events = [event async for event in client.send_message(message("good\u2028day"))]
            task = await client.get_task(pb.GetTaskRequest(id=events[0].task.id))
            listed = await client.list_tasks(pb.ListTasksRequest(include_artifacts=True))
            return events, task, listed

    events, task, listed = asyncio.run(use())
    kinds = [event.WhichOneof("payload") for event in events]
    assert kinds == ["task", "status_update", "artifact_update", "status_update"]
    assert events[0].task.status.state == pb.TaskState.TASK_STATE_SUBMITTED
    assert events[1].status_update.status.message.parts[0].text == "inference turn 1"
    assert events[2].artifact_update.artifact.parts[0].text == "You said: good\u2028day"
    assert events[2].artifact_update.last_chunk
    assert events[3].status_update.status.state == pb.TaskState.TASK_STATE_COMPLETED
    assert not any(event.status_update.HasField("metadata") for event in events)
    assert task.status.state == pb.TaskState.TASK_STATE_COMPLETED
    assert [artifact.name for artifact in task.artifacts] == ["response"]
    assert task.artifacts[0].parts[0].text == "You said: good\u2028day"
    assert list(listed.tasks) == [task]
    assert listed.total_size == 1


def test_a_message_without_streaming_answers_at_once_with_the_task(open_door: OpenDoor) -> None:
    door = open_door(script=None)

    async def use() -> list[pb.StreamResponse]:
        client = await connect(door, streaming=False)
        async with client:
            return [event async for event in client.send_message(message("hello"))]

    (event,) = asyncio.run(use())
    assert event.task.status.state == pb.TaskState.TASK_STATE_SUBMITTED
    assert event.task.id.startswith("tsk_")
    assert event.task.context_id.startswith("ctx_")


def test_murmur_frames_come_only_to_a_client_that_asks_for_the_stream_extension(
    open_door: OpenDoor,
) -> None:
    door = open_door()

    async def use() -> list[pb.StreamResponse]:
        client = await connect(door)
        parameters = ServiceParametersFactory.create([with_a2a_extensions([STREAM])])
        context = ClientCallContext(service_parameters=parameters)
        async with client:
            return [event async for event in client.send_message(message("hi"), context=context)]

    frames = [
        MessageToDict(event.status_update.metadata)[STREAM]
        for event in asyncio.run(use())
        if event.HasField("status_update")
    ]
    assert frames == [
        {"frame": "status", "message": "inference turn 1", "final": False},
        {"frame": "text", "text": "You said: ", "final": False},
        {"frame": "text", "text": "hi", "final": False},
        {"frame": "text", "text": "", "final": True},
        {
            "frame": "status",
            "message": "session ended",
            "response": "You said: hi",
            "final": True,
        },
    ]


def test_a_running_task_can_be_subscribed_to_and_canceled(open_door: OpenDoor) -> None:
    def until_canceled(board: Board, task: Task) -> None:
        board.frame(task.id, StatusFrame(TaskState.WORKING, "inference turn 1"))
        assert board.cancelled(task.id).wait(10)
        assert not board.finish(task.id, TaskState.FAILED, "session ended")

    door = open_door(script=until_canceled)

    async def use() -> tuple[list[pb.StreamResponse], pb.Task]:
        client = await connect(door)
        async with client:
            sent = client.send_message(message("long work"))
            task_id = (await anext(sent)).task.id
            seen: list[pb.StreamResponse] = []
            async for event in client.subscribe(pb.SubscribeToTaskRequest(id=task_id)):
                seen.append(event)
                if len(seen) == 1:
                    canceled = await client.cancel_task(pb.CancelTaskRequest(id=task_id))
            with pytest.raises(TaskNotCancelableError):
                await client.cancel_task(pb.CancelTaskRequest(id=task_id))
            return seen, canceled

    seen, canceled = asyncio.run(use())
    assert seen[0].HasField("task")
    assert seen[-1].status_update.status.state == pb.TaskState.TASK_STATE_CANCELED
    assert canceled.status.state == pb.TaskState.TASK_STATE_CANCELED
    assert canceled.status.message.parts[0].text == "task canceled"


def test_the_client_sees_the_closed_set_of_errors(open_door: OpenDoor) -> None:
    door = open_door()

    async def use() -> None:
        client = await connect(door)
        async with client:
            with pytest.raises(TaskNotFoundError):
                await client.get_task(pb.GetTaskRequest(id="tsk_unknown"))
            empty = pb.SendMessageRequest(
                message=pb.Message(message_id="m", role=pb.Role.ROLE_USER)
            )
            with pytest.raises(InvalidParamsError, match=r"message\.parts"):
                async for _ in client.send_message(empty):
                    pass

    asyncio.run(use())


def test_everything_the_door_writes_parses_strictly(open_door: OpenDoor) -> None:
    door = open_door(tools=("murmur/tool-editor",), shell=True, planes=("files",))
    card = httpx.get(f"{door.url}/.well-known/agent-card.json").json()
    parsed = ParseDict(card, pb.AgentCard())
    assert parsed.supported_interfaces[0].url == f"http://localhost:{door.port}"
    sent = door.send("hi")["result"]
    ParseDict(sent, pb.SendMessageResponse())
    ParseDict(door.call("GetTask", {"id": sent["task"]["id"]})["result"], pb.Task())
    ParseDict(door.call("ListTasks")["result"], pb.ListTasksResponse())
