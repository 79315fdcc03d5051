"""The provider drivers as the components that run, through gate and gateway, over real streams."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

from murmur.guest.calls import GateRules
from murmur.guest.client import Guests
from murmur.inference.gateway import Gateway
from murmur.inference.gateway_routes import GatewayTarget, Route, new_token
from murmur.inference.tests.guest_side import Keys
from murmur.manifest.endpoint import parse_endpoint
from tests.artifacts.components import Artifact, Called, compile_artifact
from tests.providers import anthropic_server, openai_server
from tests.providers.scripted import Server

KEY = "sk-test-0123456789abcdef"
TOOLS = [{"name": "tool-editor", "parameters": {"type": "object"}, "description": "Edit files"}]
SCRIPT: list[dict[str, Any]] = [
    {
        "thinking": "a tool will do",
        "text": "I look.",
        "tool_calls": [{"name": "tool-editor", "input": {"operation": "list_files", "dir": "é"}}],
    },
    {"text": "There are 3 files."},
]


@dataclass(frozen=True)
class Case:
    """One API of one provider."""

    driver: str
    server: ModuleType
    model: str
    path: str
    upstream: tuple[str, str]

    def key_of(self, headers: Any) -> str | None:
        value = headers.get(self.upstream[0].lower())
        return str(value).removeprefix("Bearer ") if value else None


ANTHROPIC = Case(
    "driver-anthropic",
    anthropic_server,
    "claude-haiku-4-5",
    "/v1/messages",
    ("x-api-key", "{key}"),
)
BEARER = ("Authorization", "Bearer {key}")
CHAT = Case("driver-openai", openai_server, "gpt-4o", "/v1/chat/completions", BEARER)
RESPONSES = Case("driver-openai", openai_server, "gpt-5.6-luna", "/v1/responses", BEARER)
CASES = [
    pytest.param(ANTHROPIC, id="anthropic"),
    pytest.param(CHAT, id="openai-chat"),
    pytest.param(RESPONSES, id="openai-responses"),
]


@pytest.fixture(scope="module")
def drivers(guests: Guests, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Artifact]:
    folder = tmp_path_factory.mktemp("compiled")
    names = ("driver-anthropic", "driver-openai")
    return {name: compile_artifact(name, guests, folder) for name in names}


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    loop = asyncio.new_event_loop()
    stop, ready = asyncio.Event(), threading.Event()
    held: list[Gateway] = []

    async def serve() -> None:
        gateway = Gateway(socket.create_server(("127.0.0.1", 0)))
        await gateway.start()
        held.append(gateway)
        ready.set()
        await stop.wait()
        await gateway.close()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert ready.wait(10)
    yield held[0]
    loop.call_soon_threadsafe(stop.set)
    thread.join(10)
    loop.close()


@dataclass
class Session:
    """A driver with a gateway in front of a scripted server."""

    case: Case
    driver: Artifact
    gateway: Gateway

    def turn(self, server: Server, messages: list[dict[str, Any]], **members: object) -> Called:
        endpoint = parse_endpoint(server.url)
        token = new_token()
        target = GatewayTarget(endpoint, *self.case.upstream, Keys(KEY))
        self.gateway.register(token, Route(self.case.driver, (), target))
        path = server.url.partition("://")[2].partition("/")[2]
        request = {
            "model": self.case.model,
            "max_tokens": 512,
            "system": "You edit.",
            "params": {},
            "tools": TOOLS,
            "messages": messages,
            **members,
        }
        rules = GateRules(self.gateway.address, token, gateway=True)
        address = "http://127.0.0.1:9" + (f"/{path}" if path else "")
        return self.driver.call(request, gate=rules, MURMUR_INFERENCE_ENDPOINT=address)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


@pytest.fixture(params=CASES)
def session(
    request: pytest.FixtureRequest, drivers: dict[str, Artifact], gateway: Gateway
) -> Session:
    case: Case = request.param
    return Session(case, drivers[case.driver], gateway)


def test_two_turns_with_a_tool_call_stream_through_and_the_key_stays_outside(
    session: Session,
) -> None:
    with session.case.server.start(SCRIPT, key=KEY) as server:
        first = session.turn(server, [user("How many files?")])
        call = first.data["content"][-1]
        content = [{"type": "text", "text": "3 entries"}]
        result = {"role": "tool", "tool_call_id": call["id"], "is_error": False}
        history = [
            user("How many files?"),
            {"role": "assistant", "content": first.data["content"]},
            {**result, "content": content},
        ]
        second = session.turn(server, history)

    assert first.data["stop_reason"] == "tool_call"
    assert call == {
        "type": "tool_call",
        "id": call["id"],
        "name": "tool-editor",
        "input": {"operation": "list_files", "dir": "é"},
    }
    assert [block["type"] for block in first.data["content"]] == ["thinking", "text", "tool_call"]
    assert first.data["usage"] == {"input_tokens": 11, "output_tokens": 7}
    told = "".join(facts["chunk"] for kind, facts in first.events if kind == "emit-chunk")
    thought = "".join(
        facts["chunk"] for kind, facts in first.events if kind == "emit-thinking-chunk"
    )
    assert (told, thought) == ("I look.", "a tool will do")
    started = [facts for kind, facts in first.events if kind == "tool-call-started"]
    assert started == [{"id": call["id"], "name": "tool-editor"}]
    sizes = [facts["bytes"] for kind, facts in first.events if kind == "tool-call-input-bytes"]
    assert sizes == sorted(set(sizes))
    assert second.data["stop_reason"] == "end_turn"
    assert second.data["content"] == [{"type": "text", "text": "There are 3 files."}]
    assert [request.path for request in server.requests] == [session.case.path] * 2
    assert [session.case.key_of(request.headers) for request in server.requests] == [KEY, KEY]
    assert "3 entries" in json.dumps(server.requests[1].body)
    assert KEY not in repr((first, second))


def test_pieces_arrive_while_the_provider_still_speaks(session: Session) -> None:
    turn = {"text": "abcde" * 4, "delay_ms": 40}
    with session.case.server.start([turn], key=KEY) as server:
        called = session.turn(server, [user("go")])

    chunks = [facts["chunk"] for kind, facts in called.events if kind == "emit-chunk"]
    assert len(chunks) >= 4
    assert "".join(chunks) == "abcde" * 4


def test_a_provider_that_does_not_stream_is_understood(session: Session) -> None:
    with session.case.server.start([{"text": "whole", "stream": False}], key=KEY) as server:
        called = session.turn(server, [user("go")])

    assert called.data["content"] == [{"type": "text", "text": "whole"}]
    assert called.events == []


def test_a_stream_that_breaks_off_is_an_error(session: Session) -> None:
    turn = {"text": "never finished", "break_after": 5}
    with session.case.server.start([turn], key=KEY) as server:
        called = session.turn(server, [user("go")])

    assert called.result.status == "error"
    assert called.data["stop_reason"] == "error"
    assert called.result.summary == called.data["error"]


@pytest.mark.parametrize("status", [400, 429, 529])
def test_a_providers_http_error_names_its_status_and_body(session: Session, status: int) -> None:
    turn = {"status": status, "body": {"error": {"message": "scripted failure"}}}
    with session.case.server.start([turn], key=KEY) as server:
        called = session.turn(server, [user("go")])

    assert called.result.status == "error"
    assert str(called.result.summary).startswith(f"HTTP {status}: ")
    assert "scripted failure" in str(called.result.summary)


def test_a_large_request_goes_out_whole(session: Session) -> None:
    text = "x" * 3_000_000
    with session.case.server.start([{"text": "big"}], key=KEY) as server:
        called = session.turn(server, [user(text)])

    assert called.data["content"] == [{"type": "text", "text": "big"}]
    assert text in json.dumps(server.requests[0].body)


def test_a_request_past_the_gate_is_denied(session: Session) -> None:
    with session.case.server.start([{"text": "x"}]) as server:
        rules = GateRules(session.gateway.address, new_token())
        request = {"model": session.case.model, "max_tokens": 5, "messages": [user("go")]}
        called = session.driver.call(request, gate=rules, MURMUR_INFERENCE_ENDPOINT=server.url)

    assert server.requests == []
    assert called.result.status == "error"
    assert called.result.summary == "driver: no answer from the provider: http request denied"
