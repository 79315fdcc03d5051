"""The gateway over real sockets: design/decisions.md 10, spec/artifacts.md 12.2."""

import asyncio
import gc
import ssl
import tracemalloc
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from murmur.inference.gateway_messages import Timeouts
from murmur.inference.gateway_routes import CredentialUnavailable, Route, new_token
from murmur.inference.secret import Secret
from murmur.inference.tests.guest_side import Cut, Dials, Keys, Names, admit, keyed, running
from murmur.inference.tests.upstream import (
    Authority,
    Exchange,
    answering,
    make_authority,
    plain,
    serving,
)

PUBLIC = "93.184.216.34"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    folder: Path = tmp_path_factory.mktemp("authority")
    return make_authority(folder, "api.example.com", "localhost")


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 30))


def test_an_allowed_request_reaches_the_listed_host_and_its_answer_comes_back() -> None:
    async def test() -> None:
        async with serving(answering(plain(b"pong", "201 Created", "x-own: 1"))) as server:
            names = Names({"api.example.com": [PUBLIC]})
            dials = Dials(server.port)
            async with running(names, dialer=dials) as gateway:
                guest = admit(gateway, "http://api.example.com")
                answer = await guest.ask(
                    "http://api.example.com/a/b?c=%20d", "x-mine: 7", method="POST", body=b"ping"
                )
                assert (answer.status, answer.body) == (201, b"pong")
                assert answer.fields("x-own") == ["1"]
                assert dials.seen == [f"{PUBLIC}:80"]
                assert names.asked == ["api.example.com"]
                observed = gateway.observation(guest.token)
                assert (observed.requests, observed.status, observed.failure) == (1, 201, None)
            request = server.exchanges[0]
            assert request.line == "POST /a/b?c=%20d HTTP/1.1"
            assert request.fields("host") == ["api.example.com"]
            assert request.fields("x-mine") == ["7"]

    run(test)


@pytest.mark.parametrize(
    ("rule", "url"),
    [
        ("http://api.example.com", "http://other.example.com/"),
        ("http://api.example.com", "http://api.example.com:8080/"),
        ("http://api.example.com", "https://api.example.com/"),
        ("http://api.example.com", "http://api.example.com.evil.org/"),
        ("http://api.example.com", "http://127.0.0.1:9/"),
    ],
)
def test_a_host_that_is_not_listed_is_denied_and_nothing_arrives(rule: str, url: str) -> None:
    async def test() -> None:
        async with serving(answering(plain(b""))) as server:
            dials = Dials(server.port)
            async with running(Names(), dialer=dials) as gateway:
                guest = admit(gateway, rule)
                answer = await guest.ask(url)
                assert answer.status == 403
                assert answer.fields("murmur-gateway") == ["denied"]
                assert gateway.observation(guest.token).failure == "refused"
            await asyncio.sleep(0.05)
            assert (dials.seen, server.connections) == ([], 0)

    run(test)


@pytest.mark.parametrize("inside", ["127.0.0.1", "10.0.0.7", "169.254.169.254", "::ffff:7f00:1"])
def test_a_listed_name_that_leads_inside_is_refused_unless_the_address_is_listed(
    inside: str,
) -> None:
    async def test() -> None:
        async with serving(answering(plain(b"inside"))) as server:
            dials = Dials(server.port)
            names = Names({"rebind.example.com": [inside]})
            async with running(names, dialer=dials) as gateway:
                url = f"http://rebind.example.com:{server.port}/"
                rule = f"http://rebind.example.com:{server.port}"
                answer = await admit(gateway, rule).ask(url)
                assert answer.status == 403
                assert (dials.seen, server.connections) == ([], 0)
                literal = f"[{inside}]" if ":" in inside else inside
                listed = admit(gateway, rule, f"{literal}:{server.port}")
                assert (await listed.ask(url)).body == b"inside"

    run(test)


def test_a_name_is_resolved_once_and_the_checked_address_is_the_one_dialled() -> None:
    async def test() -> None:
        async with serving(answering(plain(b"ok"))) as server:
            names = Names({"flip.example.com": [PUBLIC, "127.0.0.1"]})
            dials = Dials(server.port)
            async with running(names, dialer=dials) as gateway:
                guest = admit(gateway, "flip.example.com")
                assert (await guest.ask("http://flip.example.com/")).status == 200
                assert (await guest.ask("http://flip.example.com/")).status == 403
                assert dials.seen == [f"{PUBLIC}:80"]
                assert names.asked == ["flip.example.com"] * 2

    run(test)


