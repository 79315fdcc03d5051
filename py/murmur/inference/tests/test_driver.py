"""The driver client: spec/artifacts.md 11 and 12, spec/sessions.md 10.2 and 10.3."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from murmur.guest.calls import GuestFailure, GuestResult, ToolResult
from murmur.inference.driver import DriverClient, OnEvent, continuation_after
from murmur.inference.gateway import Gateway
from murmur.inference.gateway_routes import Route
from murmur.inference.payload import Continuation, TurnRequest, cache_key
from murmur.inference.reply import Turn, TurnFailure, read_reply, read_usage
from murmur.inference.retry import Clock, RetryNotice
from murmur.inference.tests.guest_side import Keys, keyed
from murmur.inference.tests.upstream import Handler, answering, plain, serving
from murmur.inference.tokens import count_tokens
from murmur.manifest.inference import Retry
from murmur.trace.content import canonical

KEY = "sk-live-1234567890"
HISTORY: list[dict[str, Any]] = [
    {"id": "msg_1", "role": "user", "content": [{"type": "text", "text": "Fix it"}]},
    {
        "id": "msg_2",
        "role": "assistant",
        "content": [{"type": "tool_call", "id": "c1", "name": "tool-editor", "input": {"a": 1}}],
        "truncated": True,
    },
    {
        "id": "msg_3",
        "role": "tool",
        "tool_call_id": "c1",
        "is_error": False,
        "fence": "tool:tool-editor",
        "inserted_by": "replace-context",
        "content": [{"type": "text", "text": "…"}],
    },
]


def passed(response: object, **more: Any) -> ToolResult:
    return ToolResult("passed", data=json.dumps(response), **more)


END: Mapping[str, object] = {
    "stop_reason": "end_turn",
    "content": [{"type": "text", "text": "done"}],
}


def test_the_request_holds_the_documented_keys_and_no_bookkeeping() -> None:
    tools = [{"name": "tool-editor", "parameters": {"type": "object"}, "description": "Edit"}]
    request = TurnRequest(
        "demo-1", 4096, HISTORY, tools, "You are", cache_key("helper", "0.1.0", "ctx_01"), "ctx_01"
    )
    sent = json.loads(request.payload())
    assert sent == {
        "model": "demo-1",
        "max_tokens": 4096,
        "system": "You are",
        "params": {},
        "prompt_cache_key": "helper:0.1.0:ctx_01",
        "tools": tools,
        "messages": [
            {"role": "user", "content": HISTORY[0]["content"]},
            {"role": "assistant", "content": HISTORY[1]["content"]},
            {
                "role": "tool",
                "tool_call_id": "c1",
                "is_error": False,
                "content": HISTORY[2]["content"],
            },
        ],
    }
    assert "…" in request.payload()
    assert request.input_tokens() == count_tokens(request.full_payload())
    assert cache_key("helper", "0.1.0", None) == "helper:0.1.0"


@pytest.mark.parametrize(
    ("held", "count", "identifier"),
    [
        (Continuation("r1", "ctx", 2), 1, "r1"),
        (Continuation("r1", "other", 2), 3, None),
        (Continuation("r1", "ctx", 9), 3, None),
        (Continuation("", "ctx", 2), 3, None),
        (None, 3, None),
    ],
)
def test_only_what_a_held_continuation_does_not_know_is_sent(
    held: Continuation | None, count: int, identifier: str | None
) -> None:
    request = TurnRequest("m", 1, HISTORY, context_id="ctx", continuation=held)
    sent = json.loads(request.payload())
    assert len(sent["messages"]) == count
    assert sent.get("continuation_id") == identifier
    assert len(json.loads(request.full_payload())["messages"]) == 3


def test_an_answer_without_a_continuation_id_drops_the_held_one() -> None:
    request = TurnRequest("m", 1, HISTORY, context_id="ctx")
    turn = read_reply(passed(END, metadata=(("continuation_id", ""), ("continuation_id", "r2"))))
    assert isinstance(turn, Turn)
    assert continuation_after(turn, request) == Continuation("r2", "ctx", 4)
    bare = read_reply(passed(END))
    assert isinstance(bare, Turn)
    assert continuation_after(bare, request) is None


def test_a_lone_surrogate_never_reaches_a_component() -> None:
    request = TurnRequest(
        "m", 1, [{"role": "user", "content": [{"type": "text", "text": "\ud83d"}]}]
    )
    assert request.payload().encode()
    block = '{"type":"text","text":"a\\ud83d \\ud83d\\ude00"}'
    data = '{"stop_reason":"end_turn","content":[' + block + "]}"
    turn = read_reply(ToolResult("passed", data=data))
    assert isinstance(turn, Turn)
    assert turn.text == "a\ufffd \U0001f600"


def test_text_blocks_are_joined_with_newlines_and_content_is_kept_verbatim() -> None:
    content = [
        {"type": "thinking", "text": "hm", "signature": "s"},
        {"type": "text", "text": "a", "citations": []},
        {"type": "novel", "x": 1},
        {"type": "text", "text": "b"},
    ]
    turn = read_reply(passed({"stop_reason": "max_tokens", "content": content}))
    assert isinstance(turn, Turn)
    assert (turn.text, turn.decision, turn.problem) == ("a\nb", "text", None)
    assert list(turn.content) == content


def test_tool_calls_are_read_and_a_tool_call_stop_without_any_is_a_problem() -> None:
    block = {"type": "tool_call", "id": "", "name": "t", "input": {}}
    turn = read_reply(passed({"stop_reason": "tool_call", "content": [block]}))
    assert isinstance(turn, Turn)
    assert (turn.tool_calls[0].name, turn.decision, turn.problem) == ("t", "tool_call", None)
    none = read_reply(passed({"stop_reason": "tool_call", "content": []}))
    assert isinstance(none, Turn)
    expected = "response stop_reason=tool_call but no tool_call blocks were present"
    assert none.problem == expected
    odd = read_reply(passed({"stop_reason": "pause", "content": []}))
    assert isinstance(odd, Turn)
    assert odd.problem == "unsupported stop_reason=pause"


@pytest.mark.parametrize(
    "data",
    [
        None,
        "",
        "not json",
        "[]",
        "{}",
        '{"stop_reason":"end_turn"}',
        '{"stop_reason":1,"content":[]}',
        '{"stop_reason":"end_turn","content":{}}',
        '{"stop_reason":"end_turn","content":["x"]}',
        '{"stop_reason":"end_turn","content":[{"text":"x"}]}',
        '{"stop_reason":"end_turn","content":[{"type":"text","text":1}]}',
        '{"stop_reason":"tool_call","content":[{"type":"tool_call","id":"a","name":""}]}',
        '{"stop_reason":"tool_call","content":[{"type":"tool_call","id":"a","name":"t","input":[]}]}',
        '{"stop_reason":"end_turn","content":[],"n":NaN}',
        '{"stop_reason":"end_turn","content":[],"n":1e999}',
        '{"stop_reason":"end_turn","content":[],"n":' + "[" * 500 + "]" * 500 + "}",
        '{"a":' * 100_000,
        '{"stop_reason":"end_turn","content":[],"n":' + "9" * 10_000 + "}",
    ],
)
def test_a_response_without_its_shape_is_malformed(data: str | None) -> None:
    failure = read_reply(ToolResult("passed", data=data))
    assert isinstance(failure, TurnFailure)
    assert failure.error_code == "malformed_response"


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (ToolResult("error", "HTTP 500: no", '{"stop_reason":"error","error":"why"}'), "why"),
        (ToolResult("passed", None, '{"stop_reason":"error","content":[],"error":"why"}'), "why"),
        (ToolResult("error", "HTTP 500: no", None), "HTTP 500: no"),
        (ToolResult("failed", None, "plain words"), "plain words"),
        (ToolResult("error", None, None), "the driver reported an error without a text"),
    ],
)
def test_an_error_of_the_driver_keeps_its_text(result: ToolResult, text: str) -> None:
    failure = read_reply(result)
    assert isinstance(failure, TurnFailure)
    assert (failure.error_code, failure.error) == ("driver_error", text)


def test_a_driver_that_did_not_return_failed_and_a_cancelled_one_is_no_failure_of_its() -> None:
    trap = read_reply(GuestFailure("trap", "driver 'd' trapped: x"))
    assert isinstance(trap, TurnFailure)
    assert trap.error_code == "driver_failed"
    dropped = read_reply(GuestFailure("cancelled", "driver 'd' was cancelled"))
    assert isinstance(dropped, TurnFailure)
    assert dropped.error_code == "canceled"


@pytest.mark.parametrize(
    ("usage", "kept"),
    [
        ({"input_tokens": 3, "output_tokens": 0}, {"input_tokens": 3, "output_tokens": 0}),
        ({"input_tokens": -1, "cached_tokens": 2}, {"cached_tokens": 2}),
        ({"input_tokens": True, "output_tokens": 1.5, "novel": 3}, {}),
        ({"cache_write_tokens": "4"}, {}),
        ([], {}),
        (None, {}),
    ],
)
def test_malformed_usage_is_dropped_part_by_part_and_absent_is_never_zero(
    usage: object, kept: dict[str, int]
) -> None:
    assert read_usage(usage) == kept


class Harness:
    """A gateway on a loop of its own thread, as in the runtime, and a driver spoken by sockets."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(),))

    async def _run(self) -> None:
        self._stop = asyncio.Event()
        async with serving(self._handler) as self.server:
            self.gateway = Gateway(socket.create_server(("127.0.0.1", 0)))
            await self.gateway.start()
            self._ready.set()
            await self._stop.wait()
            await self.gateway.close()

    def __enter__(self) -> "Harness":
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        self._loop.close()

    def drive(
        self, payload: str, token: str, on_event: OnEvent | None, cancel: threading.Event
    ) -> GuestResult:
        """A driver: posts its payload to the gateway authority and turns the answer over."""
        host, _, port = self.gateway.address.rpartition(":")
        with socket.create_connection((host, int(port)), 10) as link:
            body = payload.encode()
            head = (
                f"POST /{token}/http/127.0.0.1:9/v1/messages HTTP/1.1\r\nhost: x\r\n"
                f"content-length: {len(body)}\r\n\r\n"
            )
            link.sendall(head.encode() + body)
            data = b""
            while piece := link.recv(65536):
                data += piece
        status = int(data.split()[1])
        answer = data.partition(b"\r\n\r\n")[2].decode()
        if status != 200:
            text = f"HTTP {status}: {answer}"
            failed = json.dumps({"stop_reason": "error", "content": [], "error": text})
            return ToolResult("error", text, failed)
        return ToolResult("passed", data=answer)


