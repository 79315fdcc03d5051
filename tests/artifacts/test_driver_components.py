"""Every provider driver, as the component that runs, through all that a provider may answer.

spec/artifacts.md 11 and 12: what becomes of it in the turn, in the counts, on the trace's line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from murmur.guest.calls import GateRules
from murmur.guest.client import Guests
from murmur.inference.gateway import Gateway
from murmur.inference.gateway_routes import new_token
from murmur.inference.reply import Turn, TurnFailure
from tests.artifacts.components import Artifact, compile_artifact
from tests.artifacts.driver_sessions import (
    APIS,
    KEY,
    MODEL_IMAGE,
    NamedKeys,
    Session,
    holds,
    result,
    served_gateway,
    user,
)

IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": MODEL_IMAGE},
}
LARGE_BYTES = 20_000_000
LARGE_ANSWERS = os.environ.get("MURMUR_LARGE_ANSWERS", "anthropic").split()
"""The APIs that give it; //tests/long/artifacts names them all."""


@pytest.fixture(scope="module")
def drivers(guests: Guests, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Artifact]:
    folder = tmp_path_factory.mktemp("compiled")
    names = sorted({api.driver for api in APIS.values()})
    return {name: compile_artifact(name, guests, folder) for name in names}


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    with served_gateway() as gateway:
        yield gateway


@pytest.fixture(params=APIS)
def session(
    request: pytest.FixtureRequest, drivers: dict[str, Artifact], gateway: Gateway
) -> Session:
    api = APIS[request.param]
    return Session(api, drivers[api.driver], gateway)


def test_text_streams_and_is_counted_on_the_trace(session: Session) -> None:
    turn = {"text": "There are 3 files.", "usage": session.api.usage}
    with session.api.server.start([turn], key=KEY) as server:
        made = session.call(server)

    assert made.result.content == ({"type": "text", "text": "There are 3 files."},)
    assert "".join(made.told("emit-chunk")) == "There are 3 files."
    assert len(made.told("emit-chunk")) == 4
    assert made.answered.input_tokens > 0 and made.answered.output_tokens
    assert made.trace == {
        "input_tokens": made.answered.input_tokens,
        "output_tokens": made.answered.output_tokens,
        "decision": "end_turn",
        "stop_reason": "end_turn",
        "tool_name": None,
        "input_tokens_actual": 11,
        "output_tokens_actual": 7,
        **session.api.counted,
        "provider_status": 200,
    }
    request = server.requests[0]
    assert (request.path, session.api.key_of(request.headers)) == (session.api.path, KEY)
    assert request.body["model"] == session.api.model and request.body["stream"] is True


def test_thinking_and_parallel_calls_go_there_and_back(session: Session) -> None:
    asked = [{"operation": "list_files", "dir": "é"}, {"operation": "read_file", "path": "a"}]
    calls = [{"name": "tool-editor", "input": given} for given in asked]
    script = [
        {"thinking": "a tool will do", "text": "I look.", "tool_calls": calls},
        {"text": "There are 3 files."},
    ]
    with session.api.server.start(script, key=KEY) as server:
        first = session.call(server, user("How many files?"))
        content = first.result.content
        ids = [block["id"] for block in content if block["type"] == "tool_call"]
        second = session.call(
            server,
            user("How many files?"),
            {"role": "assistant", "content": list(content)},
            result(ids[0], "3 entries", IMAGE),
            result(ids[1], "second result"),
        )

    assert first.trace["decision"] == first.trace["stop_reason"] == "tool_call"
    assert first.trace["tool_name"] == "tool-editor"
    kinds = [block["type"] for block in content]
    assert kinds == ["thinking", "text", "tool_call", "tool_call"]
    assert [block["input"] for block in content[2:]] == asked
    assert len(set(ids)) == 2
    assert "".join(first.told("emit-thinking-chunk")) == "a tool will do"
    assert first.told("tool-call-started", "id") == ids
    for call_id in ids:
        grown = [
            f["bytes"]
            for k, f in first.events
            if k == "tool-call-input-bytes" and f["id"] == call_id
        ]
        assert grown == sorted(set(grown)) and grown
    assert isinstance(second.result, Turn) and second.result.text == "There are 3 files."
    sent = json.dumps(server.requests[1].body)
    assert all(each in sent for each in ("3 entries", "second result", *ids))
    assert holds(server.requests[1].body, session.api.image)
    assert KEY not in repr((first, second))


