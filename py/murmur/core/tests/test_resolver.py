"""Names to addresses: spec/containment.md 17.5."""

import asyncio
import contextlib
import ipaddress
import struct
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.core.ip_addresses import is_public
from murmur.core.resolver import (
    DnsResolver,
    LibcResolver,
    NameUnknown,
    ResolverSilent,
    build_query,
    parse_hosts,
    parse_resolv_conf,
    read_answer,
    system_resolver,
)

A, CNAME, AAAA = 1, 5, 28


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 20))


def encode(name: str) -> bytes:
    labels = [bytes([len(label)]) + label.encode() for label in name.split(".")]
    return b"".join(labels) + b"\0"


def record(name: str, kind: int, body: bytes) -> bytes:
    return encode(name) + struct.pack("!HHIH", kind, 1, 60, len(body)) + body


def address(name: str, text: str) -> bytes:
    packed = ipaddress.ip_address(text).packed
    return record(name, A if len(packed) == 4 else AAAA, packed)


def reply(query: bytes, *records: bytes, code: int = 0, flags: int = 0) -> bytes:
    header = query[:2] + struct.pack("!5H", 0x8180 | flags | code, 1, len(records), 0, 0)
    return header + query[12:] + b"".join(records)


def kind_of(query: bytes) -> int:
    kind: int = struct.unpack("!H", query[-4:-2])[0]
    return kind


class _Udp(asyncio.DatagramProtocol):
    def __init__(self, answer: Callable[[bytes], bytes | None], seen: list[bytes]) -> None:
        self._answer, self._seen = answer, seen

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._seen.append(data)
        if (answer := self._answer(data)) is not None:
            self._transport.sendto(answer, addr)


@contextlib.asynccontextmanager
async def dns(
    answer: Callable[[bytes], bytes | None], seen: list[bytes] | None = None
) -> AsyncIterator[tuple[str, int]]:
    loop = asyncio.get_running_loop()
    held = seen if seen is not None else []
    transport, _ = await loop.create_datagram_endpoint(
        lambda: _Udp(answer, held), local_addr=("127.0.0.1", 0)
    )
    try:
        yield transport.get_extra_info("sockname")
    finally:
        transport.close()


def test_a_name_gives_its_addresses_ipv4_first_and_aliases_are_followed() -> None:
    def answer(query: bytes) -> bytes:
        alias = record("api.example.com", CNAME, encode("edge.example.net"))
        text = "93.184.216.34" if kind_of(query) == A else "2606:2800:220:1::1"
        return reply(query, alias, address("edge.example.net", text))

    async def test() -> None:
        async with dns(answer) as server:
            found = await DnsResolver((server,)).addresses("API.example.com.")
            assert [str(one) for one in found] == ["93.184.216.34", "2606:2800:220:1::1"]

    run(test)


def test_a_record_of_another_name_is_not_taken() -> None:
    async def test() -> None:
        async with dns(lambda query: reply(query, address("evil.org", "8.8.8.8"))) as server:
            with pytest.raises(NameUnknown):
                await DnsResolver((server,)).addresses("api.example.com")

    run(test)


def test_the_hosts_file_comes_first_and_localhost_is_never_asked_for() -> None:
    async def test() -> None:
        seen: list[bytes] = []
        async with dns(lambda query: None, seen) as server:
            hosts = parse_hosts("10.1.2.3 Build.example.com build # box\n10.1.2.4 build\nx y\n")
            resolver = DnsResolver((server,), hosts)
            assert [str(one) for one in await resolver.addresses("build")] == [
                "10.1.2.3",
                "10.1.2.4",
            ]
            assert [str(one) for one in await resolver.addresses("localhost")] == [
                "127.0.0.1",
                "::1",
            ]
            assert seen == []

    run(test)


def test_a_name_that_does_not_exist_is_told_from_servers_that_do_not_answer() -> None:
    async def test() -> None:
        async with dns(lambda query: reply(query, code=3)) as server:
            with pytest.raises(NameUnknown):
                await DnsResolver((server,)).addresses("no.example.com")
        async with dns(lambda query: reply(query, code=2)) as server:
            with pytest.raises(ResolverSilent):
                await DnsResolver((server,)).addresses("broken.example.com")

    run(test)


