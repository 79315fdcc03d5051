"""A guest's requests through its gate and the gateway. design/decisions.md 10."""

import asyncio
import os
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from murmur.guest.calls import GateRules, GuestCall, ToolInput, ToolResult
from murmur.guest.client import Guests
from murmur.guest.tests.components import component
from murmur.guest.tests.starter import plain_starter
from murmur.inference.gateway import Gateway
from murmur.inference.gateway_routes import GatewayTarget, Route, new_token
from murmur.inference.tests.guest_side import Keys
from murmur.inference.tests.upstream import Exchange, Upstream, plain, serving
from murmur.manifest.endpoint import parse_endpoint
from murmur.manifest.network import parse_rules

KEY = "sk-live-1234567890"


@dataclass(slots=True)
class Outside:
    """A gateway on a loop of its own, and one upstream server."""

    gateway: Gateway
    server: Upstream


@pytest.fixture
def outside() -> Iterator[Outside]:
    loop = asyncio.new_event_loop()
    stop, ready = asyncio.Event(), threading.Event()
    held: list[Outside] = []

    async def answer(exchange: Exchange) -> None:
        signed = exchange.fields("x-api-key") == [KEY]
        exchange.writer.write(plain(b"ok", "299 Signed" if signed else "200 OK"))

    async def serve() -> None:
        async with serving(answer) as server:
            gateway = Gateway(socket.create_server(("127.0.0.1", 0)))
            await gateway.start()
            held.append(Outside(gateway, server))
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


@pytest.fixture(scope="module")
def fetch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Guests, Path]]:
    guests = Guests.start(plain_starter)
    path = tmp_path_factory.mktemp("compiled") / "fetch.cwasm"
    target = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    guests.compile(component("fetch"), target)
    os.close(target)
    yield guests, path
    guests.close()


def ask(fetch: tuple[Guests, Path], rules: GateRules, authority: str) -> str | None:
    """`s` and the status that the guest saw, `d` or `e` and an error code."""
    guests, compiled = fetch
    request = GuestCall("x", "tool", compiled, "fetch", ToolInput(f"0{authority}"), gate=rules)
    result = guests.call(request)
    assert isinstance(result, ToolResult), result
    return result.data


def test_a_guest_reaches_a_listed_host_through_the_runtime_alone(
    fetch: tuple[Guests, Path], outside: Outside
) -> None:
    entry = f"localhost:{outside.server.port}"
    token = new_token()
    outside.gateway.register(token, Route("x", parse_rules([entry])))
    rules = GateRules(outside.gateway.address, token, (entry,))
    assert ask(fetch, rules, entry) == "s200"
    assert outside.server.exchanges[0].line == "GET /v1/echo?x=1 HTTP/1.1"
    assert outside.server.exchanges[0].fields("host") == [entry]
    assert outside.gateway.observation(token).status == 200


def test_the_key_is_put_on_outside_the_guest(fetch: tuple[Guests, Path], outside: Outside) -> None:
    endpoint = parse_endpoint(f"http://127.0.0.1:{outside.server.port}")
    target = GatewayTarget(endpoint, "x-api-key", "{key}", Keys(KEY))
    token = new_token()
    outside.gateway.register(token, Route("x", (), target))
    rules = GateRules(outside.gateway.address, token, gateway=True)
    assert ask(fetch, rules, "127.0.0.1:9") == "s299"


def test_a_gate_that_lets_everything_pass_is_still_held_by_the_gateway(
    fetch: tuple[Guests, Path], outside: Outside
) -> None:
    entry = f"localhost:{outside.server.port}"
    token = new_token()
    outside.gateway.register(token, Route("x"))
    rules = GateRules(outside.gateway.address, token, (entry,))
    assert ask(fetch, rules, entry) == "s403"
    assert outside.server.connections == 0


def test_a_guest_that_dials_the_gateway_by_itself_has_no_token(
    fetch: tuple[Guests, Path], outside: Outside
) -> None:
    outside.gateway.register(new_token(), Route("other", parse_rules(["localhost"])))
    address = outside.gateway.address
    rules = GateRules(address, new_token(), (address,))
    assert ask(fetch, rules, address) == "s403"
    assert outside.server.connections == 0
