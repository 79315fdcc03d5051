"""driver-openai: translation to and from both of OpenAI's APIs (spec/artifacts.md 11, 16.1)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from driver_testing.chat import OFFERED, delta, history, part, stream
from driver_testing.provider import HISTORY, TOOLS, URL, Json, Provider, Seen, text, user
from driver_testing.provider import ask as ask_driver
from murmur_guest.exchange import Answer, DriverError
from openai_driver import driver

CHAT, RESPONSES = "gpt-4o", "gpt-5.6-luna"


def response(*output: Json, status: str = "completed", **members: object) -> Json:
    done = {"id": "resp_1", "status": status, "output": list(output), **members}
    return {"type": f"response.{status}", "response": done}


def said(text: str) -> Json:
    return {"type": "message", "content": [{"type": "output_text", "text": text}]}


def called(arguments: str = "{}") -> Json:
    return {"type": "function_call", "call_id": "c1", "name": "x", "arguments": arguments}


def ask(model: str, provider: Provider, seen: Seen | None = None, **more: Any) -> Answer:
    return ask_driver(driver.answer, provider, model, seen=seen, **more)


def asked(model: str, config: Json | None = None, **more: Any) -> Json:
    chat = stream(delta("stop", content="x"))
    provider = Provider(stream(response(said("x"))) if model.startswith("gpt-5") else chat)
    ask(model, provider, config=config, **more)
    return provider.asked


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("gpt-4o", "/chat/completions"),
        ("gpt-4.1-mini", "/chat/completions"),
        ("o3", "/chat/completions"),
        ("gpt-oss-120b", "/chat/completions"),
        ("my-own-model", "/chat/completions"),
        ("gpt-5", "/responses"),
        ("gpt-5.6-luna", "/responses"),
        ("gpt-10-x", "/responses"),
    ],
)
def test_gpt_5_and_later_speak_responses_and_all_else_chat(model: str, path: str) -> None:
    answers = stream(delta("stop", content="x"), response(said("x")))
    provider = Provider(answers)

    ask(model, provider)

    assert provider.url == f"http://127.0.0.1:9/v1{path}"
    assert "authorization" not in {name.lower() for name in provider.headers}


def test_a_key_of_the_config_that_is_not_known_fails_the_call() -> None:
    provider = Provider(b"")

    with pytest.raises(
        DriverError, match=r'^driver: driver.config key "temperature" is not one of'
    ):
        ask(CHAT, provider, config={"store": True, "temperature": 1})
    assert provider.url == ""


@pytest.mark.parametrize(
    "config", [{"store": "yes"}, {"thinking": "some"}, {"reasoning_effort": 3}, {"verbosity": []}]
)
def test_a_value_of_the_config_of_the_wrong_kind_fails_the_call(config: Json) -> None:
    with pytest.raises(DriverError, match=f"^driver: driver.config.{next(iter(config))} is not"):
        ask(CHAT, Provider(b""), config=config)


def test_a_chat_body_holds_the_history_in_chats_own_words() -> None:
    body = asked(CHAT, system="be", messages=HISTORY, tools=TOOLS, prompt_cache_key="k")

    assert body == {
        "model": CHAT,
        "max_tokens": 50,
        "stream": True,
        "stream_options": {"include_usage": True},
        "prompt_cache_key": "k",
        "messages": [{"role": "system", "content": "be"}, *history()],
        "tools": OFFERED,
    }


def test_chat_settings_reach_the_body_and_params_override_nothing() -> None:
    config = {"store": True, "reasoning_effort": "low", "verbosity": "high", "thinking": "enabled"}
    body = asked("o3", config, params={"seed": 7, "model": "other"})

    assert (body["model"], body["seed"]) == ("o3", 7)
    assert (body["store"], body["reasoning_effort"], body["verbosity"]) == (True, "low", "high")
    assert body["max_completion_tokens"] == 50
    assert "max_tokens" not in body


def test_a_responses_body_holds_the_history_as_items() -> None:
    body = asked(RESPONSES, system="be", messages=HISTORY, tools=TOOLS[:1], prompt_cache_key="k")

    assert body == {
        "model": RESPONSES,
        "max_output_tokens": 50,
        "stream": True,
        "store": False,
        "instructions": "be",
        "prompt_cache_key": "k",
        "tools": [
            {
                "type": "function",
                "name": "a",
                "parameters": {"type": "object"},
                "strict": False,
                "description": "A",
            }
        ],
        "input": [
            user({"type": "input_text", "text": "go"}, {"type": "input_image", "image_url": URL}),
            {"role": "assistant", "content": [{"type": "output_text", "text": "calling"}]},
            {"type": "function_call", "call_id": "c1", "name": "x", "arguments": '{"é":1}'},
            {"type": "function_call", "call_id": "c2", "name": "x", "arguments": "{}"},
            {
                "type": "function_call_output",
                "call_id": "c1",
                "output": [
                    {"type": "input_text", "text": "one"},
                    {"type": "input_image", "image_url": URL},
                ],
            },
            {"type": "function_call_output", "call_id": "c2", "output": "two"},
        ],
    }


def test_responses_settings_reach_the_body() -> None:
    config = {"reasoning_effort": "low", "verbosity": "high", "thinking": "enabled"}
    body = asked(RESPONSES, config)

    assert body["reasoning"] == {"effort": "low", "summary": "auto"}
    assert body["text"] == {"verbosity": "high"}


def test_store_unlocks_the_continuation() -> None:
    provider = Provider(stream(response(said("hi"))))

    kept = ask(RESPONSES, provider, config={"store": True}, continuation_id="resp_0")
    not_kept = ask(RESPONSES, Provider(provider.body), config={"store": False})

    assert kept.continuation_id == "resp_1"
    assert (provider.asked["store"], provider.asked["previous_response_id"]) == (True, "resp_0")
    assert not_kept.continuation_id is None


def test_a_chat_stream_becomes_blocks_usage_and_progress() -> None:
    seen = Seen()
    usage = {"prompt_tokens": 9, "completion_tokens": 5}
    details = {"prompt_tokens_details": {"cached_tokens": 4}}
    provider = Provider(
        stream(
            delta(role="assistant", content="", refusal=None),
            delta(reasoning_content="hm"),
            delta(content="he"),
            delta(content="y"),
            delta(tool_calls=[part("", id="c1", type="function")]),
            delta(tool_calls=[part('{"a": "')]),
            delta(tool_calls=[part('é"}'), part("", 1, id="c2", type="function")]),
            delta("tool_calls"),
            {"choices": [], "usage": {**usage, **details}},
        )
    )

    answer = ask(CHAT, provider, seen)

    assert answer == Answer(
        "tool_call",
        (
            {"type": "thinking", "text": "hm", "signature": ""},
            text("hey"),
            {"type": "tool_call", "id": "c1", "name": "x", "input": {"a": "é"}},
            {"type": "tool_call", "id": "c2", "name": "x", "input": {}},
        ),
        usage={"input_tokens": 9, "output_tokens": 5, "cached_tokens": 4},
    )
    assert seen.events == [
        ("thinking", "hm"),
        ("text", "he"),
        ("text", "y"),
        ("started", "c1", "x"),
        ("bytes", "c1", 7),
        ("bytes", "c1", 11),
        ("started", "c2", "x"),
    ]


def test_a_responses_stream_becomes_blocks_usage_and_progress() -> None:
    seen = Seen()
    item = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "x"}
    reasoning = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
    usage = {"input_tokens": 9, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 4}}
    provider = Provider(
        stream(
            {"type": "response.created", "response": {}},
            {"type": "response.reasoning_summary_text.delta", "delta": "hm"},
            {"type": "response.output_text.delta", "delta": "hey"},
            {"type": "response.output_item.added", "output_index": 2, "item": item},
            {
                "type": "response.function_call_arguments.delta",
                "item_id": "fc_1",
                "delta": '{"a":1}',
            },
            response(reasoning, said("hey"), called('{"a":1}'), usage=usage),
        )
    )

    answer = ask(RESPONSES, provider, seen)

    assert answer == Answer(
        "tool_call",
        (
            {"type": "thinking", "text": "hm", "signature": ""},
            text("hey"),
            {"type": "tool_call", "id": "c1", "name": "x", "input": {"a": 1}},
        ),
        usage={"input_tokens": 9, "output_tokens": 5, "cached_tokens": 4},
    )
    assert seen.events == [
        ("thinking", "hm"),
        ("text", "hey"),
        ("started", "c1", "x"),
        ("bytes", "c1", 7),
    ]


def test_finished_items_stand_in_for_an_output_that_the_last_event_leaves_out() -> None:
    done = {"type": "response.output_item.done", "output_index": 0, "item": said("hi")}

    assert ask(RESPONSES, Provider(stream(done, response()))).content == (text("hi"),)


def test_answers_that_were_not_streamed_are_read_all_the_same() -> None:
    message = {
        "content": "hi",
        "tool_calls": [{"id": "c1", "function": {"name": "x", "arguments": "{}"}}],
    }
    chat = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    seen = Seen()

    first = ask(CHAT, Provider(json.dumps(chat).encode()), seen)
    whole = response(said("hi"), called())["response"]
    second = ask(RESPONSES, Provider(json.dumps(whole).encode()), seen)

    assert first.content == second.content
    assert first.stop_reason == second.stop_reason == "tool_call"
    assert seen.events == []


def test_stop_signals_are_mapped() -> None:
    def chat(finish: str) -> str:
        return ask(CHAT, Provider(stream(delta(finish, content="x")))).stop_reason

    assert [chat("stop"), chat("length")] == ["end_turn", "max_tokens"]
    cut = response(
        said("x"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}
    )
    assert ask(RESPONSES, Provider(stream(cut))).stop_reason == "max_tokens"
    assert ask(RESPONSES, Provider(stream(response(said("x"))))).stop_reason == "end_turn"


def test_calls_closed_by_stop_are_calls_all_the_same() -> None:
    answer = ask(CHAT, Provider(stream(delta("stop", tool_calls=[part("{}", id="c1")]))))

    assert answer.stop_reason == "tool_call"


def test_refusals_and_filters_are_errors() -> None:
    refusal = {"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}
    filtered = response(status="incomplete", incomplete_details={"reason": "content_filter"})

    said_no = "OpenAI response refused: no"
    assert ask(CHAT, Provider(stream(delta("stop", refusal="no")))).error == said_no
    assert ask(RESPONSES, Provider(stream(response(refusal)))).error == said_no
    assert ask(CHAT, Provider(stream(delta("content_filter")))).error == "OpenAI response refused"
    assert ask(RESPONSES, Provider(stream(filtered))).error == "OpenAI response refused"


def test_a_missing_or_unknown_stop_signal_is_never_read_as_finished() -> None:
    unfinished = ask(CHAT, Provider(stream(delta(content="x"))))
    unknown = ask(CHAT, Provider(stream(delta("function_call"))))
    queued = ask(RESPONSES, Provider(json.dumps({"status": "queued"}).encode()))

    assert unfinished.error == "driver: the OpenAI stream ended before its finish_reason"
    assert unknown.error == 'driver: unknown OpenAI finish_reason "function_call"'
    assert queued.error == 'driver: unknown OpenAI response status "queued"'
    with pytest.raises(DriverError, match="ended before its terminal event"):
        ask(RESPONSES, Provider(stream({"type": "response.output_text.delta", "delta": "x"})))


def test_a_call_cut_off_by_the_cap_is_an_error_that_names_the_cap_and_no_arguments() -> None:
    chat = stream(delta("length", tool_calls=[part('{"secret', id="c1")]))
    reason = {"reason": "max_output_tokens"}
    cut = response(called('{"secret'), status="incomplete", incomplete_details=reason)

    for model, body in ((CHAT, chat), (RESPONSES, stream(cut))):
        answer = ask(model, Provider(body))
        assert answer.error == "driver: the call of x was cut off by the output cap of 50 tokens"


def test_a_call_whose_input_is_no_object_is_an_error_without_its_arguments() -> None:
    chat = stream(delta("tool_calls", tool_calls=[part('["secret"]', id="c1")]))

    for model, body in ((CHAT, chat), (RESPONSES, stream(response(called("secret"))))):
        with pytest.raises(DriverError, match="of the call of x is not a JSON object") as failure:
            ask(model, Provider(body))
        assert "secret" not in str(failure.value)


def test_provider_errors_are_named_by_type_and_message() -> None:
    error = {"error": {"type": "server_error", "message": "sorry", "code": None}}
    failed = response(status="failed", error={"code": "server_error", "message": "sorry"})
    plain = {"type": "error", "code": "server_error", "message": "sorry"}

    cases = [
        (CHAT, stream(delta(content="x"), error)),
        (CHAT, json.dumps(error).encode()),
        (RESPONSES, json.dumps(error).encode()),
        (RESPONSES, stream(failed)),
        (RESPONSES, stream(plain)),
        (RESPONSES, stream(error)),
    ]
    for model, body in cases:
        with pytest.raises(DriverError, match=r"^OpenAI error: server_error: sorry$"):
            ask(model, Provider(body))
