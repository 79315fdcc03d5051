"""A hostile guest cannot smuggle, split, tunnel or inject through the gateway."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from murmur.inference.gateway_messages import Timeouts
from murmur.inference.gateway_routes import Denied, GatewayTarget, new_token, parse_target
from murmur.inference.secret import Secret
from murmur.inference.tests.guest_side import Answer, Cut, Guest, Keys, admit, keyed, running
from murmur.inference.tests.upstream import Exchange, answering, plain, serving
from murmur.manifest.endpoint import parse_endpoint

KEY = "sk-live-1234567890"


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 30))


async def _send(guest: Guest, data: bytes) -> Answer | None:
    try:
        return await guest.raw(data)
    except Cut:
        return None


SMUGGLED = b"GET /smuggled HTTP/1.1\r\nhost: evil\r\n\r\n"


@pytest.mark.parametrize(
    "fields",
    [
        b"content-length: 3\r\ntransfer-encoding: chunked\r\n",
        b"content-length: 3\r\ncontent-length: 4\r\n",
        b"content-length: +3\r\n",
        b"content-length: 3, 4\r\n",
        b"content-length: -1\r\n",
        b"transfer-encoding: identity\r\n",
        b"transfer-encoding: chunked, identity\r\n",
        b"transfer-encoding: xchunked\r\n",
        b"transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n",
        b"transfer-encoding : chunked\r\n",
        b"x-a: b\x00c\r\n",
        b"x-a: b\rx-b: c\r\n",
        b"x\x01y: b\r\n",
        b": nameless\r\n",
        b"no colon\r\n",
        b"host: second\r\n",
    ],
)
def test_ambiguous_framing_and_broken_fields_are_refused_before_anything_is_sent(
    fields: bytes,
) -> None:
    async def test() -> None:
        async with serving(answering(plain(b"ok"))) as server, running() as gateway:
            guest = admit(gateway, f"localhost:{server.port}")
            target = guest.target(f"http://localhost:{server.port}/").encode()
            data = b"POST " + target + b" HTTP/1.1\r\nhost: x\r\n" + fields + b"\r\n" + SMUGGLED
            answer = await _send(guest, data)
            assert answer is not None
            assert answer.status in (400, 501)
            await asyncio.sleep(0.02)
            assert server.connections == 0

    run(test)


def test_bytes_after_the_one_request_never_reach_the_destination() -> None:
    async def test() -> None:
        async with serving(answering(plain(b"ok"))) as server, running() as gateway:
            guest = admit(gateway, f"localhost:{server.port}")
            target = guest.target(f"http://localhost:{server.port}/").encode()
            second = b"GET " + target + b"smuggled HTTP/1.1\r\nhost: x\r\n\r\n"
            first = b"POST " + target + b" HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nhi"
            await _send(guest, first + second)
            await asyncio.sleep(0.05)
            assert all(one.line.startswith("POST / ") for one in server.exchanges)
            assert len(server.exchanges) <= 1

    run(test)


def test_a_body_longer_than_its_length_is_cut_at_its_length() -> None:
    async def test() -> None:
        got: list[bytes] = []

        async def handler(exchange: Exchange) -> None:
            got.append(await exchange.body())
            try:
                async with asyncio.timeout(0.1):
                    got.append(await exchange.reader.read())
            except TimeoutError:
                pass
            exchange.writer.write(plain(b"ok"))

        async with serving(handler) as server, running() as gateway:
            guest = admit(gateway, f"localhost:{server.port}")
            target = guest.target(f"http://localhost:{server.port}/").encode()
            head = b"POST " + target + b" HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n"
            await _send(guest, head + b"hi" + SMUGGLED)
            await asyncio.sleep(0.15)
            assert b"".join(got) in (b"hi", b"")

    run(test)


@pytest.mark.parametrize("method", [b"CONNECT", b"TRACE", b"GE T", b"GET\t", b""])
def test_tunnels_and_broken_methods_are_refused(method: bytes) -> None:
    async def test() -> None:
        async with serving(answering(plain(b"ok"))) as server, running() as gateway:
            guest = admit(gateway, f"localhost:{server.port}")
            target = guest.target(f"http://localhost:{server.port}/").encode()
            answer = await _send(guest, method + b" " + target + b" HTTP/1.1\r\nhost: x\r\n\r\n")
            assert answer is None or answer.status in (400, 501)
            assert server.connections == 0

    run(test)


def test_an_upgrade_is_not_passed_on() -> None:
    async def test() -> None:
        async with serving(answering(plain(b"ok"))) as server, running() as gateway:
            guest = admit(gateway, f"localhost:{server.port}")
            url = f"http://localhost:{server.port}/"
            answer = await guest.ask(url, "upgrade: websocket", "connection: upgrade", "te: gzip")
            assert answer.status == 200
            request = server.exchanges[0]
            assert request.fields("upgrade") == []
            assert request.fields("te") == []
            assert request.fields("connection") == ["close"]

    run(test)


def test_a_switch_of_protocols_that_nobody_asked_for_is_no_answer() -> None:
    async def test() -> None:
        response = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\nraw"
        async with serving(answering(response)) as server, running() as gateway:
            guest = admit(gateway, f"localhost:{server.port}")
            assert (await guest.ask(f"http://localhost:{server.port}/")).status == 502

    run(test)


def test_an_older_http_version_is_refused() -> None:
    async def test() -> None:
        async with serving(answering(plain(b"ok"))) as server, running() as gateway:
            guest = admit(gateway, f"localhost:{server.port}")
            target = guest.target(f"http://localhost:{server.port}/")
            answer = await _send(guest, f"GET {target} HTTP/1.0\r\n\r\n".encode())
            assert answer is not None
            assert answer.status == 505
            assert server.connections == 0

    run(test)


@pytest.mark.parametrize(
    "authority",
    [
        "api.example.com@evil.org",
        "evil.org%2fapi.example.com",
        "127.1",
        "0x7f000001",
        "2130706433",
        "017700000001",
        "127.0.0.1.",
        "[::1%25lo]",
        "[::1",
        "api.example.com:0",
        "api.example.com:65536",
        "api.example.com:443:443",
        "api.example.com:",
        "",
        "api..example.com",
        "-api.example.com",
        "api.example.com\\evil",
        "\u0430pi.example.com",
        "a" * 64 + ".example.com",
    ],
)
def test_an_authority_that_two_readers_could_read_differently_is_refused(authority: str) -> None:
    target = f"/{new_token()}/https/{authority}/v1".encode()
    if authority == "127.0.0.1.":
        assert parse_target(target).host == "127.0.0.1"
        return
    with pytest.raises(Denied) as denied:
        parse_target(target)
    assert denied.value.status == 400


@pytest.mark.parametrize(
    ("rest", "path"),
    [
        ("", b"/"),
        ("/", b"/"),
        ("?a=b", b"/?a=b"),
        ("//evil.org/", b"//evil.org/"),
        ("/../x", b"/../x"),
    ],
)
def test_the_path_is_the_guests_own_and_stays_behind_our_authority(rest: str, path: bytes) -> None:
    address = parse_target(f"/{new_token()}/https/API.example.com{rest}".encode())
    assert (address.host, address.port, address.path) == ("api.example.com", 443, path)


@pytest.mark.parametrize("scheme", ["ftp", "HTTPS", "", "file", "http:"])
def test_no_other_scheme_goes_out(scheme: str) -> None:
    with pytest.raises(Denied):
        parse_target(f"/{new_token()}/{scheme}/api.example.com/".encode())


def test_a_key_that_no_header_can_carry_is_refused_without_being_quoted() -> None:
    for text in ("abc\r\nx: y", "", "abc\x00", "abc\nd", "clé", " abc", "abc "):
        with pytest.raises(ValueError) as refused:
            Secret(text)
        assert not text.strip() or text.strip() not in str(refused.value)


def test_a_key_shows_in_no_repr_or_format() -> None:
    secret = Secret(KEY)
    target = GatewayTarget(parse_endpoint("https://a.example"), "x-api-key", "{key}", Keys("k"))
    shown = f"{secret} {secret!r} {secret!s} {secret:>30} {[secret]} {target}"
    assert KEY not in shown
    assert secret == Secret(KEY)
    assert secret != Secret("other")


@pytest.mark.parametrize("template", ["", "Bearer", "{key}{key}", "Bearer {key}\r\nx: y"])
def test_a_template_holds_the_key_exactly_once(template: str) -> None:
    with pytest.raises(ValueError):
        GatewayTarget(parse_endpoint("https://a.example"), "authorization", template, Keys("k"))


def test_no_log_error_or_observation_carries_the_key(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    async def test() -> None:
        caplog.set_level(0)
        asyncio.get_running_loop().set_debug(True)
        seen: list[str] = []
        responses = (
            plain(b"{}", "401 Unauthorized"),
            plain(b"{}", "500 Oops"),
            b"nonsense\r\n\r\n",
            b"",
            b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort",
        )
        for response in responses:
            async with serving(answering(response)) as server, running() as gateway:
                guest = admit(gateway, target=keyed(f"http://127.0.0.1:{server.port}", Keys(KEY)))
                try:
                    answer = await guest.ask("http://127.0.0.1:9/v1", method="POST", body=b"{}")
                    seen += [repr(answer), answer.head.decode(), answer.body.decode()]
                except Cut:
                    pass
                assert server.exchanges[0].fields("x-api-key") == [KEY]
                seen += [repr(gateway.observation(guest.token)), repr(vars(gateway))]
        assert KEY not in "".join(seen)

    run(test)
    captured = capfd.readouterr()
    assert KEY not in captured.out + captured.err + caplog.text


def test_a_request_to_a_gateway_is_held_only_up_to_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("murmur.inference.gateway.MOST_BUFFERED_BYTES", 1000)

    async def test() -> None:
        async with serving(answering(plain(b"ok"))) as server, running() as gateway:
            guest = admit(gateway, target=keyed(f"http://127.0.0.1:{server.port}", Keys(KEY)))
            answer = await guest.ask("http://127.0.0.1:9/v1", method="POST", body=b"x" * 5000)
            assert answer.status == 413
            assert server.connections == 0

    run(test)


def test_a_guest_that_never_finishes_its_request_is_cut_off() -> None:
    async def test() -> None:
        async with running(timeouts=Timeouts(request_head=0.1)) as gateway:
            guest = admit(gateway)
            reader, writer = await guest.connect()
            writer.write(b"GET /")
            async with asyncio.timeout(2):
                try:
                    assert await reader.read() == b""
                except ConnectionResetError:
                    pass
            writer.close()

    run(test)


def test_connections_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("murmur.inference.gateway._MOST_CONNECTIONS", 3)

    async def test() -> None:
        async with serving(answering(plain(b"ok"))) as server, running() as gateway:
            guest = admit(gateway, f"localhost:{server.port}")
            idle = [await guest.connect() for _ in range(3)]
            await asyncio.sleep(0.05)
            url = f"http://localhost:{server.port}/"
            with pytest.raises(Cut):
                await guest.ask(url)
            for _, writer in idle:
                writer.close()
            await asyncio.sleep(0.05)
            assert (await guest.ask(url)).status == 200

    run(test)
