"""driver-replay's contract: design/decisions.md 6."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from driver_testing.provider import Seen
from murmur_guest.exchange import Answer, DriverError, read_request
from replay_driver import replay


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def assistant(*calls: str) -> dict[str, Any]:
    blocks = [{"type": "tool_call", "id": call, "name": "x", "input": {}} for call in calls]
    return {"role": "assistant", "content": blocks}


def tool(call: str, text: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"role": "tool", "tool_call_id": call, "is_error": False, "content": content}


def ask(
    config: dict[str, Any], *messages: dict[str, Any], system: str = "", seen: Seen | None = None
) -> Answer:
    request = {"model": "replay", "max_tokens": 100, "system": system, "messages": messages}
    environment = {"MURMUR_ARTIFACT_CONFIG": json.dumps(config)}
    return replay.answer(read_request(json.dumps(request)), environment, seen or Seen())


def said(answer: Answer) -> str:
    return "".join(block["text"] for block in answer.content if block["type"] == "text")


TWO = {"turns": [{"text": "first"}, {"text": "second"}]}


def test_the_entry_is_the_one_at_the_number_of_assistant_messages() -> None:
    assert said(ask(TWO, user("a"))) == "first"
    assert said(ask(TWO, user("a"), assistant("c"), tool("c", "r"))) == "second"
    assert said(ask(TWO, user("a"), user("b"), assistant(), user("c"))) == "second"


def test_an_exhausted_script_is_an_error_by_default() -> None:
    with pytest.raises(DriverError, match="turn 3 was asked for, and 2 are scripted"):
        ask(TWO, user("a"), assistant(), assistant())


def test_repeat_last_answers_with_the_last_entry_again() -> None:
    config = {**TWO, "on_exhausted": "repeat_last"}

    assert said(ask(config, user("a"), assistant(), assistant(), assistant())) == "second"


def test_the_first_entry_whose_when_matches_goes_before_the_turns() -> None:
    config = {
        "turns": [
            {"text": "turn"},
            {"text": "both", "when": {"system": "^You", "newest": "sum+ary"}},
            {"text": "newest", "when": {"newest": "summary"}},
            {"text": "never", "when": {"newest": "summary"}},
        ]
    }

    assert said(ask(config, user("a summary"), system="You are")) == "both"
    assert said(ask(config, user("a summary"), system="no")) == "newest"
    assert said(ask(config, user("other"))) == "turn"


def test_entries_with_when_do_not_count_as_turns() -> None:
    config = {"turns": [{"text": "w", "when": {"newest": "zzz"}}, {"text": "first"}]}

    assert said(ask(config, user("a"))) == "first"


def test_expect_must_match_the_newest_message_and_the_error_quotes_both() -> None:
    config = {"turns": [{"text": "ok", "expect": "[0-9]+ lines"}]}

    assert said(ask(config, tool("c", "found 3 lines"))) == "ok"
    answer = ask(config, user("found none"))
    assert answer.stop_reason == "error"
    assert answer.error is not None
    assert '"[0-9]+ lines"' in answer.error
    assert '"found none"' in answer.error


def test_stop_reason_follows_what_the_entry_holds_unless_given() -> None:
    def stop(entry: dict[str, Any]) -> str:
        return ask({"turns": [entry]}, user("a")).stop_reason

    assert stop({"text": "x"}) == "end_turn"
    assert stop({"text": "x", "tool_calls": [{"name": "t"}]}) == "tool_call"
    assert stop({"error": "boom"}) == "error"
    assert stop({"text": "x", "stop_reason": "max_tokens"}) == "max_tokens"


def test_an_error_entry_answers_with_its_words() -> None:
    answer = ask({"turns": [{"error": "HTTP 529: overloaded"}]}, user("a"))

    assert answer.to_json() == (
        '{"stop_reason":"error","content":[],"error":"HTTP 529: overloaded"}'
    )


def test_content_and_usage_come_as_scripted() -> None:
    usage = {"input_tokens": 1, "output_tokens": 2, "cached_tokens": 0, "cache_write_tokens": 4}
    entry = {
        "thinking": "hm",
        "text": "hi",
        "tool_calls": [{"name": "t", "input": {"é": 1}}],
        "usage": usage,
    }
    seen = Seen()

    answer = ask({"turns": [entry]}, user("a"), seen=seen)

    assert answer.content == (
        {"type": "thinking", "text": "hm", "signature": ""},
        {"type": "text", "text": "hi"},
        {"type": "tool_call", "id": "call_1", "name": "t", "input": {"é": 1}},
    )
    assert answer.usage == usage
    assert seen.events == [("started", "call_1", "t"), ("bytes", "call_1", 8)]


def test_call_ids_differ_from_every_id_in_the_history() -> None:
    config = {"turns": [{}, {"tool_calls": [{"name": "t"}, {"name": "t"}]}]}

    answer = ask(config, user("a"), assistant("call_2"), tool("call_2", "r"))

    assert [block["id"] for block in answer.content] == ["call_3", "call_4"]


def test_stream_pieces_are_emitted_and_are_the_text_where_none_is_given() -> None:
    seen = Seen()

    assert said(ask({"turns": [{"stream": ["a", "b"]}]}, user("a"), seen=seen)) == "ab"
    assert seen.events == [("text", "a"), ("text", "b")]
    assert said(ask({"turns": [{"stream": ["a"], "text": "other"}]}, user("a"))) == "other"


def test_delay_passes_before_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("replay_driver.replay.time.sleep", slept.append)

    ask({"turns": [{"text": "x", "delay_ms": 250}]}, user("a"))

    assert slept == [0.25]


def test_a_script_file_holds_one_entry_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.jsonl").write_text('{"text":"one"}\n\n{"text":"two"}\n')

    assert said(ask({"script": "s.jsonl"}, user("a"), assistant())) == "two"


def test_a_script_file_that_is_missing_or_broken_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.jsonl").write_text('{"text":"one"}\n{"text":\n')

    with pytest.raises(DriverError, match=r"s\.jsonl line 2 is not JSON"):
        ask({"script": "s.jsonl"}, user("a"))
    with pytest.raises(DriverError, match="cannot read the script other: No such file"):
        ask({"script": "other"}, user("a"))


@pytest.mark.parametrize(
    ("config", "said_so"),
    [
        ({}, "either turns or script"),
        ({"turns": [], "script": "x"}, "either turns or script"),
        ({"turns": [], "loop": True}, '"loop"'),
        ({"turns": {}}, "config.turns is not a list"),
        ({"turns": [], "on_exhausted": "stop"}, "on_exhausted"),
        ({"turns": ["x"]}, "turns[0] is not an object"),
        ({"turns": [{"txet": "x"}]}, 'turns[0] has an unknown key "txet"'),
        ({"turns": [{"text": 1}]}, "turns[0].text"),
        ({"turns": [{"tool_calls": {}}]}, "turns[0].tool_calls"),
        ({"turns": [{"tool_calls": [{"name": ""}]}]}, "turns[0].tool_calls[0].name"),
        ({"turns": [{"tool_calls": [{"name": "t", "input": []}]}]}, "tool_calls[0].input"),
        ({"turns": [{"tool_calls": [{"name": "t", "id": "1"}]}]}, "is not {name, input}"),
        ({"turns": [{"usage": {"tokens": 1}}]}, 'unknown key "tokens"'),
        ({"turns": [{"usage": {"input_tokens": -1}}]}, "usage.input_tokens"),
        ({"turns": [{"delay_ms": "1"}]}, "delay_ms"),
        ({"turns": [{"stream": "x"}]}, "stream"),
        ({"turns": [{"expect": "("}]}, "expect is no regular expression"),
        ({"turns": [{"when": {"oldest": "x"}}]}, "when is not {system, newest}"),
        ({"turns": [{"stop_reason": "stop"}]}, "stop_reason"),
    ],
)
def test_a_mistake_in_a_script_is_told_by_entry_and_key(
    config: dict[str, Any], said_so: str
) -> None:
    with pytest.raises(DriverError) as failure:
        ask(config, user("a"))

    assert str(failure.value).startswith("driver: ")
    assert said_so in str(failure.value)