class NamedKeys(Keys):
    """Keys with what a Credential says about itself."""

    source = "config"
    origin = "credentials.PROVIDER_KEY in config.yaml"
    report = staticmethod(lambda change: None)


def client(harness: Harness, keys: NamedKeys, clock: Clock | None = None) -> DriverClient:
    target = keyed(f"http://127.0.0.1:{harness.server.port}", keys)
    route = Route("murmur/driver-x", target=target)
    return DriverClient("murmur/driver-x", route, harness.drive, harness.gateway, keys, clock)  # type: ignore[arg-type]


REQUEST = TurnRequest("m", 10, HISTORY[:1])
QUICK = Retry(max_retries=2, initial_delay_ms=5, max_delay_ms=50)


def test_a_turn_goes_through_the_gateway_with_the_key_and_is_counted() -> None:
    answer = json.dumps({**END, "usage": {"input_tokens": 7, "output_tokens": 2}})
    with Harness(answering(plain(answer.encode()))) as harness:
        answered = client(harness, NamedKeys(KEY)).call(REQUEST, QUICK, cancel=threading.Event())
        assert harness.server.exchanges[0].fields("x-api-key") == [KEY]
    assert answered.trace_fields() == {
        "input_tokens": count_tokens(REQUEST.full_payload()),
        "output_tokens": count_tokens(answer),
        "decision": "end_turn",
        "stop_reason": "end_turn",
        "tool_name": None,
        "input_tokens_actual": 7,
        "output_tokens_actual": 2,
        "provider_status": 200,
    }