def test_an_image_of_the_user_is_sent_as_the_provider_wants_it(session: Session) -> None:
    with session.api.server.start([{"text": "a cat"}], key=KEY) as server:
        made = session.call(server, user("What is it?", IMAGE))

    assert made.result.text == "a cat"
    assert holds(server.requests[0].body, session.api.image)


def test_an_answer_that_met_the_cap_is_kept_as_a_fragment(session: Session) -> None:
    turn = {"text": "As much as fi", "stop": session.api.capped}
    with session.api.server.start([turn], key=KEY) as server:
        made = session.call(server)

    assert made.result.text == "As much as fi"
    assert (made.trace["stop_reason"], made.trace["decision"]) == ("max_tokens", "text")


def test_a_call_that_the_cap_cut_off_is_an_error_that_quotes_none_of_it(session: Session) -> None:
    calls = [{"name": "tool-editor", "arguments": '{"content": "half of a sec'}]
    turn = {"tool_calls": calls, "stop": session.api.capped}
    with session.api.server.start([turn], key=KEY) as server:
        made = session.call(server)

    assert isinstance(made.result, TurnFailure)
    assert made.result.error == (
        "driver: the call of tool-editor was cut off by the output cap of 2048 tokens"
    )
    assert "half of" not in repr(made)


def test_a_refusal_is_an_error_that_says_so(session: Session) -> None:
    with session.api.server.start([{"refuse": "I will not."}], key=KEY) as server:
        made = session.call(server)

    assert isinstance(made.result, TurnFailure)
    why = ": I will not." if session.api.says_why else ""
    assert made.result.error == f"{session.api.provider} response refused{why}"
    assert (made.trace["error_code"], made.trace["provider_status"]) == ("driver_error", 200)


def test_a_key_that_was_rotated_is_found_after_a_401(session: Session) -> None:
    session.keys = NamedKeys("sk-test-before-the-rotation", stored=KEY)
    with session.api.server.start([{"text": "done"}], key=KEY) as server:
        made = session.call(server)

    assert made.result.text == "done"
    assert [session.api.key_of(request.headers) for request in server.requests] == [
        "sk-test-before-the-rotation",
        KEY,
    ]
    assert server.requests[0].body == server.requests[1].body
    assert session.keys.rejections == [] and made.notices == []


def test_a_key_that_stays_refused_is_named_by_its_place_and_not_tried_again(
    session: Session,
) -> None:
    with session.api.server.start([{"text": "never"}], key="another key") as server:
        made = session.call(server)

    assert made.trace["error_code"] == "credential_rejected"
    assert NamedKeys.origin in made.trace["error"]
    assert len(server.requests) == 1 and made.notices == []
    assert KEY not in repr(made)


@pytest.mark.parametrize(
    ("refusal", "wait_ms"),
    [
        ({"status": 429, "headers": {"Retry-After": "7"}}, 40),
        ({"status": 429, "headers": {"retry-after-ms": "15"}}, 15),
        ({"status": 529}, 1),
    ],
)
def test_a_provider_that_is_busy_is_asked_again_when_it_says(
    session: Session, refusal: dict[str, Any], wait_ms: int
) -> None:
    with session.api.server.start([refusal, {"text": "done"}], key=KEY) as server:
        made = session.call(server)

    assert made.result.text == "done"
    told = made.notices[0]
    assert (told.attempt, told.max_attempts, told.provider_status) == (1, 3, refusal["status"])
    assert told.wait_ms == wait_ms
    assert (made.trace["attempts"], made.trace["provider_status"]) == (2, 200)


def test_a_provider_that_stays_busy_fails_the_turn_in_its_own_words(session: Session) -> None:
    body = {"error": {"type": "overloaded", "message": "scripted failure"}}
    with session.api.server.start([{"status": 529, "body": body}] * 3, key=KEY) as server:
        made = session.call(server)

    assert made.trace["error"].startswith("HTTP 529: ")
    assert "scripted failure" in made.trace["error"]
    assert (made.trace["attempts"], made.trace["retry_stopped"]) == (3, "max_retries")


