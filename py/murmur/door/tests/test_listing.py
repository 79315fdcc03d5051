"""ListTasks. spec/door.md 11."""

from typing import Any

import pytest

from murmur.core.tasks import Origin, Task, TaskState, Trust
from murmur.door.errors import RpcError
from murmur.door.listing import list_tasks


def held(revision: int, state: TaskState = TaskState.COMPLETED, context: str = "c") -> Task:
    return Task(
        f"t{revision}",
        context,
        state,
        "",
        Origin.EVENT,
        Trust.UNTRUSTED,
        revision * 1000,
        revision * 1000,
        revision,
        response="answer",
    )


TASKS = [held(n) for n in range(120, 0, -1)]


def ids(result: dict[str, Any]) -> list[str]:
    return [task["id"] for task in result["tasks"]]


def test_the_result_always_carries_its_four_members() -> None:
    assert list_tasks([], {}) == {
        "tasks": [],
        "nextPageToken": "",
        "pageSize": 50,
        "totalSize": 0,
    }


def test_pages_follow_each_other_until_the_token_is_empty() -> None:
    seen: list[str] = []
    token = ""
    for size in (50, 50, 20):
        page = list_tasks(TASKS, {"pageToken": token})
        assert (len(page["tasks"]), page["totalSize"]) == (size, 120)
        seen += ids(page)
        token = page["nextPageToken"]
    assert token == ""
    assert seen == [task.id for task in TASKS]


def test_a_task_that_changes_between_two_pages_hides_no_other() -> None:
    first = list_tasks(TASKS, {"pageSize": 100})
    moved = [held(121), *[task for task in TASKS if task.id != "t5"]]
    second = list_tasks(moved, {"pageSize": 100, "pageToken": first["nextPageToken"]})
    assert ids(second) == [f"t{n}" for n in range(20, 0, -1) if n != 5]


def test_filters_hold_together() -> None:
    tasks = [held(3, context="d"), held(2, TaskState.WORKING), held(1)]
    assert ids(list_tasks(tasks, {"contextId": "c"})) == ["t2", "t1"]
    assert ids(list_tasks(tasks, {"status": "TASK_STATE_COMPLETED"})) == ["t3", "t1"]
    assert ids(list_tasks(tasks, {"status": "TASK_STATE_AUTH_REQUIRED"})) == []
    assert ids(list_tasks(tasks, {"status": "TASK_STATE_UNSPECIFIED"})) == ["t3", "t2", "t1"]
    at_two = {"statusTimestampAfter": "1970-01-01T00:00:02.000Z"}
    assert ids(list_tasks(tasks, at_two)) == ["t3", "t2"]
    assert ids(list_tasks(tasks, {**at_two, "contextId": "c"})) == ["t2"]


def test_artifacts_are_left_out_unless_asked_for() -> None:
    assert "artifacts" not in list_tasks(TASKS, {})["tasks"][0]
    shown = list_tasks(TASKS, {"includeArtifacts": True, "historyLength": 3})["tasks"][0]
    assert shown["artifacts"][0]["name"] == "response"


@pytest.mark.parametrize(
    "params",
    [
        {"pageSize": 0},
        {"pageSize": 101},
        {"pageSize": True},
        {"pageSize": "50"},
        {"pageToken": "nonsense"},
        {"pageToken": "\u00e9"},
        {"pageToken": 3},
        {"contextId": 3},
        {"status": "completed"},
        {"statusTimestampAfter": "yesterday"},
        {"statusTimestampAfter": "2026-01-01T00:00:00"},
        {"includeArtifacts": "yes"},
    ],
)
def test_a_bad_value_answers_32602_and_names_the_parameter(params: dict[str, Any]) -> None:
    with pytest.raises(RpcError) as refusal:
        list_tasks(TASKS, params)
    assert refusal.value.code == -32602
    assert next(iter(params)) in refusal.value.message
