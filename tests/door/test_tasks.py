"""Messages and tasks through the door. spec/door.md 9 to 13."""

import threading
import time
from typing import Any

import pytest

from murmur.core.tasks import Acceptance, StatusFrame, Task, TaskState
from murmur.session.board import Board

from .conftest import OpenDoor, ServedDoor


def ended(door: ServedDoor, task_id: str) -> Any:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        task = door.call("GetTask", {"id": task_id})["result"]
        if task["status"]["state"] in ("TASK_STATE_COMPLETED", "TASK_STATE_FAILED"):
            return task
        time.sleep(0.01)
    raise AssertionError("the task did not end")


def test_get_task_answers_the_response_and_the_final_status(open_door: OpenDoor) -> None:
    door = open_door()
    sent = door.send("hello", contextId="their own context")["result"]["task"]
    assert set(sent) == {"id", "contextId", "status"}
    assert sent["contextId"] == "their own context"
    task = ended(door, sent["id"])
    assert task["artifacts"] == [
        {
            "artifactId": "response",
            "name": "response",
            "parts": [{"text": "You said: hello", "mediaType": "text/plain"}],
        }
    ]
    message = task["status"]["message"]
    assert message == {
        "messageId": f"msg_{sent['id']}_status",
        "contextId": "their own context",
        "taskId": sent["id"],
        "role": "ROLE_AGENT",
        "parts": [{"text": "session ended", "mediaType": "text/plain"}],
    }


@pytest.mark.parametrize("method", ["GetTask", "CancelTask", "SubscribeToTask"])
def test_a_task_that_was_never_held_is_not_found_and_an_id_is_required(
    open_door: OpenDoor, method: str
) -> None:
    door = open_door(script=None)
    error = door.call(method, {"id": "tsk_x"})["error"]
    assert (error["code"], error["message"]) == (-32001, "Task not found")
    assert error["data"][0]["metadata"] == {"taskId": "tsk_x"}
    for params in ({}, {"id": ""}, {"id": 3}):
        error = door.call(method, params)["error"]
        assert (error["code"], error["message"]) == (-32602, f"{method} requires an id")


def test_a_full_queue_rejects_and_its_capacity_is_free_once_a_task_starts(
    open_door: OpenDoor,
) -> None:
    go = threading.Event()

    def wait(board: Board, task: Task) -> None:
        assert go.wait(10)
        board.finish(task.id, TaskState.COMPLETED, "session ended", response="done")

    door = open_door(script=wait, queue_depth=1)
    first = door.send()["result"]["task"]
    deadline = time.monotonic() + 10
    while door.board.get(first["id"]).state is not TaskState.WORKING:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    second = door.send()["result"]["task"]
    third = door.send()["result"]["task"]
    assert second["status"]["state"] == "TASK_STATE_SUBMITTED"
    assert third["status"]["state"] == "TASK_STATE_REJECTED"
    text = third["status"]["message"]["parts"][0]["text"]
    assert text == "task rejected: capsule is busy"
    go.set()
    ended(door, second["id"])
    assert door.send()["result"]["task"]["status"]["state"] == "TASK_STATE_SUBMITTED"


def test_single_takes_one_task_and_rejects_a_further_one(open_door: OpenDoor) -> None:
    door = open_door(script=None, acceptance=Acceptance.SINGLE)
    door.send()
    rejected = door.send()["result"]["task"]["status"]
    assert rejected["message"]["parts"][0]["text"] == "task rejected: capsule is busy"


def test_a_closing_session_rejects_as_closing(open_door: OpenDoor) -> None:
    door = open_door(script=None)
    door.board.stop_accepting()
    rejected = door.send()["result"]["task"]["status"]
    assert rejected["message"]["parts"][0]["text"] == "task rejected: the session is closing"


def test_canceling_a_queued_task_keeps_it_from_running_and_a_second_cancel_changes_nothing(
    open_door: OpenDoor,
) -> None:
    door = open_door(script=None)
    task_id = door.send()["result"]["task"]["id"]
    canceled = door.call("CancelTask", {"id": task_id})["result"]
    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
    said = canceled["status"]["message"]["parts"][0]["text"]
    assert said == "task canceled before it started"
    assert door.board.take(0) is None
    error = door.call("CancelTask", {"id": task_id})["error"]
    assert error["code"] == -32002
    assert error["data"][0]["metadata"] == {"taskId": task_id, "state": "TASK_STATE_CANCELED"}
    assert door.call("GetTask", {"id": task_id})["result"] == canceled


