"""driver-moonshotai: what Moonshot's chat has of its own (spec/artifacts.md 11, 16.1)."""

from __future__ import annotations

from typing import Any

import pytest
from driver_testing.chat import OFFERED, delta, history, stream
from driver_testing.provider import HISTORY, TOOLS, Json, Provider, ask, text
from moonshotai_driver import driver
from murmur_guest.exchange import Answer, DriverError

MODEL = "kimi-k3"
DONE = stream(delta("stop", content="x"))
SCHEMA = {"name": "colour", "strict": True, "schema": {"type": "object"}}


def answered(body: bytes) -> Answer:
    return ask(driver.answer, Provider(body), MODEL)


def asked(config: Json | None = None, **more: Any) -> Json:
    provider = Provider(DONE)
    ask(driver.answer, provider, MODEL, config=config, **more)
    return provider.asked


def test_a_body_names_the_cap_as_moonshot_does_and_gives_the_reasoning_back() -> None:
    body = asked(system="be", messages=HISTORY, tools=TOOLS, prompt_cache_key="k")

    assert body == {
        "model": MODEL,
        "max_completion_tokens": 50,
        "stream": True,
        "stream_options": {"include_usage": True},
        "prompt_cache_key": "k",
        "messages": [{"role": "system", "content": "be"}, *history(reasoning_content="hm")],
        "tools": OFFERED,
    }


def test_effort_and_the_form_of_the_answer_reach_the_body() -> None:
    form = {"type": "json_schema", "json_schema": SCHEMA}
    body = asked({"reasoning_effort": "low", "response_format": form})

    assert body["reasoning_effort"] == "low"
    assert body["response_format"] == form
    assert asked({"response_format": {"type": "json_object"}})["response_format"] == {
        "type": "json_object"
    }
    assert not {"reasoning_effort", "response_format"} & set(asked({}))


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"thinking": True}, 'key "thinking" is not one of reasoning_effort, response_format'),
        ({"reasoning_effort": "medium"}, '"medium" is not one of low, high, max'),
        ({"response_format": "json"}, "response_format.type is not one of text, json_object, json"),
        ({"response_format": {"type": "xml"}}, "response_format.type is not one of text, json_obj"),
        (
            {"response_format": {"type": "json_schema"}},
            "response_format.json_schema.schema is missing or not an object",
        ),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": {}}}},
            "response_format.json_schema.name is missing",
        ),
    ],
)
def test_a_setting_that_it_does_not_know_fails_the_call(config: Json, problem: str) -> None:
    provider = Provider(DONE)

    with pytest.raises(DriverError) as failure:
        ask(driver.answer, provider, MODEL, config=config)
    assert problem in str(failure.value)
    assert provider.url == ""


@pytest.mark.parametrize(
    "cached", [{"cached_tokens": 4}, {"prompt_tokens_details": {"cached_tokens": 4}}]
)
@pytest.mark.parametrize("within", ["choice", "chunk"])
def test_usage_is_found_wherever_the_provider_puts_it(cached: Json, within: str) -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 5, **cached}
    last = delta("stop")
    if within == "choice":
        last["choices"][0]["usage"] = usage
    else:
        last["usage"] = usage

    answer = answered(stream(delta(reasoning_content="hm"), delta(content="hey"), last))

    assert answer == Answer(
        "end_turn",
        ({"type": "thinking", "text": "hm", "signature": ""}, text("hey")),
        usage={"input_tokens": 9, "output_tokens": 5, "cached_tokens": 4},
    )


def test_errors_carry_the_providers_name() -> None:
    assert answered(stream(delta("content_filter"))).error == "Moonshot response refused"
    assert answered(stream(delta("odd"))).error == 'driver: unknown Moonshot finish_reason "odd"'
    error = {"error": {"type": "engine_overloaded_error", "message": "busy"}}
    with pytest.raises(DriverError, match=r"^Moonshot error: engine_overloaded_error: busy$"):
        answered(stream(error))