def test_a_request_that_the_provider_finds_wrong_is_not_made_again(session: Session) -> None:
    with session.api.server.start([{"status": 400}], key=KEY) as server:
        made = session.call(server)

    assert made.trace["error"].startswith("HTTP 400: ")
    assert len(server.requests) == 1 and "attempts" not in made.trace


@pytest.mark.parametrize("turn", [{"break_after": 4}, {"break_after": 0}])
def test_a_stream_that_breaks_off_is_made_again_as_a_failed_connection(
    session: Session, turn: dict[str, Any]
) -> None:
    script = [{"text": "never finished, this one", **turn}, {"text": "done"}]
    with session.api.server.start(script, key=KEY) as server:
        made = session.call(server)

    assert made.result.text == "done"
    assert [(told.provider_status, told.reason) for told in made.notices] == [(None, "connection")]


def test_a_stream_that_ends_without_its_stop_signal_is_never_taken_for_finished(
    session: Session,
) -> None:
    with session.api.server.start([{"text": "and then", "stop": None}], key=KEY) as server:
        made = session.call(server)

    assert isinstance(made.result, TurnFailure)
    assert session.api.provider in made.result.error


@pytest.mark.parametrize(
    ("event", "problem"),
    [("data: {not json\n\n", "not JSON"), ("data: [1]\n\n", "not a JSON object")],
)
def test_an_event_that_is_malformed_is_an_error(session: Session, event: str, problem: str) -> None:
    with session.api.server.start([{"events": [event]}], key=KEY) as server:
        made = session.call(server)

    assert isinstance(made.result, TurnFailure)
    assert made.result.error == f"driver: an event of the provider is {problem}"
    assert made.trace["error_code"] == "driver_error"


def test_an_answer_that_drips_is_put_together_and_told_as_it_comes(session: Session) -> None:
    calls = [{"name": "tool-editor", "input": {"content": "naïve ☃ text"}}]
    turn = {"text": "drop by ☃ drop", "tool_calls": calls, "drip": 5, "delay_ms": 5, "piece": 3}
    with session.api.server.start([turn], key=KEY) as server:
        made = session.call(server)

    assert made.result.text == "drop by ☃ drop"
    assert made.result.tool_calls[0].input == {"content": "naïve ☃ text"}
    assert made.told("emit-chunk") == ["dro", "p b", "y ☃", " dr", "op"]


def test_a_provider_that_does_not_stream_is_understood(session: Session) -> None:
    with session.api.server.start([{"text": "whole", "stream": False}], key=KEY) as server:
        made = session.call(server)

    assert made.result.content == ({"type": "text", "text": "whole"},)
    assert made.events == []


@pytest.mark.parametrize("session", LARGE_ANSWERS, indirect=True)
def test_an_answer_of_20_mb_arrives_whole(session: Session) -> None:
    text = "0123456789abcdef" * (LARGE_BYTES // 16)
    with session.api.server.start([{"text": text, "piece": 1 << 17}], key=KEY) as server:
        made = session.call(server)

    assert made.result.text == text
    assert "".join(made.told("emit-chunk")) == text


def test_a_large_request_goes_out_whole(session: Session) -> None:
    text = "x" * 3_000_000
    with session.api.server.start([{"text": "big"}], key=KEY) as server:
        made = session.call(server, user(text))

    assert made.result.text == "big"
    assert text in json.dumps(server.requests[0].body)


def test_a_request_past_the_gate_is_denied(session: Session) -> None:
    with session.api.server.start([{"text": "x"}]) as server:
        rules = GateRules(session.gateway.address, new_token())
        request = {"model": session.api.model, "max_tokens": 5, "messages": [user("go")]}
        called = session.driver.call(request, gate=rules, MURMUR_INFERENCE_ENDPOINT=server.url)

    assert server.requests == []
    assert called.result.status == "error"
    assert called.result.summary == "driver: no answer from the provider: http request denied"
