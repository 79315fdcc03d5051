"""The outward side through the operator's proxy: a real proxy, real TLS through its tunnel."""

import asyncio
import base64
import contextlib
import logging
import os
import urllib.request
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.inference.gateway_messages import READ_BYTES, Timeouts, UpstreamFailed
from murmur.inference.gateway_proxy import Proxies, read_proxies
from murmur.inference.tests.guest_side import Keys, Names, admit, keyed, running
from murmur.inference.tests.upstream import (
    Authority,
    Exchange,
    answering,
    make_authority,
    plain,
    serving,
)

KEY = "sk-live-1234567890"
PASSWORD = "proxy-pass-0987"
PUBLIC = "93.184.216.34"
NAMES = {"api.example.com": [PUBLIC], "inside.example.com": ["10.1.2.3"]}


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 30))


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    folder: Path = tmp_path_factory.mktemp("authority")
    return make_authority(folder, "api.example.com", "unknown.example.com")


@dataclass
class RealProxy:
    """Connects whatever it is asked for to one local port, and keeps every byte it was sent."""

    target: int
    answer: bytes | None = None
    """What it says to CONNECT instead of opening the way."""
    opening: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n"
    """What it says when it opens the way."""
    port: int = 0
    connections: int = 0
    heads: list[str] = field(default_factory=list)
    seen: bytearray = field(default_factory=bytearray)

    def url(self, credentials: str = "") -> str:
        return f"http://{credentials}localhost:{self.port}"

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head.decode())
            self.seen += head
            if self.answer is not None:
                writer.write(self.answer)
                await writer.drain()
                if self.answer.startswith(b"HTTP/1.1 2"):
                    await reader.read()
                return
            there, back = await asyncio.open_connection("127.0.0.1", self.target)
            if head.startswith(b"CONNECT "):
                writer.write(self.opening)
            else:
                back.write(head)
            await asyncio.gather(self._pass(reader, back, keep=True), self._pass(there, writer))
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, keep: bool = False
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                if keep:
                    self.seen += data
                writer.write(data)
                await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def proxying(target: int, answer: bytes | None = None) -> AsyncIterator[RealProxy]:
    proxy = RealProxy(target, answer)
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()


def test_https_goes_through_a_tunnel_and_the_proxy_reads_neither_key_nor_path(
    authority: Authority,
) -> None:
    async def test() -> None:
        async with serving(answering(plain(b"secret")), authority.server) as server:
            async with proxying(server.port) as proxy:
                proxies = read_proxies({"HTTPS_PROXY": proxy.url()})
                names = Names(dict(NAMES))
                async with running(names, trust=authority.trust(), proxies=proxies) as gateway:
                    target = keyed("https://api.example.com/v1", Keys(KEY))
                    guest = admit(gateway, target=target)
                    answer = await guest.ask("http://127.0.0.1:9/v1/messages", method="POST")
                    assert (answer.status, answer.body) == (200, b"secret")
            assert server.exchanges[0].line == "POST /v1/messages HTTP/1.1"
            assert server.exchanges[0].fields("x-api-key") == [KEY]
            assert server.exchanges[0].fields("proxy-authorization") == []
            assert proxy.heads == [
                "CONNECT api.example.com:443 HTTP/1.1\r\nhost: api.example.com:443\r\n\r\n"
            ]
            assert KEY.encode() not in proxy.seen and b"messages" not in proxy.seen
            assert names.asked == ["localhost"], "the proxy resolves an endpoint that it is given"

    run(test)


def test_http_is_asked_for_by_its_whole_address_with_the_operators_name_for_the_proxy() -> None:
    async def test() -> None:
        async with serving(answering(plain(b"there"))) as server, proxying(server.port) as proxy:
            proxies = read_proxies({"http_proxy": proxy.url(f"me%40here:{PASSWORD}@")})
            async with running(Names(dict(NAMES)), proxies=proxies) as gateway:
                guest = admit(gateway, "http://api.example.com")
                answer = await guest.ask(
                    "http://api.example.com/a?b=1", "proxy-authorization: Basic guess"
                )
                assert answer.body == b"there"
            assert server.exchanges[0].line == "GET http://api.example.com/a?b=1 HTTP/1.1"
            assert server.exchanges[0].fields("host") == ["api.example.com"]
            # base64 of "me@here:proxy-pass-0987"
            assert server.exchanges[0].fields("proxy-authorization") == [
                "Basic bWVAaGVyZTpwcm94eS1wYXNzLTA5ODc="
            ]

    run(test)


