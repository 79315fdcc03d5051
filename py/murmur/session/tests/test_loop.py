"""Turns: payloads, stop reasons, bounds. spec/sessions.md 10.3; spec/artifacts.md 8 and 11."""

from pathlib import Path

import pytest

from murmur.core.tasks import TaskState
from murmur.guest.calls import GuestResult, ToolResult
from murmur.inference.spend import SpendMeter
from murmur.session.attempt import Attempt
from murmur.session.tests.scripted import Rig, call, calls, reply, rig, says, text


def echo(artifact: str, data: str, attempt: Attempt) -> GuestResult:
    return ToolResult("passed", data=data, metadata=(("state_effect", "writes"),))


def _run(at: Rig) -> str:
    at.submit()
    ending = at.runner.run(at.take())
    assert ending is not None
    return ending.status


def test_calls_of_one_message_are_answered_one_after_another_in_order(tmp_path: Path) -> None:
    both = calls(text("I look."), call("t", x=1), call("t", x=2))
    at = rig(tmp_path, [both, says("done")], tools={"t": echo})
    assert _run(at) == "ok"
    second = at.requests[1]["messages"]
    assert [message["role"] for message in second] == ["user", "assistant", "tool", "tool"]
    assert second[1]["content"] == [text("I look."), call("t", x=1), call("t", x=2)]
    assert second[2] == {
        "role": "tool",
        "tool_call_id": "call_t",
        "is_error": False,
        "content": [
            text('<untrusted-content source=tool:t>\n{"x":1}\n</untrusted-content>'),
        ],
    }
    assert '{"x":2}' in second[3]["content"][0]["text"]
    tool_calls = [event for event in at.events() if event["event_type"] == "tool_call"]
    assert [event["input"] for event in tool_calls] == [{"x": 1}, {"x": 2}]
    assert tool_calls[0]["state_effect"] == "writes"


def test_only_what_a_continuation_does_not_know_is_sent(tmp_path: Path) -> None:
    first = ToolResult(
        "passed",
        data=calls(call("t", x=1)).data,
        metadata=(("continuation_id", "r1"),),
    )
    at = rig(tmp_path, [first, says("done")], tools={"t": echo})
    assert _run(at) == "ok"
    assert at.requests[1]["continuation_id"] == "r1"
    assert [message["role"] for message in at.requests[1]["messages"]] == ["tool"]
    inferences = [event for event in at.events() if event["event_type"] == "inference"]
    assert [len(event["message_ids"]) for event in inferences] == [1, 1]
    assert inferences[1]["input_tokens"] > inferences[0]["input_tokens"]


def test_the_system_prompt_is_the_same_bytes_every_turn(tmp_path: Path) -> None:
    at = rig(tmp_path, [calls(call("t", x=1)), says("done")], tools={"t": echo})
    _run(at)
    assert at.requests[0]["system"] == at.requests[1]["system"]
    assert at.requests[0]["prompt_cache_key"] == at.requests[1]["prompt_cache_key"]


def test_every_turn_that_max_turns_allows_is_run_and_no_more(tmp_path: Path) -> None:
    at = rig(tmp_path, [calls(call("t", x=1))] * 2, tools={"t": echo}, max_turns=2)
    assert _run(at) == "max_turns_reached"
    assert len(at.requests) == 2
    assert at.result is not None and at.result.startswith("error: ")
    assert "exceeded 2 turns" in at.result
    (task,) = at.board.tasks()
    assert (task.state, task.status_text) == (
        TaskState.FAILED,
        "max_turns exceeded: the task used all 2 inference turns",
    )
    assert "task_failed" not in at.kinds()
    assert at.event("task_end")["exit_status"] == "max_turns_reached"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (
            reply("tool_call", text("hm")),
            "response stop_reason=tool_call but no tool_call blocks were present",
        ),
        (reply("refusal", text("hm")), "unsupported stop_reason=refusal"),
    ],
)
def test_an_answer_that_the_loop_cannot_act_on_is_a_good_call_and_a_failed_task(
    tmp_path: Path, answer: ToolResult, reason: str
) -> None:
    at = rig(tmp_path, [answer])
    assert _run(at) == "failed"
    assert at.result == f"error: {reason}"
    assert at.event("inference")["output_tokens"] > 0
    assert at.event("task_failed")["cause"] == "malformed_response"


@pytest.mark.parametrize("data", [None, "", "{", "[]", '{"stop_reason":"end_turn"}', "[" * 100_000])
def test_a_response_that_cannot_be_read_fails_the_task(tmp_path: Path, data: str | None) -> None:
    at = rig(tmp_path, [ToolResult("passed", data=data)])
    assert _run(at) == "failed"
    inference = at.event("inference")
    assert inference["error_code"] == "malformed_response"
    assert "input_tokens" not in inference


def test_an_empty_answer_is_an_answer(tmp_path: Path) -> None:
    at = rig(tmp_path, [reply("end_turn")])
    assert _run(at) == "ok"
    assert at.result == ""


def test_an_enormous_tool_result_reaches_the_model_whole(tmp_path: Path) -> None:
    big = "x" * 3_000_000

    def much(artifact: str, data: str, attempt: Attempt) -> GuestResult:
        return ToolResult("passed", data=big)

    at = rig(tmp_path, [calls(call("t", x=1)), says("done")], tools={"t": much})
    assert _run(at) == "ok"
    assert big in at.requests[1]["messages"][2]["content"][0]["text"]
    assert "output" not in at.event("tool_call")


def test_a_call_that_no_ceiling_admits_ends_the_task_before_its_turn_begins(
    tmp_path: Path,
) -> None:
    at = rig(tmp_path, [says("never")], meter=SpendMeter(session_limit=100))
    submitted = at.submit()
    assert _run_taken(at) == "spend_ceiling_reached"
    task = at.board.get(submitted.id)
    assert at.requests == [] and task.state is TaskState.FAILED
    line = at.event("spend_ceiling_reached")
    assert (line["turn"], line["task_id"], line["limit"]) == (0, task.id, "session")
    assert task.status_text is not None and task.status_text.startswith("spend ceiling reached: ")
    assert at.result == f"stopped: {task.status_text}"
    assert "task_failed" not in at.kinds() and "inference" not in at.kinds()
    assert at.event("task_end")["exit_status"] == "spend_ceiling_reached"


def test_after_a_refusal_every_later_task_of_the_session_is_refused(tmp_path: Path) -> None:
    at = rig(tmp_path, [calls(call("t", x=1)), says("never")], tools={"t": _long}, meter=_narrow())
    assert _run(at) == "spend_ceiling_reached"
    assert len(at.requests) == 1
    assert _run(at) == "spend_ceiling_reached"
    assert len(at.requests) == 1
    refused = [each for each in at.events() if each["event_type"] == "spend_ceiling_reached"]
    assert [each["turn"] for each in refused] == [1, 0]
    assert refused[1]["used"] + refused[1]["requested"] < refused[1]["ceiling"]


def _narrow() -> SpendMeter:
    """Room for several short calls and for no long one."""
    return SpendMeter(session_limit=1500)


def _long(artifact: str, data: str, attempt: Attempt) -> GuestResult:
    return ToolResult("passed", data="word " * 2000)


def _run_taken(at: Rig) -> str:
    ending = at.runner.run(at.take())
    assert ending is not None
    return ending.status
