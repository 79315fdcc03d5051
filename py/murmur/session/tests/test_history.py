"""A task's messages: recorded as they enter, loaded as a driver can take them.

spec/sessions.md 10.2, 10.4, 12, 18.
"""

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from murmur.conversation.record import Record
from murmur.core.home import Home
from murmur.guest.calls import GuestResult, ToolResult
from murmur.inference.payload import Continuation, TurnRequest
from murmur.manifest.session import Lifecycle
from murmur.session.attempt import Attempt, Ending, failed
from murmur.session.history import Conversations, Keeping, paired, user_message
from murmur.session.loop import AgentLoop
from murmur.session.tests.scripted import Rig, call, calls, reply, rig, says, text

THREADED = Lifecycle(conversation="threaded")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    root = tmp_path / ".murmur"
    root.mkdir(mode=0o700)
    return Home(root)


def kept(home: Home, **more: Any) -> Keeping:
    return Keeping(home=home, store="demo", **more)


def recorded(home: Home, context: str) -> list[dict[str, Any]]:
    return [dict(each) for each in Record(home, "demo", context).load().messages]


def run(at: Rig, context: str | None = None) -> str:
    at.board.submit_local("go", context_id=context)
    ending = at.runner.run(at.take())
    assert ending is not None
    return ending.status


def echo(artifact: str, data: str, attempt: Attempt) -> GuestResult:
    return ToolResult("passed", data=data)


def test_every_message_is_recorded_with_its_envelope_and_none_of_it_is_sent(
    tmp_path: Path, home: Home
) -> None:
    answers = [calls(call("t", x=1)), reply("max_tokens", text("hal"))]
    at = rig(tmp_path, answers, tools={"t": echo}, keeping=kept(home))
    at.submit("look")
    task = at.take()
    at.runner.run(task)
    user, asked, answered, said = recorded(home, task.context_id)
    assert [each["role"] for each in (user, asked, answered, said)] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert user["fence"] == "task:event" and answered["fence"] == "tool:t"
    assert said["truncated"] is True and "truncated" not in asked
    assert all(each["id"].startswith("msg_") for each in (user, asked, answered, said))
    for request in at.requests:
        for message in request["messages"]:
            assert set(message) <= {"role", "content", "tool_call_id", "is_error"}


def test_a_task_that_failed_is_recorded_as_far_as_it_came(tmp_path: Path, home: Home) -> None:
    at = rig(tmp_path, [ToolResult("failed", summary="no")], keeping=kept(home))
    assert run(at, "ctx_1") == "failed"
    assert [each["role"] for each in recorded(home, "ctx_1")] == ["user"]


def test_stateless_tasks_record_one_conversation_and_load_none(tmp_path: Path, home: Home) -> None:
    at = rig(tmp_path, [says("one"), says("two")], keeping=kept(home))
    run(at, "ctx_1")
    run(at, "ctx_1")
    assert len(at.requests[1]["messages"]) == 1
    assert len(recorded(home, "ctx_1")) == 4


def test_threaded_tasks_start_from_the_whole_record(tmp_path: Path, home: Home) -> None:
    at = rig(
        tmp_path,
        [says("one"), says("two"), says("other")],
        keeping=kept(home, threaded=True),
        lifecycle=THREADED,
    )
    first = at.board.submit_local("go", context_id="ctx_1")
    at.runner.run(at.take())
    run(at, "ctx_1")
    run(at, "ctx_2")
    assert [each["role"] for each in at.requests[1]["messages"]] == ["user", "assistant", "user"]
    assert len(at.requests[2]["messages"]) == 1
    assert (tmp_path / "out" / f"result_{first.id}.txt").read_text() == "one"


def test_only_the_resumed_context_is_loaded_when_stateless(tmp_path: Path, home: Home) -> None:
    Record(home, "demo", "ctx_1").append({"role": "user", "content": "before", "id": "msg_1"})
    at = rig(tmp_path, [says("one"), says("two")], keeping=kept(home, resumed="ctx_1"))
    run(at, "ctx_1")
    run(at, "ctx_2")
    assert at.requests[0]["messages"][0]["content"] == [text("before")]
    assert len(at.requests[1]["messages"]) == 1


