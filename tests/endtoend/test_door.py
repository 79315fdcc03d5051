"""A live capsule behind its door, used through the public A2A client."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as pb

from tests.endtoend.capsule import Place, replay, shell_turn, write_manifest

SERVING = {"task_acceptance": "queue", "after_task": "sleep"}


def _message(text: str) -> pb.SendMessageRequest:
    part = pb.Part(text=text)
    return pb.SendMessageRequest(
        message=pb.Message(message_id="m1", role=pb.Role.ROLE_USER, parts=[part])
    )


async def _use(url: str) -> tuple[list[pb.StreamResponse], pb.Task]:
    client = await ClientFactory(ClientConfig(streaming=True)).create_from_url(url)
    async with client:
        events = [event async for event in client.send_message(_message("Write it down."))]
        task = await client.get_task(pb.GetTaskRequest(id=events[0].task.id))
        return events, task


def _turns() -> list[dict[str, Any]]:
    content = "from the door"
    write = {"operation": "write_file", "dest_path": "note.txt", "content": content}
    return [
        {"text": "I write.", "tool_calls": [{"name": "tool-editor", "input": write}]},
        {"stream": ["It is ", "written."], "text": "It is written."},
    ]


def test_the_a2a_client_sends_a_message_streams_to_the_end_and_reads_the_task(
    place: Place, project: Path
) -> None:
    write_manifest(project, replay(_turns(), lifecycle=SERVING))
    running = place.start(cwd=project)
    try:
        card = httpx.get(f"{running.url}/.well-known/agent-card.json", timeout=10).json()
        assert card["name"] == "scripted"
        assert card["supportedInterfaces"][0]["protocolVersion"] == "1.0"
        events, task = asyncio.run(_use(running.url))
        kinds = [event.WhichOneof("payload") for event in events]
        assert kinds[0] == "task"
        assert kinds[-2:] == ["artifact_update", "status_update"]
        final = events[-1].status_update.status.state
        assert final == pb.TaskState.TASK_STATE_COMPLETED
        assert task.status.state == pb.TaskState.TASK_STATE_COMPLETED
        assert task.artifacts[0].parts[0].text == "It is written."
        note = Path(running.ready["workdir"]) / "note.txt"
        assert note.read_text() == "from the door"
    finally:
        running.end()
    trace = running.trace()
    events_of = [line["event_type"] for line in trace]
    assert events_of[1:3] == ["a2a_task_received", "task_start"]
    start = trace[2]
    assert (start["source"], start["origin"], start["lane"]) == ("a2a", "event", "bg")


def test_a_canceled_task_ends_canceled_and_the_session_takes_the_next(
    place: Place, project: Path
) -> None:
    slow: dict[str, Any] = {"when": {"newest": "slow"}, "text": "late", "delay_ms": 30_000}
    turns = [slow, {"text": "quick"}]
    write_manifest(project, replay(turns, lifecycle=SERVING))
    running = place.start(cwd=project)

    async def use() -> tuple[pb.Task, pb.Task]:
        client = await ClientFactory(ClientConfig(streaming=False)).create_from_url(running.url)
        async with client:
            (sent,) = [event async for event in client.send_message(_message("slow"))]
            while (await client.get_task(pb.GetTaskRequest(id=sent.task.id))).status.state != (
                pb.TaskState.TASK_STATE_WORKING
            ):
                await asyncio.sleep(0.02)
            canceled = await client.cancel_task(pb.CancelTaskRequest(id=sent.task.id))
            (next_one,) = [event async for event in client.send_message(_message("again"))]
            while True:
                task = await client.get_task(pb.GetTaskRequest(id=next_one.task.id))
                if task.status.state == pb.TaskState.TASK_STATE_COMPLETED:
                    return canceled, task
                await asyncio.sleep(0.02)

    try:
        canceled, completed = asyncio.run(asyncio.wait_for(use(), 60))
        assert canceled.status.state == pb.TaskState.TASK_STATE_CANCELED
        assert completed.artifacts[0].parts[0].text == "quick"
        assert running.wait_for("task_canceled")["phase"] == "inference"
    finally:
        running.end()


def test_an_authenticated_door_asks_for_its_token(place: Place, project: Path) -> None:
    manifest = replay([{"text": "x"}], lifecycle=SERVING)
    manifest["network"] = {"authentication": {"scheme": "bearer"}}
    write_manifest(project, manifest)
    running = place.start(cwd=project)
    try:
        assert running.ready["auth"] == "bearer"
        call = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}
        headers = {"a2a-version": "1.0"}
        refused = httpx.post(running.url, json=call, headers=headers, timeout=10)
        assert refused.status_code == 401
        record = place.home / ".murmur" / "running" / f"{running.ready['session_id']}.json"
        token = httpx.Response(200, content=record.read_bytes()).json()["door_token"]
        headers["authorization"] = f"Bearer {token}"
        allowed = httpx.post(running.url, json=call, headers=headers, timeout=10)
        assert allowed.status_code == 200 and allowed.json()["result"]["tasks"] == []
    finally:
        _, output, complaint = running.end()
    assert token not in output + complaint


def test_the_files_of_a_running_capsule_are_listed_and_read_while_it_works(
    place: Place, project: Path
) -> None:
    turns = [
        shell_turn("sh", "mkdir out && echo made > out/report.txt"),
        {"text": "late", "delay_ms": 60_000},
    ]
    write_manifest(
        project,
        replay(
            turns,
            capabilities={"shell": {"allow": ["sh", "mkdir"]}},
            exports={"files": {"root": "out", "mode": "read-only"}},
        ),
    )
    running = place.start("--task", "go", cwd=project)
    try:
        running.wait_for("shell")
        (entry,) = httpx.get(f"{running.url}/resources/files").json()["entries"]
        assert (entry["path"], entry["size_bytes"]) == ("report.txt", 5)
        answer = httpx.get(f"{running.url}/resources/files/report.txt")
        assert answer.text == "made\n"
        assert answer.headers["etag"] == f'"sha256:{entry["sha256"]}"'
        assert answer.headers["x-murmur-containment"] == "scoped"
        line = running.wait_for("resource_read")
        assert (line["path"], line["bytes"], line["outcome"]) == ("report.txt", 5, "ok")
        card = httpx.get(f"{running.url}/.well-known/agent-card.json").text
        assert '"planes":["files"]' in card
    finally:
        running.end(signal.SIGKILL)


def test_a_door_bound_elsewhere_is_reached_at_localhost_too(place: Place, project: Path) -> None:
    write_manifest(project, replay([{"text": "late", "delay_ms": 60_000}]))
    running = place.start("--task", "go", "--bind", "127.0.0.2", cwd=project)
    try:
        port = running.ready["url"].removeprefix("localhost:")
        for host in ("127.0.0.1", "127.0.0.2"):
            answer = httpx.get(f"http://{host}:{port}/.well-known/agent-card.json")
            assert answer.status_code == 200
        listed = place.mur("ps", cwd=project).stdout
        assert f"{running.ready['session_id']}  scripted@0.1.0            running" in listed
    finally:
        running.end(signal.SIGKILL)


def test_a_peer_s_task_is_let_in_by_consent_alone_and_keeps_its_class(
    place: Place, project: Path
) -> None:
    peer = {"x-murmur-task-origin": "peer", "x-murmur-task-trust": "trusted", "a2a-version": "1.0"}
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "from a peer"}]}
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
    for accept in (False, True):
        folder = project / str(accept)
        exports = {"peer_tasks": {"accept": accept}}
        write_manifest(folder, replay([{"text": "ok"}], exports=exports, lifecycle=SERVING))
        running = place.start(cwd=folder)
        try:
            card = httpx.get(f"{running.url}/.well-known/agent-card.json").text
            assert f'"peerTasks":{str(accept).lower()}' in card
            answer = httpx.post(running.url, json=body, headers=peer)
            if not accept:
                assert answer.status_code == 403
                assert answer.json()["error"] == "peer_not_accepted"
                continue
            started = running.wait_for("task_start")
            assert (started["origin"], started["trust"], started["lane"]) == (
                "peer",
                "trusted",
                "peer",
            )
        finally:
            running.end()