def test_of_several_addresses_only_public_ones_are_dialled() -> None:
    async def test() -> None:
        async with serving(answering(plain(b"ok"))) as server:
            names = Names({"mixed.example.com": [f"127.0.0.1 {PUBLIC}"]})
            dials = Dials(server.port)
            async with running(names, dialer=dials) as gateway:
                guest = admit(gateway, "mixed.example.com")
                assert (await guest.ask("http://mixed.example.com/")).status == 200
                assert dials.seen == [f"{PUBLIC}:80"]

    run(test)


def test_a_listed_localhost_port_is_this_machines_own_and_others_are_not() -> None:
    async def test() -> None:
        async with serving(answering(plain(b"local"))) as server, running() as gateway:
            guest = admit(gateway, f"localhost:{server.port}")
            assert (await guest.ask(f"http://localhost:{server.port}/")).body == b"local"
            assert (await guest.ask(f"http://127.0.0.1:{server.port}/")).status == 403
            assert server.connections == 1

    run(test)


def test_https_is_checked_against_the_name_and_the_trusted_store(authority: Authority) -> None:
    async def test() -> None:
        async with serving(answering(plain(b"secret")), authority.server) as server:
            names = Names({"api.example.com": [PUBLIC], "other.example.com": [PUBLIC]})
            dials = Dials(server.port)
            async with running(names, dialer=dials, trust=authority.trust()) as gateway:
                guest = admit(gateway, "https://api.example.com", "https://other.example.com")
                assert (await guest.ask("https://api.example.com/")).body == b"secret"
                answer = await guest.ask("https://other.example.com/")
                assert answer.status == 502
                assert b"certificate" in answer.body
            untrusting = ssl.create_default_context()
            async with running(names, dialer=dials, trust=untrusting) as gateway:
                guest = admit(gateway, "https://api.example.com")
                assert (await guest.ask("https://api.example.com/")).status == 502
                assert gateway.observation(guest.token).failure == "connection"
            assert len(server.exchanges) == 1

    run(test)


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"])
def test_a_redirect_goes_back_to_the_guest_and_is_not_followed(status: str) -> None:
    async def test() -> None:
        async with serving(answering(plain(b"elsewhere"))) as elsewhere:
            location = f"location: http://127.0.0.1:{elsewhere.port}/"
            redirect = answering(plain(b"", status, location))
            async with serving(redirect) as server, running() as gateway:
                keys = Keys("sk-live-1234567890")
                target = keyed(f"http://localhost:{server.port}", keys)
                guest = admit(gateway, target=target)
                answer = await guest.ask("http://127.0.0.1:9/v1", method="POST", body=b"{}")
                assert answer.status == int(status[:3])
                assert answer.fields("location") == [location.partition(": ")[2]]
            await asyncio.sleep(0.05)
            assert elsewhere.connections == 0

    run(test)


def test_a_gateway_request_carries_the_key_once_and_the_guests_own_is_removed() -> None:
    async def test() -> None:
        async with serving(answering(plain(b"ok"))) as server, running() as gateway:
            target = keyed(f"http://127.0.0.1:{server.port}/base", Keys("sk-live-1234567890"))
            guest = admit(gateway, target=target)
            answer = await guest.ask(
                "http://127.0.0.1:9/base/v1/messages?beta=1",
                *("X-Api-Key: mine", "x-api-key: too", "x_api_key: sly", "x-api-keys: other"),
                method="POST",
                body=b"{}",
            )
            assert answer.status == 200
            request = server.exchanges[0]
            assert request.line == "POST /base/v1/messages?beta=1 HTTP/1.1"
            assert request.fields("x-api-key") == ["sk-live-1234567890"]
            assert request.fields("x_api_key") == []
            assert request.fields("x-api-keys") == ["other"]
            assert request.fields("host") == [f"127.0.0.1:{server.port}"]
            assert b"sk-live" not in answer.head + answer.body

    run(test)


def test_a_connection_field_cannot_strip_the_credential() -> None:
    async def test() -> None:
        async with serving(answering(plain(b"ok"))) as server, running() as gateway:
            keys = Keys("sk-live-1234567890")
            target = keyed(f"http://127.0.0.1:{server.port}", keys)
            guest = admit(gateway, target=target)
            await guest.ask("http://127.0.0.1:9/", "connection: x-api-key, x-gone", "x-gone: 1")
            assert server.exchanges[0].fields("x-api-key") == ["sk-live-1234567890"]
            assert server.exchanges[0].fields("x-gone") == []

    run(test)


