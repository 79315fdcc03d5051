"""Event streams, byte for byte and frame by frame. spec/door.md 16."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from murmur.core.tasks import (
    ArtifactFrame,
    StatusFrame,
    Task,
    TaskState,
    TextFrame,
    ThinkingFrame,
    ToolCallProgressFrame,
    ToolCallStartedFrame,
)
from murmur.door import stream
from murmur.door.extensions import STREAM
from murmur.session.board import Board

from .conftest import OpenDoor, ServedDoor

MESSAGE = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}


def request(method: str, params: object, **headers: str) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", "id": "r", "method": method, "params": params}).encode()
    lines = [
        "POST / HTTP/1.1",
        "host: x",
        "content-type: application/json",
        f"content-length: {len(body)}",
        "a2a-version: 1.0",
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def events(body: bytes) -> list[tuple[int | None, Any]]:
    """The (id, result) pairs of a whole body; every other line in it is a mistake."""
    assert body.endswith(b"\n\n")
    found = []
    for block in body.removesuffix(b"\n\n").split(b"\n\n"):
        if block == b":heartbeat":
            continue
        lines = block.split(b"\n")
        event_id = int(lines.pop(0).removeprefix(b"id: ")) if len(lines) == 2 else None
        (data,) = lines
        response = json.loads(data.removeprefix(b"data: "))
        assert (response["jsonrpc"], response["id"]) == ("2.0", "r")
        found.append((event_id, response["result"]))
    return found


def frames(found: list[tuple[int | None, Any]]) -> list[tuple[int | None, Any]]:
    """The murmur frames with their ids, wherever they ride."""
    return [
        (event_id, metadata[STREAM])
        for event_id, result in found
        if (metadata := result.get("metadata") or result.get("statusUpdate", {}).get("metadata"))
    ]


def read(door: ServedDoor, method: str, params: object, **headers: str) -> tuple[bytes, list[Any]]:
    head, _, body = door.raw(request(method, params, **headers)).partition(b"\r\n\r\n")
    return head, events(body)


class Reader:
    """An open stream, read event by event."""

    def __init__(self, door: ServedDoor, method: str, params: object, **headers: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", door.port), timeout=10)
        self._socket.sendall(request(method, params, **headers))
        self._file = self._socket.makefile("rb")
        self.head = b"".join(iter(self._file.readline, b"\r\n"))

    def block(self) -> bytes:
        """The next event or comment; nothing once the stream has ended."""
        return b"".join(iter(self._file.readline, b"\n")) if self._alive() else b""

    def _alive(self) -> bool:
        return bool(self._file.peek(1))

    def results(self) -> Iterator[tuple[int | None, Any]]:
        while block := self.block():
            yield from events(block + b"\n")

    def close(self) -> None:
        self._file.close()
        self._socket.close()


def everything(board: Board, task: Task) -> None:
    board.frame(task.id, StatusFrame(TaskState.WORKING, "inference turn 1"))
    board.frame(task.id, ThinkingFrame("hm"))
    board.frame(task.id, ToolCallStartedFrame("c1", "bash"))
    board.frame(task.id, ToolCallProgressFrame("c1", 12))
    board.frame(
        task.id,
        ArtifactFrame("bash", "Exit code: 3", "tool:bash", "c1", duration_ms=12, exit_code=3),
    )
    board.frame(task.id, ArtifactFrame("a-hook", "note"))
    board.frame(task.id, TextFrame("all of it", final=True))
    board.finish(task.id, TaskState.COMPLETED, "session ended", response="all of it")


def test_the_head_says_event_stream_without_a_length_and_the_body_ends_with_the_connection(
    open_door: OpenDoor,
) -> None:
    door = open_door()
    head, found = read(door, "SendStreamingMessage", {"message": MESSAGE})
    lines = [line.decode().lower() for line in head.split(b"\r\n")]
    assert lines[0] == "http/1.1 200 ok"
    assert "content-type: text/event-stream" in lines
    assert "cache-control: no-cache" in lines
    assert "connection: keep-alive" in lines
    assert not any(line.startswith(("content-length", "transfer-encoding")) for line in lines)
    assert not any(line.startswith("a2a-extensions") for line in lines)
    assert found[-1][1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


def test_every_frame_has_its_place_and_the_next_number(open_door: OpenDoor) -> None:
    door = open_door(script=everything)
    head, found = read(
        door, "SendStreamingMessage", {"message": MESSAGE}, a2a_extensions=f"x, {STREAM}"
    )
    assert b"a2a-extensions: " + STREAM.encode() in head
    assert list(found[0][1]) == ["task"]
    assert found[0][0] is None
    assert frames(found) == [
        (1, {"frame": "status", "message": "inference turn 1", "final": False}),
        (2, {"frame": "thinking", "text": "hm", "final": False}),
        (3, {"frame": "tool-call-started", "toolCallId": "c1", "toolName": "bash"}),
        (4, {"frame": "tool-call-progress", "toolCallId": "c1", "inputBytes": 12}),
        (
            5,
            {
                "frame": "artifact",
                "toolName": "bash",
                "content": "Exit code: 3",
                "fenceSource": "tool:bash",
                "toolCallId": "c1",
                "isError": False,
                "durationMs": 12,
                "exitCode": 3,
                "truncated": False,
            },
        ),
        (
            6,
            {
                "frame": "artifact",
                "toolName": "a-hook",
                "content": "note",
                "fenceSource": None,
                "toolCallId": None,
                "isError": False,
                "durationMs": None,
                "exitCode": None,
                "truncated": False,
            },
        ),
        (7, {"frame": "text", "text": "all of it", "final": True}),
        (
            8,
            {
                "frame": "status",
                "message": "session ended",
                "response": "all of it",
                "final": True,
            },
        ),
    ]
    event_id, answer = found[-2]
    assert event_id is None
    assert answer["artifactUpdate"]["artifact"]["artifactId"] == "response"
    states = [result["statusUpdate"]["status"]["state"] for _, result in found[1:-2]]
    assert set(states) == {"TASK_STATE_WORKING"}


def test_a_task_rejected_for_room_is_a_stream_of_one_rejected_status(open_door: OpenDoor) -> None:
    door = open_door(script=None, queue_depth=1)
    door.send()
    _, found = read(door, "SendStreamingMessage", {"message": MESSAGE}, a2a_extensions=STREAM)
    ((event_id, result),) = found
    assert event_id is None
    status = result["statusUpdate"]["status"]
    assert status["state"] == "TASK_STATE_REJECTED"
    assert status["message"]["parts"][0]["text"] == "task rejected: capsule is busy"
    assert result["statusUpdate"]["metadata"][STREAM]["final"] is True


def test_every_other_refusal_is_one_json_body(open_door: OpenDoor) -> None:
    door = open_door(script=None)
    for params in ({}, {"message": {**MESSAGE, "taskId": "tsk_x"}}):
        answer = door.raw(request("SendStreamingMessage", params))
        head, _, body = answer.partition(b"\r\n\r\n")
        assert b"content-type: application/json" in head.lower()
        assert "error" in json.loads(body)
    ended = door.send()["result"]["task"]["id"]
    door.call("CancelTask", {"id": ended})
    error = door.call("SubscribeToTask", {"id": ended})["error"]
    assert error["code"] == -32004


def test_a_watch_acknowledges_replays_and_goes_on_past_a_final_status(open_door: OpenDoor) -> None:
    door = open_door()
    read(door, "SendStreamingMessage", {"message": MESSAGE})
    reader = Reader(door, "murmur.WatchSession", {})
    results = reader.results()
    ack = {"frame": "connection-ack", "role": "observer", "conversationMode": "stateless"}
    assert next(results) == (None, {"metadata": {STREAM: ack}})
    assert [next(results)[0] for _ in range(6)] == [1, 2, 3, 4, None, 5]
    door.send()
    assert next(results)[0] == 6
    reader.close()


def test_last_event_id_replays_what_came_after_it(open_door: OpenDoor) -> None:
    door = open_door()
    read(door, "SendStreamingMessage", {"message": MESSAGE})
    for sent, replayed in (("3", [4, None, 5]), ("5", []), ("soon", [1, 2, 3, 4, None, 5])):
        reader = Reader(door, "murmur.WatchSession", {}, last_event_id=sent)
        results = reader.results()
        next(results)
        assert [next(results)[0] for _ in replayed] == replayed
        reader.close()


def test_a_number_never_issued_is_a_gap_and_the_whole_buffer(open_door: OpenDoor) -> None:
    door = open_door()
    read(door, "SendStreamingMessage", {"message": MESSAGE})
    reader = Reader(door, "murmur.WatchSession", {}, last_event_id="6")
    results = reader.results()
    next(results)
    gap = {"frame": "gap", "firstAvailableId": 1}
    assert next(results) == (None, {"metadata": {STREAM: gap}})
    assert next(results)[0] == 1
    reader.close()


def test_a_watch_ends_without_a_closing_frame_when_the_session_ends(open_door: OpenDoor) -> None:
    door = open_door()
    reader = Reader(door, "murmur.WatchSession", {})
    results = reader.results()
    next(results)
    began = time.monotonic()
    door.close()
    assert list(results) == []
    assert time.monotonic() - began < 2
    with pytest.raises(httpx.ConnectError):
        httpx.get(door.url)
    reader.close()


def test_a_heartbeat_comes_by_the_clock_whatever_else_is_written(
    open_door: OpenDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "HEARTBEAT_SECONDS", 0.2)
    door = open_door(script=None)
    reader = Reader(door, "SendStreamingMessage", {"message": MESSAGE})
    task_id = json.loads(reader.block().removeprefix(b"data: "))["result"]["task"]["id"]
    stop = threading.Event()

    def chatter() -> None:
        while not stop.wait(0.03):
            door.board.frame(task_id, StatusFrame(TaskState.WORKING, "again"))

    thread = threading.Thread(target=chatter)
    thread.start()
    began = time.monotonic()
    beats = 0
    while beats < 3:
        beats += reader.block() == b":heartbeat\n"
    elapsed = time.monotonic() - began
    stop.set()
    thread.join()
    reader.close()
    assert 0.5 < elapsed < 2


def test_a_client_that_leaves_is_forgotten_and_the_task_goes_on(open_door: OpenDoor) -> None:
    door = open_door(script=None)
    reader = Reader(door, "SendStreamingMessage", {"message": MESSAGE})
    task_id = json.loads(reader.block().removeprefix(b"data: "))["result"]["task"]["id"]
    reader.close()
    deadline = time.monotonic() + 10
    while door.server.open_streams:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert door.board.get(task_id).state is TaskState.SUBMITTED


def test_a_client_that_reads_too_slowly_loses_frames_is_told_and_delays_nobody(
    open_door: OpenDoor, capfd: pytest.CaptureFixture[str]
) -> None:
    piece = "x" * 20_000

    def flood(board: Board, task: Task) -> None:
        for _ in range(1000):
            board.frame(task.id, TextFrame(piece))
            time.sleep(0.0005)
        board.finish(task.id, TaskState.COMPLETED, "session ended", response="done")

    door = open_door(script=flood)
    reader = Reader(door, "SendStreamingMessage", {"message": MESSAGE}, a2a_extensions=STREAM)
    task_id = json.loads(reader.block().removeprefix(b"data: "))["result"]["task"]["id"]
    deadline = time.monotonic() + 30
    while not door.board.get(task_id).state.ended:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    seen = frames(list(reader.results()))
    reader.close()
    lost = sum(frame["missed"] for _, frame in seen if frame["frame"] == "lagged")
    numbers = [event_id for event_id, _ in seen if event_id is not None]
    assert lost > 0
    assert numbers == sorted(set(numbers))
    assert len(numbers) + lost == 1001
    assert seen[-1][1]["final"] is True
    assert f"a stream of {task_id} reads too slowly" in capfd.readouterr().err


def test_a_client_that_reads_nothing_is_cut_when_the_session_ends(open_door: OpenDoor) -> None:
    door = open_door(script=None)
    reader = Reader(door, "murmur.WatchSession", {})
    task = door.board.submit_local("x")
    for _ in range(200):
        door.board.frame(task.id, TextFrame("x" * 100_000))
        time.sleep(0.001)
    began = time.monotonic()
    door.close()
    assert time.monotonic() - began < 3
    reader.close()
