"""driver-anthropic: translation to and from the Messages API (spec/artifacts.md 11, 16.1)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from anthropic_driver import driver
from driver_testing.provider import Json, Provider, Seen, text, user
from murmur_guest.exchange import Answer, DriverError, read_request

ENDPOINT = {"MURMUR_INFERENCE_ENDPOINT": "http://127.0.0.1:9/"}


def stream(*events: Json) -> bytes:
    return b"".join(
        f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events
    )


def block(index: int, start: Json, *deltas: Json) -> Iterator[Json]:
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def message(*blocks: Iterator[Json], stop: str | None = "end_turn") -> bytes:
    usage = {"input_tokens": 9, "output_tokens": 1, "cache_read_input_tokens": 4}
    return stream(
        {"type": "message_start", "message": {"usage": usage}},
        {"type": "ping"},
        *[event for events in blocks for event in events],
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    )


def words(text: str = "hi") -> Iterator[Json]:
    return block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": text})


def use(*parts: str, index: int = 1) -> Iterator[Json]:
    start = {"type": "tool_use", "id": "toolu_1", "name": "x", "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
    return block(index, start, *deltas)


def ask(
    provider: Provider,
    seen: Seen | None = None,
    environment: Mapping[str, str] | None = None,
    **members: Any,
) -> Answer:
    request = {"model": "m", "max_tokens": 2000, "messages": [user(text("hi"))], **members}
    given = {**ENDPOINT, **(environment or {})}
    return driver.answer(read_request(json.dumps(request)), given, seen or Seen(), provider.post)


def config(**values: object) -> dict[str, str]:
    return {"MURMUR_INFERENCE_DRIVER_CONFIG": json.dumps(values)}


def own(**values: object) -> dict[str, str]:
    return {"MURMUR_ARTIFACT_CONFIG": json.dumps(values)}


def asked(environment: Mapping[str, str] | None = None, **members: Any) -> Json:
    provider = Provider(message(words()))
    ask(provider, environment=environment, **members)
    return provider.asked


def test_the_request_goes_to_the_messages_path_and_holds_no_key() -> None:
    provider = Provider(message(words()))

    ask(provider, environment=config(beta_features=["one", "two"]))

    assert provider.url == "http://127.0.0.1:9/v1/messages"
    assert provider.headers == {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "anthropic-version": "2023-06-01",
        "anthropic-beta": "one,two",
    }


def test_the_body_always_asks_for_streaming_and_sends_the_cap_as_it_is() -> None:
    body = asked(own(prompt_cache=False), params={"model": "other", "top_p": 0.5})

    assert body == {
        "model": "m",
        "max_tokens": 2000,
        "stream": True,
        "messages": [user(text("hi"))],
        "top_p": 0.5,
    }


def test_system_and_tools_are_translated_and_the_cache_key_is_dropped() -> None:
    tools = [
        {"name": "a", "parameters": {"type": "object"}, "description": "A"},
        {"name": "b", "parameters": {"type": "object"}},
    ]
    body = asked(own(prompt_cache="disabled"), system="be", tools=tools, prompt_cache_key="k")

    assert body["system"] == [text("be")]
    assert body["tools"] == [
        {"name": "a", "input_schema": {"type": "object"}, "description": "A"},
        {"name": "b", "input_schema": {"type": "object"}},
    ]
    assert "prompt_cache_key" not in body


@pytest.mark.parametrize(
    ("settings", "mark"),
    [
        ({}, {"type": "ephemeral"}),
        ({"prompt_cache": True, "prompt_cache_ttl": "1h"}, {"type": "ephemeral", "ttl": "1h"}),
        ({"prompt_cache": "maybe", "prompt_cache_ttl": "2h"}, {"type": "ephemeral"}),
    ],
)
def test_the_last_tool_the_system_and_the_last_block_are_marked_for_the_cache(
    settings: Json, mark: Json
) -> None:
    tools = [{"name": name, "parameters": {}} for name in "ab"]
    body = asked(own(**settings), system="be", tools=tools, messages=[user(text("1"), text("2"))])

    assert body["system"][0]["cache_control"] == mark
    assert [tool.get("cache_control") for tool in body["tools"]] == [None, mark]
    assert [b.get("cache_control") for b in body["messages"][0]["content"]] == [None, mark]


def test_results_of_one_turn_stand_together_in_one_user_message() -> None:
    history = [
        user(text("go")),
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "text": "kept", "signature": "sig"},
                {"type": "thinking", "text": "unsigned", "signature": ""},
                text(""),
                {"type": "tool_call", "id": "c1", "name": "x", "input": {"a": 1}},
                {"type": "tool_call", "id": "c2", "name": "x", "input": {}},
                {"type": "unheard-of"},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "is_error": False, "content": [text("one")]},
        {"role": "tool", "tool_call_id": "c2", "is_error": True, "content": []},
        user(text("and now?")),
    ]
    body = asked(own(prompt_cache=False), messages=history)

    assert body["messages"] == [
        user(text("go")),
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "kept", "signature": "sig"},
                {"type": "tool_use", "id": "c1", "name": "x", "input": {"a": 1}},
                {"type": "tool_use", "id": "c2", "name": "x", "input": {}},
            ],
        },
        user(
            {"type": "tool_result", "tool_use_id": "c1", "content": [text("one")]},
            {"type": "tool_result", "tool_use_id": "c2", "is_error": True},
            text("and now?"),
        ),
    ]


def test_images_go_along_in_messages_and_in_results() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    image = {"type": "image", "source": source}
    result = {"role": "tool", "tool_call_id": "c", "content": [text("t"), image]}

    body = asked(own(prompt_cache=False), messages=[user(image), result])

    assert body["messages"][0]["content"][0] == image
    assert body["messages"][0]["content"][1]["content"] == [text("t"), image]


@pytest.mark.parametrize(
    ("settings", "cap", "sent"),
    [
        ({}, 2000, None),
        ({"thinking": "perhaps"}, 2000, None),
        ({"thinking": "enabled"}, 2000, {"type": "enabled", "budget_tokens": 1024}),
        (
            {"thinking": "enabled", "thinking_budget_tokens": 5000},
            2000,
            {"type": "enabled", "budget_tokens": 1999},
        ),
        ({"thinking": "adaptive"}, 2000, {"type": "adaptive"}),
    ],
)
def test_the_thinking_budget_stays_below_the_output_cap(
    settings: Json, cap: int, sent: Json | None
) -> None:
    assert asked(config(**settings), max_tokens=cap).get("thinking") == sent


def test_a_streamed_answer_becomes_blocks_usage_and_progress() -> None:
    seen = Seen()
    provider = Provider(
        message(
            block(
                0,
                {"type": "thinking", "thinking": "", "signature": ""},
                {"type": "thinking_delta", "thinking": "let "},
                {"type": "thinking_delta", "thinking": "me"},
                {"type": "signature_delta", "signature": "c2ln"},
            ),
            block(
                1,
                {"type": "text", "text": ""},
                {"type": "text_delta", "text": "he"},
                {"type": "text_delta", "text": "y"},
            ),
            use("", '{"a": "', 'é"}', index=2),
            block(3, {"type": "tool_use", "id": "toolu_2", "name": "y", "input": {}}),
            stop="tool_use",
        )
    )

    answer = ask(provider, seen)

    assert answer == Answer(
        "tool_call",
        (
            {"type": "thinking", "text": "let me", "signature": "c2ln"},
            text("hey"),
            {"type": "tool_call", "id": "toolu_1", "name": "x", "input": {"a": "é"}},
            {"type": "tool_call", "id": "toolu_2", "name": "y", "input": {}},
        ),
        usage={"input_tokens": 9, "output_tokens": 5, "cached_tokens": 4},
    )
    assert seen.events == [
        ("thinking", "let "),
        ("thinking", "me"),
        ("text", "he"),
        ("text", "y"),
        ("started", "toolu_1", "x"),
        ("bytes", "toolu_1", 7),
        ("bytes", "toolu_1", 11),
        ("started", "toolu_2", "y"),
    ]


def test_an_answer_that_was_not_streamed_is_read_all_the_same() -> None:
    seen = Seen()
    whole = {
        "type": "message",
        "content": [text("hi"), {"type": "tool_use", "id": "t", "name": "x", "input": {"a": 1}}],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 1, "cache_creation_input_tokens": 2},
    }

    answer = ask(Provider(b" \n" + json.dumps(whole).encode()), seen)

    assert answer.content[1]["input"] == {"a": 1}
    assert answer.usage == {"input_tokens": 1, "cache_write_tokens": 2}
    assert seen.events == []


@pytest.mark.parametrize(
    ("stop", "reason"),
    [("end_turn", "end_turn"), ("stop_sequence", "end_turn"), ("max_tokens", "max_tokens")],
)
def test_stop_reasons_are_mapped(stop: str, reason: str) -> None:
    answer = ask(Provider(message(words(), stop=stop)))

    assert (answer.stop_reason, answer.content) == (reason, (text("hi"),))


def test_a_refusal_and_an_unknown_stop_reason_are_errors() -> None:
    refused = ask(Provider(message(words(), stop="refusal")))
    unknown = ask(Provider(message(words(), stop="pause_turn")))

    assert (refused.stop_reason, refused.error) == ("error", "Anthropic response refused")
    assert unknown.error == 'driver: unknown Anthropic stop_reason "pause_turn"'
    assert unknown.content == ()


def test_a_missing_stop_signal_is_never_read_as_finished() -> None:
    no_reason = ask(Provider(message(words(), stop=None)))
    assert no_reason.stop_reason == "error"

    cut = message(words()).replace(stream({"type": "message_stop"}), b"")
    with pytest.raises(DriverError, match="ended before its message_stop"):
        ask(Provider(cut))
    with pytest.raises(DriverError, match="ended before its message_stop"):
        ask(Provider(b""))


def test_a_call_cut_off_by_the_cap_is_an_error_that_names_the_cap_and_no_arguments() -> None:
    answer = ask(Provider(message(words(), use('{"secret": "hun'), stop="max_tokens")))

    assert answer.stop_reason == "error"
    assert answer.error == "driver: the call of x was cut off by the output cap of 2000 tokens"


def test_a_call_whose_input_is_no_object_is_an_error_without_its_arguments() -> None:
    for arguments in ('{"secret": ', '["secret"]'):
        with pytest.raises(DriverError) as failure:
            ask(Provider(message(use(arguments), stop="tool_use")))
        assert str(failure.value) == ("driver: the input of the call of x is not a JSON object")


def test_provider_errors_are_named_by_type_and_message() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

    begun = message(words()).replace(stream({"type": "message_stop"}), b"")

    for body in (begun + stream(error), json.dumps(error).encode()):
        with pytest.raises(DriverError, match=r"^Anthropic error: overloaded_error: Overloaded$"):
            ask(Provider(body))


def test_without_an_endpoint_nothing_is_asked() -> None:
    provider = Provider(b"")
    request = read_request(json.dumps({"model": "m", "max_tokens": 1, "messages": []}))

    with pytest.raises(DriverError, match="missing MURMUR_INFERENCE_ENDPOINT"):
        driver.answer(request, {}, Seen(), provider.post)
    assert provider.asked == {}