def test_keyless_carries_no_credential_header_at_all() -> None:
    async def test() -> None:
        refusing = answering(plain(b"ok", "401 Unauthorized"))
        async with serving(refusing) as server, running() as gateway:
            target = keyed(f"http://127.0.0.1:{server.port}", None)
            guest = admit(gateway, target=target)
            answer = await guest.ask("http://127.0.0.1:9/", "x-api-key: guest")
            assert answer.status == 401
            assert server.exchanges[0].fields("x-api-key") == []
            assert not gateway.observation(guest.token).credential_rejected

    run(test)


def test_the_gateway_authority_of_an_artifact_without_a_gateway_is_an_ordinary_host() -> None:
    async def test() -> None:
        async with running() as gateway:
            assert (await admit(gateway).ask("http://127.0.0.1:9/v1")).status == 403

    run(test)


def _by_key(good: str) -> Callable[[Exchange], Coroutine[Any, Any, None]]:
    async def handler(exchange: Exchange) -> None:
        body = await exchange.body()
        accepted = exchange.fields("x-api-key") == [good]
        status = "200 OK" if accepted else "401 Unauthorized"
        exchange.writer.write(plain(body, status))

    return handler


def test_a_rotated_key_is_reread_after_a_401_and_the_same_bytes_are_sent_once_more() -> None:
    async def test() -> None:
        async with serving(_by_key("new-key-12345")) as server, running() as gateway:
            keys = Keys("old-key-12345", stored="new-key-12345")
            target = keyed(f"http://127.0.0.1:{server.port}", keys)
            guest = admit(gateway, target=target)
            body = bytes(range(256)) * 40
            answer = await guest.ask("http://127.0.0.1:9/v1", method="POST", body=body)
            assert (answer.status, answer.body) == (200, body)
            assert [one.fields("x-api-key")[0] for one in server.exchanges] == [
                "old-key-12345",
                "new-key-12345",
            ]
            assert not gateway.observation(guest.token).credential_rejected
            assert keys.rejections == []

    run(test)


@pytest.mark.parametrize(("stored", "sent", "retried"), [("", 1, False), ("other-1234", 2, True)])
def test_a_401_that_stands_is_recorded_and_handed_back_and_another_status_clears_it(
    stored: str, sent: int, retried: bool
) -> None:
    async def test() -> None:
        async with serving(_by_key("good-key-1234")) as server, running() as gateway:
            keys = Keys("wrong-key-123", stored=stored)
            target = keyed(f"http://127.0.0.1:{server.port}", keys)
            guest = admit(gateway, target=target)
            answer = await guest.ask("http://127.0.0.1:9/v1", method="POST", body=b"{}")
            assert answer.status == 401
            assert len(server.exchanges) == sent
            assert keys.rejections == [retried]
            assert gateway.observation(guest.token).credential_rejected
            keys.held = "good-key-1234"
            assert (await guest.ask("http://127.0.0.1:9/v1", method="POST", body=b"")).status == 200
            assert not gateway.observation(guest.token).credential_rejected

    run(test)


def test_a_credential_that_is_not_there_yet_is_named_and_nothing_is_sent() -> None:
    class Missing:
        def current(self) -> Secret:
            raise CredentialUnavailable("PROVIDER_KEY")

        reread = current

        def rejected(self, *, retried: bool) -> None:
            raise AssertionError

    async def test() -> None:
        async with serving(answering(plain(b"ok"))) as server, running() as gateway:
            endpoint = f"http://127.0.0.1:{server.port}"
            target = keyed(endpoint, None)
            target = type(target)(target.endpoint, "x-api-key", "{key}", Missing())
            guest = admit(gateway, target=target)
            answer = await guest.ask("http://127.0.0.1:9/v1")
            assert answer.status == 503
            assert b"PROVIDER_KEY" in answer.body
            assert gateway.observation(guest.token).failure == "credential"
            assert server.connections == 0

    run(test)