def test_the_next_server_is_asked_when_one_fails() -> None:
    async def test() -> None:
        def good(query: bytes) -> bytes:
            records = (address("a.example.com", "9.9.9.9"),) if kind_of(query) == A else ()
            return reply(query, *records)

        async with dns(lambda query: reply(query, code=2)) as bad, dns(good) as server:
            found = await DnsResolver((bad, server)).addresses("a.example.com")
            assert [str(one) for one in found] == ["9.9.9.9"]

    run(test)


def test_a_forged_id_is_not_taken_for_the_answer() -> None:
    async def test() -> None:
        def forged(query: bytes) -> bytes:
            other = bytes([query[0] ^ 1, query[1]])
            return other + reply(query, address("a.example.com", "6.6.6.6"))[2:]

        async with dns(forged) as server:
            with pytest.raises(ResolverSilent):
                await DnsResolver((server,)).addresses("a.example.com")

    run(test)


def test_an_answer_that_does_not_fit_is_asked_for_over_tcp() -> None:
    async def test() -> None:
        async def tcp(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            (length,) = struct.unpack("!H", await reader.readexactly(2))
            query = await reader.readexactly(length)
            records = (address("big.example.com", "9.9.9.9"),) if kind_of(query) == A else ()
            data = reply(query, *records)
            writer.write(struct.pack("!H", len(data)) + data)
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(tcp, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        loop = asyncio.get_running_loop()
        udp, _ = await loop.create_datagram_endpoint(
            lambda: _Udp(lambda query: reply(query, flags=0x0200), []),
            local_addr=("127.0.0.1", port),
        )
        found = await DnsResolver((("127.0.0.1", port),)).addresses("big.example.com")
        assert [str(one) for one in found] == ["9.9.9.9"]
        udp.close()
        server.close()

    run(test)


@given(st.binary(max_size=300))
def test_no_bytes_from_a_server_do_more_than_fail(data: bytes) -> None:
    query = build_query(7, "a.example.com", A)
    for candidate in (data, query[:2] + data, reply(query)[:-1] + data):
        try:
            read_answer(candidate, query)
        except (ValueError, NameUnknown):
            pass


def test_a_name_that_points_at_itself_ends() -> None:
    query = build_query(7, "a.example.com", A)
    loop = reply(query) + b""
    looped = loop[:6] + struct.pack("!H", 1) + loop[8:] + struct.pack("!H", 0xC000 | len(loop))
    with pytest.raises(ValueError):
        read_answer(looped, query)


def test_resolv_conf_gives_up_to_three_servers_or_the_local_one() -> None:
    text = "search x\nnameserver 1.1.1.1\nnameserver bad\n#nameserver 2.2.2.2\n"
    assert parse_resolv_conf(text) == (("1.1.1.1", 53),)
    assert parse_resolv_conf("") == (("127.0.0.1", 53),)
    assert len(parse_resolv_conf("nameserver 1.1.1.1\n" * 5)) == 3


def test_a_host_without_resolv_conf_uses_its_own_resolver(tmp_path: Path) -> None:
    assert isinstance(system_resolver(tmp_path / "a", tmp_path / "b"), LibcResolver)
    (tmp_path / "b").write_text("nameserver 9.9.9.9\n")
    assert system_resolver(tmp_path / "a", tmp_path / "b") == DnsResolver((("9.9.9.9", 53),), {})


@pytest.mark.parametrize(
    ("text", "public"),
    [
        ("8.8.8.8", True),
        ("127.0.0.1", False),
        ("10.0.0.1", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("198.18.0.1", False),
        ("192.0.2.1", False),
        ("2606:4700::1", True),
        ("::1", False),
        ("::", False),
        ("fe80::1", False),
        ("fc00::1", False),
        ("fec0::1", False),
        ("ff02::1", False),
        ("2001:db8::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:8.8.8.8", True),
        ("::7f00:1", False),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::808:808", True),
        ("64:ff9b:1::808:808", False),
        ("2002:7f00:1::", False),
        ("2001:0:7f00:1::", False),
    ],
)
def test_only_public_addresses_are_public_whatever_form_carries_them(
    text: str, public: bool
) -> None:
    assert is_public(ipaddress.ip_address(text)) is public
