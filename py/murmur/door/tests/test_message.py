"""Reading a message and rendering it. spec/door.md 10.1, 10.2."""

from typing import Any

import pytest

from murmur.core.tasks import Origin, Task, TaskState, Trust, UnknownTask
from murmur.door.errors import RpcError
from murmur.door.message import read_message, render


def params(**changes: object) -> dict[str, Any]:
    message: dict[str, object] = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
    return {"message": {**message, **changes}}


def no_task(task_id: str) -> Task:
    raise UnknownTask(task_id)


def rendered(*parts: object) -> str:
    return render(read_message(params(parts=list(parts))), no_task)


def refused(params: dict[str, Any]) -> RpcError:
    with pytest.raises(RpcError) as refusal:
        read_message(params)
    return refusal.value


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({}, "message must be an object"),
        ({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}, "message must be"),
        (params(messageId=""), "message.messageId"),
        (params(messageId=3), "message.messageId"),
        (params(messageId="", role="user"), "message.messageId"),
        (params(role="user"), "message.role"),
        (params(role="ROLE_AGENT"), "message.role"),
        (params(parts=[]), "message.parts"),
        (params(parts="hi"), "message.parts"),
        (params(parts=["hi"]), "message.parts[0]"),
        (params(parts=[{}]), "message.parts[0]"),
        (params(parts=[{"text": "a"}, {"text": "a", "data": 1}]), "message.parts[1]"),
        (params(parts=[{"text": 1}, {}]), "message.parts[1]"),
        (params(parts=[{"text": 1}]), "message.parts[0].text"),
        (params(parts=[{"text": "a", "mediaType": 1}]), "message.parts[0].mediaType"),
        (params(parts=[{"data": 1, "filename": []}]), "message.parts[0].filename"),
        (params(parts=[{"raw": 1}]), "message.parts[0].raw"),
        (params(taskId=1, parts=[{"raw": "AA=="}]), "message.taskId"),
        (params(contextId=1), "message.contextId"),
        (params(referenceTaskIds="a"), "message.referenceTaskIds"),
        (params(referenceTaskIds=["a", ""]), "message.referenceTaskIds"),
        (params(referenceTaskIds=[f"t{n}" for n in range(17)]), "message.referenceTaskIds"),
    ],
)
def test_the_first_field_at_fault_is_named(given: dict[str, Any], named: str) -> None:
    error = refused(given)
    assert error.code == -32602
    assert named in error.message


def test_bytes_and_urls_are_refused_last_with_the_part_s_index() -> None:
    error = refused(params(parts=[{"text": "a"}, {"url": "http://x", "mediaType": "image/png"}]))
    assert (error.code, error.metadata) == (-32005, {"partIndex": "1", "mediaType": "image/png"})
    assert refused(params(parts=[{"raw": "AA=="}])).metadata == {"partIndex": "0"}


def test_an_empty_or_null_id_is_none() -> None:
    for value in ("", None):
        message = read_message(params(taskId=value, contextId=value, referenceTaskIds=None))
        assert (message.task_id, message.context_id) == (None, None)


def test_sixteen_distinct_references_may_come_in_any_number() -> None:
    ids = [f"t{n}" for n in range(16)]
    assert read_message(params(referenceTaskIds=ids + ids)).reference_task_ids == tuple(ids)


def test_parts_are_joined_by_one_newline_and_texts_are_taken_as_they_are() -> None:
    assert rendered(
        {"text": "a", "mediaType": "text/html", "metadata": {"x": 1}}, {"text": ""}
    ) == ("a\n")


def test_data_is_a_fence_longer_than_any_run_of_backticks_in_it() -> None:
    assert rendered({"data": None}) == "```data\nnull\n```"
    assert rendered({"data": {"a": "````"}}) == '`````data\n{\n  "a": "````"\n}\n`````'
    labelled = {"data": 1, "mediaType": "a b", "filename": "x`=y.json"}
    assert rendered(labelled) == "```data media-type=a_b filename=x__y.json\n1\n```"


def held(state: TaskState, **facts: Any) -> Task:
    return Task("t", "c", state, "", Origin.EVENT, Trust.UNTRUSTED, 0, 0, 1, **facts)


def test_referenced_tasks_stand_below_as_they_were() -> None:
    tasks = {
        "live": held(TaskState.INPUT_REQUIRED),
        "done": held(TaskState.COMPLETED, status_text="session ended", response="the ``` answer"),
        "bad": held(TaskState.FAILED, status_text="driver\nfailed"),
    }

    def get(task_id: str) -> Task:
        return tasks.get(task_id) or no_task(task_id)

    message = read_message(params(referenceTaskIds=["live", "done", "bad", "live", "gone"]))
    assert render(message, get) == "\n".join(
        [
            "hi",
            "",
            "Referenced tasks:",
            "- live: input-required",
            "- done: completed",
            "````response",
            "the ``` answer",
            "````",
            "- bad: failed: driver failed",
            "- gone: not a task this capsule holds",
        ]
    )