def test_an_unknown_token_and_a_closed_route_reach_nothing() -> None:
    async def test() -> None:
        async with serving(answering(plain(b"ok"))) as server, running() as gateway:
            guest = admit(gateway, f"localhost:{server.port}")
            url = f"http://localhost:{server.port}/"
            stranger = type(guest)(gateway, new_token())
            assert (await stranger.ask(url)).status == 403
            assert (await guest.ask(url)).status == 200
            gateway.unregister(guest.token)
            assert (await guest.ask(url)).status == 403
            assert server.connections == 1
            with pytest.raises(ValueError):
                gateway.register("short", Route("a"))

    run(test)


def test_a_response_streams_piece_by_piece_and_is_not_held_back() -> None:
    async def test() -> None:
        go_on = asyncio.Event()

        async def handler(exchange: Exchange) -> None:
            exchange.writer.write(
                b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n"
                b"content-type: text/event-stream\r\n\r\n3\r\none\r\n"
            )
            await exchange.writer.drain()
            await go_on.wait()
            exchange.writer.write(b"3\r\ntwo\r\n0\r\n\r\n")

        async with serving(handler) as server, running() as gateway:
            guest = admit(gateway, f"localhost:{server.port}")
            reader, writer = await guest.connect()
            target = guest.target(f"http://localhost:{server.port}/")
            writer.write(f"GET {target} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
            await reader.readuntil(b"\r\n\r\n")
            assert await reader.readuntil(b"one") == b"3\r\none"
            go_on.set()
            assert (await reader.read()).endswith(b"3\r\ntwo\r\n0\r\n\r\n")
            writer.close()

    run(test)


def test_a_streamed_request_body_flows_before_it_is_complete() -> None:
    async def test() -> None:
        seen: asyncio.Queue[bytes] = asyncio.Queue()

        async def handler(exchange: Exchange) -> None:
            assert exchange.fields("transfer-encoding") == ["chunked"]
            await seen.put(await exchange.reader.readuntil(b"first"))
            await exchange.reader.readuntil(b"0\r\n\r\n")
            exchange.writer.write(plain(b"done"))

        async with serving(handler) as server, running() as gateway:
            guest = admit(gateway, f"localhost:{server.port}")
            reader, writer = await guest.connect()
            target = guest.target(f"http://localhost:{server.port}/")
            writer.write(
                f"POST {target} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n".encode()
                + b"5\r\nfirst\r\n"
            )
            assert (await seen.get()).endswith(b"first")
            writer.write(b"6\r\nsecond\r\n0\r\n\r\n")
            assert (await reader.read()).endswith(b"done")
            writer.close()

    run(test)


def test_a_guest_that_goes_away_ends_the_upstream_request() -> None:
    async def test() -> None:
        arrived, ended = asyncio.Event(), asyncio.Event()

        async def handler(exchange: Exchange) -> None:
            arrived.set()
            await exchange.body()
            await exchange.reader.read()
            ended.set()

        async with serving(handler) as server, running() as gateway:
            keys = Keys("sk-live-1234567890")
            target = keyed(f"http://127.0.0.1:{server.port}", keys)
            for guest, url in (
                (admit(gateway, f"localhost:{server.port}"), f"http://localhost:{server.port}/"),
                (admit(gateway, target=target), "http://127.0.0.1:9/"),
            ):
                arrived.clear()
                ended.clear()
                _, writer = await guest.connect()
                line = f"POST {guest.target(url)} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n"
                writer.write(line.encode())
                await asyncio.wait_for(arrived.wait(), 5)
                writer.close()
                await asyncio.wait_for(ended.wait(), 5)

    run(test)


def test_unregistering_drops_what_still_runs_under_the_route() -> None:
    async def test() -> None:
        arrived, ended = asyncio.Event(), asyncio.Event()

        async def handler(exchange: Exchange) -> None:
            arrived.set()
            await exchange.reader.read()
            ended.set()

        async with serving(handler) as server, running() as gateway:
            guest = admit(gateway, f"localhost:{server.port}")
            waiting = asyncio.create_task(guest.ask(f"http://localhost:{server.port}/"))
            await asyncio.wait_for(arrived.wait(), 5)
            await asyncio.to_thread(gateway.unregister, guest.token)
            with pytest.raises(Cut):
                await waiting
            await asyncio.wait_for(ended.wait(), 5)

    run(test)


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nfive.",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfive.\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nfive.\r\n",
    ],
)
def test_a_response_that_breaks_off_never_looks_whole_to_the_guest(response: bytes) -> None:
    async def test() -> None:
        async with serving(answering(response)) as server, running() as gateway:
            guest = admit(gateway, f"localhost:{server.port}")
            with pytest.raises(Cut):
                await guest.ask(f"http://localhost:{server.port}/")
            observed = gateway.observation(guest.token)
            assert (observed.status, observed.failure) == (200, "connection")

    run(test)