def test_a_cancel_answers_what_the_task_leaves_running(open_door: OpenDoor) -> None:
    door = open_door(script=None)
    task_id = door.send()["result"]["task"]["id"]
    item = {"kind": "detached_shell", "work_id": "wrk_9f", "command": "sleep 30"}
    door.board.set_residue(task_id, (item,))
    canceled = door.call("CancelTask", {"id": task_id})["result"]
    assert canceled["artifacts"] == [
        {
            "artifactId": "residue",
            "name": "residue",
            "parts": [{"data": item, "mediaType": "application/json"}],
        }
    ]
    assert "artifacts" not in door.call("GetTask", {"id": task_id})["result"]


def test_a_reply_goes_to_the_task_it_names_and_to_no_other(open_door: OpenDoor) -> None:
    def ask(board: Board, task: Task) -> None:
        reply = board.request_input(task.id, "which one?", 10)
        board.finish(task.id, TaskState.COMPLETED, "session ended", response=f"got {reply}")

    door = open_door(script=ask)
    sent = door.send()["result"]["task"]
    deadline = time.monotonic() + 10
    while (task := door.call("GetTask", {"id": sent["id"]})["result"])["status"][
        "state"
    ] != "TASK_STATE_INPUT_REQUIRED":
        assert time.monotonic() < deadline
        time.sleep(0.005)
    assert [part["name"] for part in task["artifacts"]] == ["prompt"]
    assert task["artifacts"][0]["parts"][0]["text"] == "which one?"
    other = door.send("the other task")["result"]["task"]
    assert other["status"]["state"] == "TASK_STATE_SUBMITTED"
    refused = door.send("x", taskId=sent["id"], contextId="ctx_other")["error"]
    assert refused["code"] == -32602
    waits_not = door.send("x", taskId=other["id"])["error"]
    assert waits_not["code"] == -32004
    assert waits_not["data"][0]["metadata"] == {
        "taskId": other["id"],
        "state": "TASK_STATE_SUBMITTED",
    }
    resumed = door.send("the red one", taskId=sent["id"])["result"]["task"]
    assert resumed["id"] == sent["id"]
    assert resumed["status"]["state"] == "TASK_STATE_WORKING"
    answer = ended(door, sent["id"])["artifacts"][0]["parts"][0]["text"]
    assert answer == "got the red one"


def test_a_refused_message_starts_nothing(open_door: OpenDoor) -> None:
    door = open_door(script=None)
    error = door.send("x", parts=[{"text": "a"}, {"raw": "AAAA", "mediaType": "image/png"}])
    assert error["error"]["code"] == -32005
    assert error["error"]["data"][0]["metadata"] == {"partIndex": "1", "mediaType": "image/png"}
    assert door.send("x", role="ROLE_AGENT")["error"]["code"] == -32602
    assert door.board.tasks() == ()


def test_stopping_cancels_every_task_and_ends_nothing(open_door: OpenDoor) -> None:
    door = open_door(script=None)
    ids = sorted(door.send()["result"]["task"]["id"] for _ in range(3))
    stopped = door.call("murmur.StopSession", {})["result"]
    assert stopped == {"session_id": door.facts.session_id, "canceled": ids, "residue": []}
    assert door.call("murmur.StopSession", {})["result"]["canceled"] == []
    assert door.send()["result"]["task"]["status"]["state"] == "TASK_STATE_SUBMITTED"


def test_the_launch_s_own_task_is_listed(open_door: OpenDoor) -> None:
    door = open_door(script=None, acceptance=Acceptance.NONE)
    own = door.board.submit_local("do it")
    listed = door.call("ListTasks")["result"]
    assert [task["id"] for task in listed["tasks"]] == [own.id]


def test_reports_reach_the_task_s_readers_while_it_runs(open_door: OpenDoor) -> None:
    def two_turns(board: Board, task: Task) -> None:
        board.frame(task.id, StatusFrame(TaskState.WORKING, "inference turn 1"))
        board.finish(task.id, TaskState.FAILED, "driver invocation failed: refused")

    door = open_door(script=two_turns)
    task = ended(door, door.send()["result"]["task"]["id"])
    assert task["status"]["state"] == "TASK_STATE_FAILED"
    said = task["status"]["message"]["parts"][0]["text"]
    assert said == "driver invocation failed: refused"
    assert "artifacts" not in task