def test_a_continuation_serves_the_next_task_of_its_context(tmp_path: Path, home: Home) -> None:
    def named(words: str) -> ToolResult:
        said = says(words)
        return ToolResult("passed", data=said.data, metadata=(("continuation_id", words),))

    answers = [named("one"), named("two"), says("three"), says("four")]
    at = rig(tmp_path, answers, keeping=kept(home, threaded=True), lifecycle=THREADED)
    run(at, "ctx_1")
    run(at, "ctx_1")
    assert at.requests[1]["continuation_id"] == "one"
    assert [each["role"] for each in at.requests[1]["messages"]] == ["user"]
    run(at, "ctx_2")
    run(at, "ctx_1")
    assert "continuation_id" not in at.requests[2]
    assert "continuation_id" not in at.requests[3] and len(at.requests[3]["messages"]) == 5


def test_a_continuation_is_dropped_when_the_record_was_cut_meanwhile(home: Home) -> None:
    conversations = Conversations(kept(home, threaded=True))
    history = conversations.open("ctx_1")
    for words in ("a", "b", "c"):
        history.add(user_message(words))
    history.continuation = Continuation("r1", "ctx_1", 3)
    history.close()
    assert conversations.open("ctx_1").continuation is not None
    Record(home, "demo", "ctx_1").truncate(1)
    assert conversations.open("ctx_1").continuation is None


def test_record_off_makes_nothing(tmp_path: Path, home: Home) -> None:
    at = rig(tmp_path, [says("one")], keeping=Keeping(home=home, store=None))
    run(at, "ctx_1")
    assert not home.conversations.exists()


@pytest.mark.parametrize("context", ["../x", "a/b", ".hidden", ".."])
def test_a_context_id_that_names_no_folder_costs_only_the_record(
    tmp_path: Path, home: Home, context: str
) -> None:
    told: list[str] = []
    answers = [says("one"), says("two")]
    at = rig(tmp_path, answers, keeping=kept(home, threaded=True, tell=told.append))
    assert run(at, context) == run(at, context) == "ok"
    assert not home.conversations.exists()
    assert len(told) == 1 and repr(context) in told[0]


def test_a_record_that_cannot_be_written_is_told_once_and_ends_nothing(
    tmp_path: Path, home: Home
) -> None:
    home.conversations.write_text("in the way")
    told: list[str] = []
    answers = [calls(call("t", x=1)), says("done")]
    at = rig(tmp_path, answers, tools={"t": echo}, keeping=kept(home, tell=told.append))
    assert run(at, "ctx_1") == "ok"
    assert len(told) == 1 and "conversation.jsonl" in told[0]


def test_malformed_lines_are_told_once(tmp_path: Path, home: Home) -> None:
    record = Record(home, "demo", "ctx_1")
    record.append({"role": "user", "content": [], "id": "msg_1"})
    with open(record.path, "a") as stream:
        stream.write("nonsense\n")
    told: list[str] = []
    conversations = Conversations(kept(home, threaded=True, tell=told.append))
    conversations.open("ctx_1")
    conversations.open("ctx_1")
    assert len(told) == 1 and "1 malformed line was skipped" in told[0]


def asks(*ids: str) -> dict[str, Any]:
    blocks = [{"type": "tool_call", "id": each, "name": "t", "input": {}} for each in ids]
    return {"role": "assistant", "content": blocks, "id": "msg_a"}