def test_a_response_without_length_ends_with_its_connection() -> None:
    async def test() -> None:
        response = b"HTTP/1.0 200 OK\r\n\r\nto the end"
        async with serving(answering(response)) as server, running() as gateway:
            guest = admit(gateway, f"localhost:{server.port}")
            answer = await guest.ask(f"http://localhost:{server.port}/")
            assert answer.body == b"to the end"

    run(test)


@pytest.mark.parametrize(
    ("response", "status", "failure"),
    [
        (b"nonsense\r\n\r\n", 502, "connection"),
        (b"", 502, "connection"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 300_000 + b"\r\n\r\n", 502, "connection"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab", 502, "connection"),
    ],
)
def test_an_answer_that_is_no_http_is_a_connection_failure(
    response: bytes, status: int, failure: str
) -> None:
    async def test() -> None:
        async with serving(answering(response)) as server, running() as gateway:
            guest = admit(gateway, f"localhost:{server.port}")
            answer = await guest.ask(f"http://localhost:{server.port}/")
            assert answer.status == status
            assert gateway.observation(guest.token).failure == failure
            assert gateway.observation(guest.token).status is None

    run(test)


def test_nothing_listening_is_a_connection_failure_that_does_not_quote_the_endpoint() -> None:
    async def test() -> None:
        async with serving(answering(plain(b""))) as server:
            port = server.port
        async with running() as gateway:
            keys = Keys("sk-live-1234567890")
            guest = admit(gateway, target=keyed(f"http://127.0.0.1:{port}", keys))
            answer = await guest.ask("http://127.0.0.1:9/v1")
            assert answer.status == 502
            assert gateway.observation(guest.token).failure == "connection"
            assert str(port).encode() not in answer.body
            assert str(port) not in gateway.observation(guest.token).detail

    run(test)


def test_a_silent_destination_is_given_up_after_its_time() -> None:
    async def test() -> None:
        async def handler(exchange: Exchange) -> None:
            await exchange.reader.read()

        impatient = Timeouts(response_head=0.2)
        async with serving(handler) as server, running(timeouts=impatient) as gateway:
            guest = admit(gateway, f"localhost:{server.port}")
            answer = await guest.ask(f"http://localhost:{server.port}/")
            assert answer.status == 504
            assert gateway.observation(guest.token).failure == "timeout"

    run(test)


def test_an_early_answer_to_a_body_still_being_sent_is_relayed() -> None:
    async def test() -> None:
        async def handler(exchange: Exchange) -> None:
            # As real servers do: answer at once, then linger so that no reset eats the answer.
            exchange.writer.write(plain(b"too big", "413 Content Too Large"))
            await exchange.writer.drain()
            await exchange.reader.read()

        async with serving(handler) as server, running() as gateway:
            guest = admit(gateway, f"localhost:{server.port}")
            body = b"x" * 8_000_000
            answer = await guest.ask(f"http://localhost:{server.port}/", method="POST", body=body)
            assert (answer.status, answer.body) == (413, b"too big")

    run(test)


def test_a_20_mb_stream_passes_both_ways_with_flat_memory() -> None:
    async def test() -> None:
        size, piece = 20_000_000, b"z" * 50_000

        async def handler(exchange: Exchange) -> None:
            left = size
            while left:
                left -= len(await exchange.reader.read(min(left, 65536)))
            exchange.writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            for _ in range(size // len(piece)):
                exchange.writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                await exchange.writer.drain()
            exchange.writer.write(b"0\r\n\r\n")

        async with serving(handler) as server, running() as gateway:
            guest = admit(gateway, f"localhost:{server.port}")
            reader, writer = await guest.connect()
            target = guest.target(f"http://localhost:{server.port}/")
            gc.collect()
            tracemalloc.start()
            try:
                head = f"POST {target} HTTP/1.1\r\nhost: x\r\ncontent-length: {size}\r\n\r\n"
                writer.write(head.encode())
                for _ in range(size // len(piece)):
                    writer.write(piece)
                    await writer.drain()
                received = 0
                while data := await reader.read(65536):
                    received += len(data)
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            assert received > size
            assert peak < 4_000_000
            writer.close()

    run(test)
