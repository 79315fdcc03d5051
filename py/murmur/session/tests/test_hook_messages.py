"""Messages across the boundary of a hook. spec/artifacts.md 15.5; spec/sessions.md 17.3."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.guest.calls import GuestFailure, Returned, ToolResult
from murmur.session.hooks.answers import Fault, Output, read_answer
from murmur.session.hooks.messages import blocks, from_hook, paired, summary_text, to_hook

TEXT: list[dict[str, str]] = [{"type": "text", "text": "hello"}]
TOOL: dict[str, Any] = {
    "id": "msg_t",
    "role": "tool",
    "tool_call_id": "c1",
    "is_error": True,
    "content": TEXT,
    "fence": "tool:x",
}


def _back(message: dict[str, Any]) -> dict[str, str]:
    """A message as a hook hands it back untouched."""
    return {key: value for key, value in message.items() if value is not None}


def test_blocks_travel_as_json_text_and_come_back_as_they_were() -> None:
    message = {"id": "msg_1", "role": "user", "content": TEXT, "source_id": "s"}
    out = to_hook(message)
    assert out == {
        "role": "user",
        "content": '[{"type":"text","text":"hello"}]',
        "id": "msg_1",
        "source-id": "s",
        "inserted-by": None,
    }
    assert from_hook([_back(out)], [message]) == [message]


def test_a_tool_message_travels_in_a_marked_wrapper_and_keeps_its_envelope() -> None:
    out = to_hook(TOOL)
    assert json.loads(out["content"]) == {
        "__murmur_tool_msg__": True,
        "tool_call_id": "c1",
        "is_error": True,
        "body": TEXT,
    }
    assert from_hook([_back(out)], [TOOL]) == [TOOL]


@pytest.mark.parametrize(
    "content",
    [
        "plain",
        "{}",
        '{"__murmur_tool_msg__":false,"tool_call_id":"c","body":[]}',
        '{"__murmur_tool_msg__":true,"tool_call_id":"","body":[]}',
        '{"__murmur_tool_msg__":true,"tool_call_id":"c","body":"text"}',
        '{"__murmur_tool_msg__":true,"tool_call_id":"c","body":[1]}',
    ],
)
def test_a_tool_message_whose_wrapper_did_not_survive_is_dropped(content: str) -> None:
    assert from_hook([{"role": "tool", "content": content}], []) == []


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('[{"type":"text","text":"a"}]', [{"type": "text", "text": "a"}]),
        ('"a b"', [{"type": "text", "text": "a b"}]),
        ("a b", [{"type": "text", "text": "a b"}]),
        ('{"a":1}', [{"type": "text", "text": '{"a":1}'}]),
        ("[1]", [{"type": "text", "text": "[1]"}]),
        ("", [{"type": "text", "text": ""}]),
    ],
)
def test_other_content_may_be_blocks_a_string_or_any_text(
    content: str, expected: list[dict[str, str]]
) -> None:
    assert blocks(content) == expected


@given(st.text())
def test_any_text_becomes_blocks(content: str) -> None:
    assert all(block["type"] for block in blocks(content))


def test_a_changed_message_is_a_new_one_and_keeps_what_the_hook_calls_its_source() -> None:
    known = {"id": "msg_1", "role": "user", "content": TEXT}
    (new,) = from_hook(
        [{"role": "user", "content": "shorter", "id": "msg_1", "source-id": "s"}], [known]
    )
    assert new == {
        "role": "user",
        "content": [{"type": "text", "text": "shorter"}],
        "source_id": "s",
    }


def test_an_id_that_the_hook_made_up_is_not_kept() -> None:
    (new,) = from_hook([{"role": "user", "content": "x", "id": "msg_mine"}], [])
    assert "id" not in new


def _call(identifier: str) -> dict[str, Any]:
    block = {"type": "tool_call", "id": identifier, "name": "t", "input": {}}
    return {"role": "assistant", "content": [block]}


def _answer(identifier: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identifier, "content": []}


def test_calls_and_answers_must_be_the_same() -> None:
    assert paired([_call("a"), _answer("a")])
    assert paired([{"role": "user", "content": TEXT}])
    assert not paired([_call("a")])
    assert not paired([_answer("a")])
    assert not paired([_call("a"), _answer("b")])


def test_a_summary_is_the_text_of_what_is_no_tools() -> None:
    messages = [{"role": "user", "content": TEXT}, TOOL, {"role": "user", "content": TEXT}]
    assert summary_text(messages) == "hello\nhello"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (("none", None), Output()),
        (("deny", "no"), Output("deny", "no")),
        (("reopen-task", "again"), Output("reopen-task", "again")),
        (("artifact", "{}"), Output("artifact", "{}")),
        (
            ("write-manifests", [{"binary-name": "b", "content": "c"}]),
            Output("write-manifests", [("b", "c")]),
        ),
        (
            (
                "seed-context",
                [
                    {
                        "role": "user",
                        "content": "c",
                        "id": None,
                        "source-id": "s",
                        "inserted-by": "seed-context",
                    }
                ],
            ),
            Output("seed-context", [{"role": "user", "content": "c", "source-id": "s"}]),
        ),
        ("an err", Fault("an err")),
        (("surprise", None), Fault("its answer is no hook-output")),
        (("deny", 1), Fault("its answer is no hook-output")),
        (("replace-context", "x"), Fault("its answer is no hook-output")),
        (("replace-context", [{"role": "user"}]), Fault("its answer is no hook-output")),
        (None, Fault("its answer is no hook-output")),
        ("half \ud800", Fault("half ?")),
    ],
)
def test_what_a_host_sends_is_checked(value: Any, expected: object) -> None:
    assert read_answer(Returned(value)) == expected


def test_a_call_that_did_not_return_is_a_fault() -> None:
    assert read_answer(GuestFailure("trap", "hook 'h' trapped: x")) == Fault("hook 'h' trapped: x")
    assert isinstance(read_answer(ToolResult("passed")), Fault)