def statuses(*responses: bytes) -> Handler:
    left = list(responses)
    return lambda exchange: answering(left.pop(0) if len(left) > 1 else left[0])(exchange)


def test_a_transient_status_is_retried_and_told_before_the_call_succeeds() -> None:
    good = plain(json.dumps(END).encode())
    handler = statuses(plain(b"a", "503 Busy"), plain(b"b", "529 Overloaded"), good)
    notices: list[RetryNotice] = []
    with Harness(handler) as harness:
        answered = client(harness, NamedKeys(KEY)).call(
            REQUEST, QUICK, cancel=threading.Event(), on_retry=notices.append
        )
    assert isinstance(answered.result, Turn)
    assert [(n.attempt, n.max_attempts, n.provider_status) for n in notices] == [
        (1, 3, 503),
        (2, 3, 529),
    ]
    assert answered.trace_fields()["attempts"] == 3
    assert "retry_stopped" not in answered.trace_fields()


def test_a_failure_that_stays_transient_stops_at_max_retries() -> None:
    with Harness(answering(plain(b"busy", "503 Busy"))) as harness:
        answered = client(harness, NamedKeys(KEY)).call(REQUEST, QUICK, cancel=threading.Event())
        assert len(harness.server.exchanges) == 3
    fields = answered.trace_fields()
    assert fields["error_code"] == "driver_error"
    assert (fields["attempts"], fields["retry_stopped"]) == (3, "max_retries")
    assert fields["provider_status"] == 503


@dataclass(frozen=True)
class EndsIn:
    """A clock of a session that ends soon."""

    seconds: float

    def remaining(self) -> float | None:
        return self.seconds

    def admitted(self) -> bool:
        return True