def test_what_the_proxy_says_streams_through_the_tunnel_piece_by_piece(
    authority: Authority,
) -> None:
    async def test() -> None:
        go_on = asyncio.Event()

        async def handler(exchange: Exchange) -> None:
            writer = exchange.writer
            writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n")
            await writer.drain()
            await go_on.wait()
            writer.write(b"3\r\ntwo\r\n0\r\n\r\n")

        async with serving(handler, authority.server) as server, proxying(server.port) as proxy:
            proxies = read_proxies({"ALL_PROXY": proxy.url()})
            async with running(
                Names(dict(NAMES)), trust=authority.trust(), proxies=proxies
            ) as gateway:
                guest = admit(gateway, "https://api.example.com")
                reader, writer = await guest.connect()
                target = guest.target("https://api.example.com/")
                writer.write(f"GET {target} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
                assert await reader.readuntil(b"one\r\n")
                go_on.set()
                assert b"two" in await reader.read()
                writer.close()

    run(test)


@pytest.mark.parametrize("without", ["localhost", "api.example.com", "*", "example.com:443"])
def test_this_machine_and_what_no_proxy_names_are_reached_directly(
    authority: Authority, without: str
) -> None:
    async def test() -> None:
        async with serving(answering(plain(b"local"))) as server, proxying(1) as proxy:
            environ = {"HTTPS_PROXY": proxy.url(), "HTTP_PROXY": proxy.url(), "NO_PROXY": without}
            proxies = read_proxies(environ)
            async with running(Names(dict(NAMES)), proxies=proxies) as gateway:
                guest = admit(gateway, f"localhost:{server.port}")
                assert (await guest.ask(f"http://localhost:{server.port}/")).body == b"local"
            direct = without != "localhost"
            assert (proxies.of("https", "api.example.com", 443) is None) is direct
            assert proxy.connections == 0

    run(test)


def test_a_name_known_to_lead_inside_is_refused_and_the_proxy_is_not_asked() -> None:
    async def test() -> None:
        async with proxying(1) as proxy:
            proxies = read_proxies({"ALL_PROXY": proxy.url()})
            async with running(Names(dict(NAMES)), proxies=proxies) as gateway:
                guest = admit(gateway, "inside.example.com", "10.0.0.0")
                assert (await guest.ask("http://inside.example.com/")).status == 403
                assert (await guest.ask("https://inside.example.com/")).status == 403
                assert (await guest.ask("https://elsewhere.example.com/")).status == 403
            assert proxy.connections == 0

    run(test)


def test_a_name_with_one_address_inside_is_not_left_to_the_proxys_choice() -> None:
    async def test() -> None:
        async with proxying(1) as proxy:
            proxies = read_proxies({"ALL_PROXY": proxy.url()})
            names = Names({"both.example.com": [f"{PUBLIC} 10.1.2.3"]})
            async with running(names, proxies=proxies) as gateway:
                guest = admit(gateway, "both.example.com")
                assert (await guest.ask("http://both.example.com/")).status == 403
            assert proxy.connections == 0

    run(test)


def test_a_name_for_the_proxy_may_be_of_any_bytes() -> None:
    value = os.fsdecode(b"http://m\xff%fe:" + PASSWORD.encode() + b"@host:1")
    proxy = read_proxies({"https_proxy": value}).of("https", "x.org", 443)
    assert proxy is not None and proxy.authorization is not None
    name = base64.b64decode(proxy.authorization.removeprefix(b"Basic "))
    assert name == b"m\xff\xfe:" + PASSWORD.encode()


def test_a_name_of_this_machine_and_its_addresses_in_any_form_need_no_proxy() -> None:
    async def test() -> None:
        async with serving(answering(plain(b"local"))) as server, proxying(1) as proxy:
            proxies = read_proxies({"ALL_PROXY": proxy.url()})
            for host in ("127.0.0.1", "0.0.0.0", "::1", "::ffff:127.0.0.1", "a.localhost"):
                assert proxies.of("http", host, 80) is None, host
            names = Names({"dev.example.com": ["127.0.0.1"]})
            async with running(names, proxies=proxies) as gateway:
                rules = (f"dev.example.com:{server.port}", f"127.0.0.1:{server.port}")
                guest = admit(gateway, *rules)
                url = f"http://dev.example.com:{server.port}/"
                assert (await guest.ask(url)).body == b"local"
                guest = admit(gateway, f"dev.example.com:{server.port}")
                assert (await guest.ask(url)).status == 403
            assert proxy.connections == 0
            assert names.asked == ["dev.example.com"] * 2

    run(test)


def test_a_name_that_only_the_proxy_knows_is_left_to_it(authority: Authority) -> None:
    async def test() -> None:
        async with (
            serving(answering(plain(b"there")), authority.server) as server,
            proxying(server.port) as proxy,
        ):
            proxies = read_proxies({"https_proxy": proxy.url()})
            names, trust = Names(dict(NAMES)), authority.trust()
            async with running(names, trust=trust, proxies=proxies) as gateway:
                guest = admit(gateway, "https://unknown.example.com")
                assert (await guest.ask("https://unknown.example.com/")).body == b"there"
            assert names.asked == ["unknown.example.com", "localhost"]

    run(test)


@pytest.mark.parametrize(
    ("answer", "status", "reason"),
    [
        (b"HTTP/1.1 407 Who?\r\n\r\n", 502, "answered 407 to CONNECT"),
        (b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n", 502, "answered 503 to CONNECT"),
        (b"nonsense\r\n\r\n", 502, "answered no well-formed HTTP"),
        (b"", 502, "closed the connection"),
        (b"HTTP/1.1 200 OK\r\n\r\nearly", 502, "spoke before the destination did"),
        (b"HTTP/1.1 200 OK\r\n\r\n", 504, "did not answer in time"),
    ],
)
def test_a_proxy_that_does_not_open_the_way_is_a_failed_connection_that_tells_no_secret(
    authority: Authority,
    caplog: pytest.LogCaptureFixture,
    answer: bytes,
    status: int,
    reason: str,
) -> None:
    caplog.set_level(logging.DEBUG)

    async def test() -> None:
        async with proxying(1, answer) as proxy:
            proxies = read_proxies({"HTTPS_PROXY": proxy.url(f"me:{PASSWORD}@")})
            timeouts = Timeouts(connect=0.5)
            async with running(
                Names(dict(NAMES)), trust=authority.trust(), timeouts=timeouts, proxies=proxies
            ) as gateway:
                guest = admit(gateway, target=keyed("https://api.example.com", Keys(KEY)))
                said = await guest.ask("http://127.0.0.1:9/", method="POST", body=b"x")
                seen = gateway.observation(guest.token)
            assert (said.status, reason in said.body.decode()) == (status, True), said.body
            assert seen.failure == ("timeout" if status == 504 else "connection")
            told = f"{said} {seen} {proxies} {caplog.text}"
            assert PASSWORD not in told and "localhost" not in said.body.decode()
            assert "proxy-authorization: Basic" in proxy.heads[0]

    run(test)


def test_no_proxy_puts_words_of_its_own_before_those_of_the_tunnels_other_end(
    authority: Authority,
) -> None:
    """What it sends behind its answer, where one read ends with that, is never read as TLS."""
    forged = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged"
    head, end = b"HTTP/1.1 200 OK\r\nx-padding: ", b"\r\n\r\n"
    padding = b"x" * (READ_BYTES - len(head) - len(end))

    async def test() -> None:
        async with serving(answering(plain(b"real")), authority.server) as server:
            async with proxying(server.port) as proxy:
                proxy.opening = head + padding + end + forged
                proxies = read_proxies({"HTTPS_PROXY": proxy.url()})
                async with running(
                    Names(dict(NAMES)), trust=authority.trust(), proxies=proxies
                ) as gateway:
                    guest = admit(gateway, "https://api.example.com")
                    answer = await guest.ask("https://api.example.com/")
            assert b"forged" not in answer.body, answer
            assert answer.status in (200, 502)

    run(test)


def test_a_proxy_that_is_not_there_is_named_by_its_variable() -> None:
    async def test() -> None:
        proxies = read_proxies({"HTTPS_PROXY": "http://127.0.0.1:1"})
        async with running(Names(dict(NAMES)), proxies=proxies) as gateway:
            guest = admit(gateway, "https://api.example.com")
            answer = await guest.ask("https://api.example.com/")
            assert answer.status == 502
            assert b"no connection to the proxy of HTTPS_PROXY: Connection refused" in answer.body

    run(test)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (f"socks5://me:{PASSWORD}@host:1", "spoken to by neither http nor https"),
        (f"http://me:{PASSWORD}@host:x", "is no URL of a proxy"),
        (f"http://me:{PASSWORD}@", "is no URL of a proxy"),
        ("http://[::1", "is no URL of a proxy"),
        ("http://a b/", "is no URL of a proxy"),
    ],
)
def test_a_value_that_names_no_usable_proxy_fails_the_request_without_being_quoted(
    value: str, problem: str
) -> None:
    proxies = read_proxies({"https_proxy": value})

    with pytest.raises(UpstreamFailed, match=problem) as failure:
        proxies.of("https", "api.example.com", 443)
    assert failure.value.reason.startswith("https_proxy ")
    assert PASSWORD not in f"{failure.value} {proxies}"
    assert proxies.of("http", "api.example.com", 80) is None