def answer(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": [], "id": "msg_t"}


def test_a_loaded_record_has_an_answer_to_every_call_and_no_other() -> None:
    hello = {"role": "user", "content": "hello", "id": "msg_u"}
    found = paired([answer("lost"), hello, asks("1", "2"), answer("1"), hello, asks("3")])
    assert [(each["role"], each.get("tool_call_id")) for each in found] == [
        ("user", None),
        ("assistant", None),
        ("tool", "1"),
        ("tool", "2"),
        ("user", None),
        ("assistant", None),
        ("tool", "3"),
    ]
    assert found[0]["content"] == [text("hello")]
    assert found[3]["is_error"] and found[3]["canceled"]


def test_calls_that_a_cancel_left_unmade_are_answered_as_such(tmp_path: Path, home: Home) -> None:
    at: Rig = rig(
        tmp_path,
        [calls(call("stop", x=1), call("t", x=1))],
        tools={
            "stop": lambda artifact, data, attempt: _cancel(at, data),
            "t": echo,
        },
        keeping=kept(home),
    )
    assert run(at, "ctx_1") == "canceled"
    messages = recorded(home, "ctx_1")
    assert [each.get("tool_call_id") for each in messages[2:]] == ["call_stop", "call_t"]
    assert messages[3]["canceled"] is True


def _cancel(at: Rig, data: str) -> GuestResult:
    (task,) = at.board.tasks()
    at.board.cancel(task.id)
    return ToolResult("passed", data=data)


def test_what_a_hook_puts_in_is_recorded_as_inserted_and_once(home: Home) -> None:
    history = Conversations(kept(home)).open("ctx_1")
    history.add(user_message("task"))
    history.put_before([user_message("seed")], "seed-context")
    assert [each["content"][0]["text"] for each in history.messages] == ["seed", "task"]
    history.replace([user_message("summary"), history.messages[1]], "replace-context")
    inserted = [each.get("inserted_by") for each in recorded(home, "ctx_1")]
    assert inserted == [None, "seed-context", "replace-context"]
    assert [each["content"][0]["text"] for each in history.messages] == ["summary", "task"]


class Compacting:
    """Hooks as the loop and the runner meet them; `fails` is how a compaction ends."""

    def __init__(self, fails: Ending | None = None) -> None:
        self.fails = fails
        self.saw: list[int] = []
        self.hooks = SimpleNamespace(scope=SimpleNamespace(begin_task=lambda *_: None))

    def compact_loaded(self, attempt: Attempt, request: TurnRequest) -> Ending | None:
        self.saw.append(len(request.messages))
        if self.fails is None:
            attempt.history.replace([user_message("in short")], "replace-context")
        return self.fails

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


def compacting(at: Rig, hooks: Compacting) -> Rig:
    assert isinstance(at.runner.loop, AgentLoop)
    at.runner.loop._hooks = cast(Any, hooks)
    return dataclasses.replace(at, runner=dataclasses.replace(at.runner, hooks=cast(Any, hooks)))


def told(home: Home, count: int) -> None:
    for number in range(count):
        said = {"role": "user", "content": "before", "id": f"msg_{number}"}
        Record(home, "demo", "ctx_1").append(said)


def test_a_resume_that_compacts_does_so_once_before_the_task_is_read(
    tmp_path: Path, home: Home
) -> None:
    told(home, 3)
    keeping = kept(home, resumed="ctx_1", compacted=True)
    hooks = Compacting()
    at = compacting(rig(tmp_path, [says("one"), says("two")], keeping=keeping), hooks)
    run(at, "ctx_1")
    run(at, "ctx_1")
    assert hooks.saw == [3]
    sent = [each["content"][0]["text"] for each in at.requests[0]["messages"]]
    assert sent == ["in short", "go"]


def test_a_hook_that_fails_to_compact_a_resumed_conversation_fails_the_task(
    tmp_path: Path, home: Home
) -> None:
    told(home, 1)
    keeping = kept(home, resumed="ctx_1", compacted=True)
    hooks = Compacting(failed("the hook failed", "compaction_hook", 0))
    at = compacting(rig(tmp_path, [], keeping=keeping), hooks)
    assert run(at, "ctx_1") == "failed"
    assert at.event("task_failed")["cause"] == "compaction_hook" and at.requests == []