def test_a_wait_that_the_sessions_deadline_would_cut_is_not_begun() -> None:
    slow = Retry(max_retries=2, initial_delay_ms=5, max_delay_ms=60_000)
    busy = plain(b"busy", "429 Too Many", "retry-after: 30")
    began = time.monotonic()
    with Harness(answering(busy)) as harness:
        driver = client(harness, NamedKeys(KEY), EndsIn(20))
        answered = driver.call(REQUEST, slow, cancel=threading.Event())
        assert len(harness.server.exchanges) == 1
    assert time.monotonic() - began < 10
    assert answered.trace_fields()["retry_stopped"] == "deadline"


def test_a_status_that_will_not_pass_is_not_retried() -> None:
    with Harness(answering(plain(b"bad", "400 Bad Request"))) as harness:
        answered = client(harness, NamedKeys(KEY)).call(REQUEST, QUICK, cancel=threading.Event())
        assert len(harness.server.exchanges) == 1
    assert "retry_stopped" not in answered.trace_fields()


def test_a_connection_that_fails_is_retried_as_connection() -> None:
    good = plain(json.dumps(END).encode())
    notices: list[RetryNotice] = []
    with Harness(statuses(b"", good)) as harness:
        answered = client(harness, NamedKeys(KEY)).call(
            REQUEST, QUICK, cancel=threading.Event(), on_retry=notices.append
        )
    assert isinstance(answered.result, Turn)
    assert [(n.provider_status, n.reason) for n in notices] == [(None, "connection")]


def test_a_rejected_key_fails_the_turn_with_where_it_came_from_and_without_the_key() -> None:
    echo = f"invalid key {KEY}".encode()
    with Harness(answering(plain(echo, "401 Unauthorized"))) as harness:
        answered = client(harness, NamedKeys(KEY)).call(REQUEST, QUICK, cancel=threading.Event())
    result = answered.result
    assert isinstance(result, TurnFailure)
    assert result.error_code == "credential_rejected"
    assert "credentials.PROVIDER_KEY in config.yaml" in result.error
    assert "401" in result.error
    assert KEY not in repr(answered)


def test_a_key_that_the_provider_echoes_is_redacted_from_the_error() -> None:
    echo = f"no quota for {KEY}".encode()
    with Harness(answering(plain(echo, "403 Forbidden"))) as harness:
        answered = client(harness, NamedKeys(KEY)).call(REQUEST, QUICK, cancel=threading.Event())
    assert isinstance(answered.result, TurnFailure)
    assert answered.result.error.endswith("no quota for [redacted]")


def test_the_route_lives_exactly_as_long_as_the_attempt() -> None:
    tokens: list[str] = []

    with Harness(answering(plain(json.dumps(END).encode()))) as harness:
        real = harness.drive

        def invoke(
            payload: str, token: str, on_event: OnEvent | None, cancel: threading.Event
        ) -> GuestResult:
            tokens.append(token)
            return real(payload, token, on_event, cancel)

        keys = NamedKeys(KEY)
        target = keyed(f"http://127.0.0.1:{harness.server.port}", keys)
        route = Route("d", target=target)
        driver = DriverClient("d", route, invoke, harness.gateway)
        for _ in range(2):
            driver.call(REQUEST, QUICK, cancel=threading.Event())
        assert len(set(tokens)) == 2
        late = real("{}", tokens[0], None, threading.Event())
        assert isinstance(late, ToolResult)
        assert late.status == "error"
        assert len(harness.server.exchanges) == 2


def test_a_driver_without_a_gateway_is_called_without_one() -> None:
    driver = DriverClient("r", Route("r"), lambda *_: passed(END), None)
    answered = driver.call(REQUEST, QUICK, cancel=threading.Event())
    assert isinstance(answered.result, Turn)
    assert "provider_status" not in answered.trace_fields()


def test_a_cancelled_wait_ends_at_once() -> None:
    cancel = threading.Event()
    slow = Retry(max_retries=2, initial_delay_ms=60_000, max_delay_ms=60_000)
    with Harness(answering(plain(b"busy", "503 Busy"))) as harness:
        answered = client(harness, NamedKeys(KEY)).call(
            REQUEST, slow, cancel=cancel, on_retry=lambda _: cancel.set()
        )
    assert answered.called.retry_stopped == "canceled"


def test_every_piece_that_the_trace_hashes_is_a_substring_of_the_request() -> None:

    request = TurnRequest(
        model="m",
        max_tokens=5,
        messages=[
            {"role": "user", "id": "msg_1", "content": [{"type": "text", "text": "ü \ud800"}]},
            {"role": "assistant", "content": [{"type": "tool_call", "name": "b", "id": "a"}]},
        ],
        tools=[{"name": "t", "parameters": {"type": "object", "b": 1, "a": 2}}],
        system="s",
    )
    payload = request.payload()
    members = request.members()
    for piece in (members["tools"], *members["messages"], members["system"]):
        assert canonical(piece).decode() in payload