def test_the_lower_case_spelling_wins_and_an_empty_one_switches_off() -> None:
    both = read_proxies({"HTTPS_PROXY": "upper:1", "https_proxy": "lower:2"})
    off = read_proxies({"HTTPS_PROXY": "upper:1", "https_proxy": "", "ALL_PROXY": "all:3"})
    rest = read_proxies({"HTTP_PROXY": "upper:1", "all_proxy": "https://[::2]"})

    def place(proxies: Proxies, scheme: str) -> tuple[str, str, int, bool] | None:
        proxy = proxies.of(scheme, "x.org", 1)
        return (proxy.variable, proxy.host, proxy.port, proxy.secure) if proxy else None

    assert place(both, "https") == ("https_proxy", "lower", 2, False)
    assert (place(off, "https"), place(off, "http")) == (None, ("ALL_PROXY", "all", 3, False))
    assert place(rest, "https") == ("all_proxy", "::2", 443, True)
    assert place(rest, "http") == ("HTTP_PROXY", "upper", 1, False)


@pytest.mark.parametrize(
    ("entry", "host", "port", "direct"),
    [
        ("10.0.0.0/8", "10.9.8.7", 80, True),
        ("10.0.0.0/8", "11.0.0.1", 80, False),
        ("10.0.0.1:81", "10.0.0.1", 80, False),
        ("fd00::/8", "fd12::1", 443, True),
        ("[fd12::1]", "fd12::1", 443, True),
        ("*.corp.org", "x.corp.org", 80, True),
        (" .corp.org ", "x.corp.org", 80, True),
        ("CORP.org", "corp.org", 80, True),
        ("corp.org", "notcorp.org", 80, False),
    ],
)
def test_no_proxy_knows_names_addresses_and_networks(
    entry: str, host: str, port: int, direct: bool
) -> None:
    proxies = read_proxies({"ALL_PROXY": "http://proxy:1", "NO_PROXY": f"a.b,,{entry}"})
    assert (proxies.of("http", host, port) is None) is direct


