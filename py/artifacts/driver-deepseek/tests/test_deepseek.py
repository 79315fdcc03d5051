"""driver-deepseek: what DeepSeek's chat has of its own (spec/artifacts.md 11, 16.1)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from deepseek_driver import driver
from driver_testing.chat import OFFERED, delta, history, part, stream
from driver_testing.provider import HISTORY, TOOLS, Json, Provider, Seen, ask, text, user
from murmur_guest.exchange import Answer, DriverError

MODEL, ENDPOINT = "deepseek-flash", "http://127.0.0.1:9"
DONE = stream(delta("stop", content="x"))


def answered(body: bytes, seen: Seen | None = None, **more: Any) -> Answer:
    return ask(driver.answer, Provider(body), MODEL, seen=seen, **more)


def asked(config: Json | None = None, **more: Any) -> Json:
    provider = Provider(DONE)
    ask(driver.answer, provider, MODEL, config=config, **more)
    return provider.asked


def test_the_request_goes_to_the_chat_path_and_holds_no_key() -> None:
    provider = Provider(DONE)
    ask(driver.answer, provider, MODEL, endpoint=ENDPOINT)

    assert provider.url == "http://127.0.0.1:9/chat/completions"
    assert "authorization" not in {name.lower() for name in provider.headers}


def test_reasoning_goes_back_with_the_call_that_it_led_to_and_no_cache_key_is_sent() -> None:
    body = asked(system="be", messages=HISTORY, tools=TOOLS, prompt_cache_key="k")

    assert body == {
        "model": MODEL,
        "max_tokens": 50,
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [
            {"role": "system", "content": "be"},
            *history(reasoning_content="hm"),
        ],
        "tools": OFFERED,
    }


def test_a_call_made_without_reasoning_goes_back_with_a_blank_in_its_place() -> None:
    call = {"type": "tool_call", "id": "c1", "name": "x", "input": {}}
    result = {"role": "tool", "tool_call_id": "c1", "content": [text("one")]}
    said = {"role": "assistant", "content": [text("no call, no reasoning")]}
    messages = [user(text("go")), {"role": "assistant", "content": [call]}, result, said]

    sent = asked(messages=messages)["messages"]

    assert sent[1]["reasoning_content"] == " "
    assert sent[3] == {"role": "assistant", "content": "no call, no reasoning"}


def test_without_thinking_no_reasoning_goes_back() -> None:
    body = asked({"thinking": "disabled"}, messages=HISTORY)

    assert body["thinking"] == {"type": "disabled"}
    assert body["messages"] == history()


@pytest.mark.parametrize(
    ("config", "sent"),
    [
        ({}, {}),
        ({"thinking": True}, {"thinking": {"type": "enabled"}}),
        ({"thinking": "enabled"}, {"thinking": {"type": "enabled"}}),
        ({"thinking": False}, {"thinking": {"type": "disabled"}}),
        ({"reasoning_effort": "max"}, {"reasoning_effort": "max"}),
    ],
)
def test_settings_reach_the_body_and_what_is_not_set_is_left_to_the_provider(
    config: Json, sent: Json
) -> None:
    body = asked(config)

    assert {key: body[key] for key in ("thinking", "reasoning_effort") if key in body} == sent


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"temperature": 1}, 'driver.config key "temperature" is not one of thinking, reasoning'),
        ({"thinking": "some"}, "driver.config.thinking is not enabled or disabled"),
        ({"reasoning_effort": 3}, "driver.config.reasoning_effort is not a string"),
        ({"reasoning_effort": "most"}, 'driver.config.reasoning_effort "most" is not one of minim'),
    ],
)
def test_a_setting_that_it_does_not_know_fails_the_call(config: Json, problem: str) -> None:
    provider = Provider(DONE)

    with pytest.raises(DriverError) as failure:
        ask(driver.answer, provider, MODEL, config=config)
    assert str(failure.value).startswith(f"driver: {problem}")
    assert provider.url == ""


def test_reasoning_streams_as_thinking_and_what_the_cache_gave_is_counted() -> None:
    seen = Seen()
    usage = {"prompt_tokens": 9, "completion_tokens": 5, "prompt_cache_hit_tokens": 4}
    body = b": keep-alive\n\n" + stream(
        delta(role="assistant", content=None, reasoning_content=""),
        delta(content=None, reasoning_content="h"),
        delta(content=None, reasoning_content="m"),
        delta(content="hey", reasoning_content=None),
        delta(tool_calls=[part('{"a":1}', id="c1", type="function")]),
        delta("tool_calls", content=""),
        {"choices": [], "usage": {**usage, "prompt_cache_miss_tokens": 5}},
    )

    answer = answered(body, seen)

    assert answer == Answer(
        "tool_call",
        (
            {"type": "thinking", "text": "hm", "signature": ""},
            text("hey"),
            {"type": "tool_call", "id": "c1", "name": "x", "input": {"a": 1}},
        ),
        usage={"input_tokens": 9, "output_tokens": 5, "cached_tokens": 4},
    )
    assert [event[:2] for event in seen.events] == [
        ("thinking", "h"),
        ("thinking", "m"),
        ("text", "hey"),
        ("started", "c1"),
        ("bytes", "c1"),
    ]


def test_errors_carry_the_providers_name() -> None:
    error = {"error": {"type": "server_error", "message": "sorry", "code": None}}

    assert answered(stream(delta("content_filter"))).error == "DeepSeek response refused"
    assert answered(stream(delta("insufficient_system_resource"))).error == (
        "DeepSeek error: it ran out of capacity within the turn"
    )
    assert answered(stream(delta("odd"))).error == 'driver: unknown DeepSeek finish_reason "odd"'
    assert answered(stream(delta(content="x"))).error == (
        "driver: the DeepSeek stream ended before its finish_reason"
    )
    for body in (stream(error), json.dumps(error).encode()):
        with pytest.raises(DriverError, match=r"^DeepSeek error: server_error: sorry$"):
            answered(body)
    with pytest.raises(DriverError, match=r"^driver: the DeepSeek answer has no choices$"):
        answered(b"{}")
