"""The driver's JSON (spec/artifacts.md 11), server-sent events, and a provider's answer."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from murmur_guest.exchange import (
    Answer,
    DriverError,
    counted,
    endpoint,
    read_config,
    read_request,
    tool_call_block,
)
from murmur_guest.provider import Response, ask
from murmur_guest.sse import Event, read_events

REQUEST = {
    "model": "demo-1",
    "max_tokens": 4096,
    "system": "be brief",
    "params": {"top_p": 1},
    "prompt_cache_key": "helper:0.1.0:ctx_01",
    "tools": [{"name": "tool-editor", "parameters": {"type": "object"}, "description": "Edit"}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Fix it"}]},
        {
            "role": "assistant",
            "content": [{"type": "tool_call", "id": "c1", "name": "tool-editor", "input": {}}],
        },
        {
            "role": "tool",
            "tool_call_id": "c1",
            "is_error": True,
            "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        },
    ],
}


def request_without(**changes: object) -> str:
    return json.dumps({k: v for k, v in {**REQUEST, **changes}.items() if v is not None})


def test_a_request_is_read_with_all_its_members() -> None:
    request = read_request(json.dumps(REQUEST))

    assert (request.model, request.max_tokens, request.system) == ("demo-1", 4096, "be brief")
    assert request.prompt_cache_key == "helper:0.1.0:ctx_01"
    assert request.continuation_id is None
    assert request.tools[0].description == "Edit"
    assert [message.role for message in request.messages] == ["user", "assistant", "tool"]
    assert request.messages[2].tool_call_id == "c1"
    assert request.messages[2].is_error
    assert request.messages[2].text == "a\nb"


def test_a_blank_system_is_dropped() -> None:
    assert read_request(request_without(system="  \n")).system is None


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "no request"),
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        (request_without(model=None), "model is missing"),
        (request_without(max_tokens=0), "max_tokens is not a positive integer"),
        (request_without(max_tokens=True), "max_tokens is not a positive integer"),
        (request_without(messages=None), "messages is not an array"),
        (request_without(messages=[{"role": "system", "content": []}]), "messages[0].role"),
        (request_without(messages=[{"role": "user", "content": "x"}]), "messages[0].content"),
        (request_without(messages=[{"role": "tool", "content": []}]), "messages[0].tool_call_id"),
        (request_without(tools=[{"parameters": {}}]), "tools[0].name is missing"),
    ],
)
def test_a_translation_failure_names_the_member_and_starts_with_driver(
    data: str | None, said: str
) -> None:
    with pytest.raises(DriverError) as failure:
        read_request(data)

    assert str(failure.value).startswith("driver: ")
    assert said in str(failure.value)


def test_unknown_blocks_are_kept_out_of_nothing_but_the_drivers_way() -> None:
    content = [{"type": "video"}, "text", {"no": "type"}]
    request = read_request(request_without(messages=[{"role": "user", "content": content}]))

    assert request.messages[0].content == ({"type": "video"},)


def test_an_answer_is_compact_json_with_only_what_it_has() -> None:
    call = tool_call_block("c1", "x", {"é": 1})
    answer = Answer("tool_call", (call,), usage={"input_tokens": 3})

    assert answer.to_json() == (
        '{"stop_reason":"tool_call","content":'
        '[{"type":"tool_call","id":"c1","name":"x","input":{"é":1}}],"usage":{"input_tokens":3}}'
    )


def test_usage_members_that_are_no_non_negative_integers_are_dropped() -> None:
    assert counted({"input_tokens": 1, "output_tokens": -1, "cached_tokens": True}) == {
        "input_tokens": 1
    }
    assert counted({"input_tokens": None}) is None


def test_the_endpoint_is_trimmed_and_its_absence_told_from_its_emptiness() -> None:
    name = "MURMUR_INFERENCE_ENDPOINT"

    assert endpoint({name: " http://127.0.0.1:9/v1/ "}, "/x") == "http://127.0.0.1:9/v1/x"
    with pytest.raises(DriverError, match=f"^driver: missing {name}$"):
        endpoint({}, "/x")
    with pytest.raises(DriverError, match=f"^driver: {name} is set but empty$"):
        endpoint({name: "  "}, "/x")


def test_a_config_variable_is_a_json_object_or_nothing() -> None:
    assert read_config({}, "C") == {}
    assert read_config({"C": '{"a":1}'}, "C") == {"a": 1}
    for text in ("{", "[]"):
        with pytest.raises(DriverError, match=r"^driver: C is not"):
            read_config({"C": text}, "C")


STREAM = (
    b': a comment\r\n\r\nevent: one\r\ndata: {"a":1}\r\n\r\n'
    b"data: first\ndata:second\n\nid: 4\n\ndata: \xc3\xa9\r\rdata: unfinished\n"
)


@given(st.lists(st.integers(0, len(STREAM)), max_size=8))
def test_events_are_the_same_wherever_the_body_is_cut(cuts: list[int]) -> None:
    marks = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[a:b] for a, b in itertools.pairwise(marks)]

    assert list(read_events(pieces)) == [
        Event("one", '{"a":1}'),
        Event("message", "first\nsecond"),
        Event("message", "é"),
    ]


def answering(status: int, *pieces: bytes) -> tuple[list[object], object]:
    seen: list[object] = []

    def post(url: str, headers: Mapping[str, str], body: bytes) -> Response:
        seen.append((url, dict(headers), json.loads(body)))
        return Response(status, iter(pieces))

    return seen, post


def test_the_payload_goes_out_as_json_with_the_drivers_headers() -> None:
    seen, post = answering(200, b"{}")

    ask(post, "http://p/x", {"anthropic-version": "1"}, {"a": "é"})  # type: ignore[arg-type]

    headers = {"content-type": "application/json", "accept": "text/event-stream"}
    assert seen == [("http://p/x", {**headers, "anthropic-version": "1"}, {"a": "é"})]


@pytest.mark.parametrize(
    "pieces", [(b'{"a":', b"1}"), (b" \n", b"\t", b'{"a":1}'), (b'[{"a":1}]',)]
)
def test_a_body_that_begins_like_json_is_read_whole(pieces: tuple[bytes, ...]) -> None:
    _, post = answering(200, *pieces)

    assert ask(post, "", {}, {}).whole == {"a": 1}  # type: ignore[arg-type]


def test_any_other_body_is_read_as_events_up_to_done() -> None:
    _, post = answering(200, b"\n\nda", b'ta: {"a":1}\n\ndata: [DONE]\n\ndata: nonsense\n\n')

    reply = ask(post, "", {}, {})  # type: ignore[arg-type]

    assert reply.whole is None
    assert list(reply.events) == [{"a": 1}]


@pytest.mark.parametrize("status", [201, 301, 401, 429, 529])
def test_every_status_but_200_fails_with_status_and_body(status: int) -> None:
    _, post = answering(status, b" no ", b"way ")

    with pytest.raises(DriverError, match=f"^HTTP {status}: no way$"):
        ask(post, "", {}, {})  # type: ignore[arg-type]


def test_an_error_body_is_not_read_without_end() -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b"x" * 1000

    with pytest.raises(DriverError) as failure:
        ask(lambda *_: Response(500, endless()), "", {}, {})

    assert len(str(failure.value)) < 17000


@pytest.mark.parametrize("body", [b"{nope", b"[1]", b"data: nope\n\n", b"data: 1\n\n"])
def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    _, post = answering(200, body)

    with pytest.raises(DriverError, match=r"^driver: "):
        list(ask(post, "", {}, {}).events)  # type: ignore[arg-type]