LABELS = st.text("abc-", min_size=1, max_size=3)
HOSTS = st.lists(LABELS, min_size=1, max_size=3).map(".".join)
ENTRIES = st.lists(st.one_of(HOSTS, HOSTS.map("*.{}".format), HOSTS.map(".{}".format)), max_size=4)


@given(ENTRIES, HOSTS)
def test_no_proxy_means_for_names_what_it_means_to_the_standard_library(
    entries: list[str], host: str
) -> None:
    listed = ",".join(entries)
    proxies = read_proxies({"ALL_PROXY": "http://proxy:1", "NO_PROXY": listed})
    # Python takes `*.x` for a name of its own, everybody else for `.x`.
    theirs = {"no": listed.replace("*.", "")}
    expected = bool(urllib.request.proxy_bypass_environment(host, theirs))  # type: ignore[attr-defined]
    assert (proxies.of("http", host, 80) is None) is expected


@given(st.dictionaries(st.sampled_from(["http_proxy", "ALL_PROXY", "NO_PROXY"]), st.text()), HOSTS)
def test_no_environment_breaks_the_reading_of_it(environ: dict[str, str], host: str) -> None:
    try:
        proxy = read_proxies(environ).of("http", host, 80)
    except UpstreamFailed as failure:
        assert failure.reason.split()[0] in environ
    else:
        assert proxy is None or 0 < proxy.port < 65536
