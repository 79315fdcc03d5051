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
DENIED = "d015"
"""A denied future with wasi:http's HTTP-request-denied."""


@dataclass(slots=True)
class Outside:
    """A gateway on a loop of its own, a server, and a bystander that is never to be reached."""

    gateway: Gateway
    server: Upstream
    bystander: Upstream
    redirect: str = ""

    async def answer(self, exchange: Exchange) -> None:
        """What the server says: a redirect where one is set."""
        signed = exchange.fields("x-api-key") == [KEY]
        status, fields = "299 Signed" if signed else "200 OK", []
        if self.redirect:
            status, fields = "302 Found", [f"location: {self.redirect}"]
        exchange.writer.write(plain(b"ok", status, *fields))

    def arrivals(self) -> tuple[int, int]:
        """Connections that the server and the bystander accepted."""
        return self.server.connections, self.bystander.connections


@pytest.fixture
def outside() -> Iterator[Outside]:
    loop = asyncio.new_event_loop()
    stop, ready = asyncio.Event(), threading.Event()
    held: list[Outside] = []

    async def answer(exchange: Exchange) -> None:
        await held[0].answer(exchange)

    async def serve() -> None:
        async with serving(answer) as server, serving(answer) as bystander:
            gateway = Gateway(socket.create_server(("127.0.0.1", 0)))
            await gateway.start()
            held.append(Outside(gateway, server, bystander))
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


def ask(
    fetch: tuple[Guests, Path], rules: GateRules, authority: str, scheme: str = "http"
) -> str | None:
    """`s` and the status that the guest saw, `d` or `e` and an error code."""
    guests, compiled = fetch
    given = ToolInput({"http": "0", "https": "1"}[scheme] + authority)
    request = GuestCall("x", "tool", compiled, "fetch", given, gate=rules)
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


ELSEWHERE = {
    "an unlisted host": ("localhost:{server}", "http://elsewhere.example:{bystander}"),
    "another port of a listed host": ("localhost:{server}", "http://localhost:{bystander}"),
    "plain http where https is listed": ("https://localhost:{server}", "http://localhost:{server}"),
    "https where http is listed": ("http://localhost:{server}", "https://localhost:{server}"),
    "an address of a listed name": ("localhost:{server}", "http://127.0.0.1:{server}"),
    "the same address in IPv6": ("localhost:{server}", "http://[::ffff:127.0.0.1]:{server}"),
    "the gateway's address of another artifact": ("localhost:{server}", "http://127.0.0.1:9"),
}


@pytest.mark.parametrize("gate", ["held by its gate", "with a gate that lets everything pass"])
@pytest.mark.parametrize("way", ELSEWHERE)
def test_a_guest_that_asks_for_anything_else_is_refused_and_nothing_arrives_anywhere(
    fetch: tuple[Guests, Path], outside: Outside, way: str, gate: str
) -> None:
    ports = {"server": outside.server.port, "bystander": outside.bystander.port}
    listed, asked = (text.format(**ports) for text in ELSEWHERE[way])
    endpoint = parse_endpoint(f"http://127.0.0.1:{outside.bystander.port}")
    owner = GatewayTarget(endpoint, "x-api-key", "{key}", Keys(KEY))
    outside.gateway.register(new_token(), Route("the gateway's own", (), owner))
    token = new_token()
    outside.gateway.register(token, Route("x", parse_rules([listed])))
    everything = gate != "held by its gate"
    rules = GateRules(outside.gateway.address, token, (listed, asked) if everything else (listed,))
    scheme, _, authority = asked.partition("://")

    said = ask(fetch, rules, authority, scheme)

    assert said == ("s403" if everything else DENIED)
    assert outside.arrivals() == (0, 0)


def test_a_redirect_out_comes_back_to_the_guest_and_nobody_goes_there(
    fetch: tuple[Guests, Path], outside: Outside
) -> None:
    outside.redirect = f"http://localhost:{outside.bystander.port}/"
    entry = f"localhost:{outside.server.port}"
    endpoint = parse_endpoint(f"http://127.0.0.1:{outside.server.port}")
    target = GatewayTarget(endpoint, "x-api-key", "{key}", Keys(KEY))
    token = new_token()
    outside.gateway.register(token, Route("x", parse_rules([entry]), target))
    rules = GateRules(outside.gateway.address, token, (entry,), gateway=True)

    assert ask(fetch, rules, entry) == "s302"
    assert ask(fetch, rules, "127.0.0.1:9") == "s302"
    assert outside.arrivals() == (2, 0)
