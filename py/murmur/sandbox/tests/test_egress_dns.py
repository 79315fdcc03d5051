"""The DNS messages of the responder. spec/containment.md 17.3."""

import ipaddress
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.core import resolver
from murmur.core.ip_addresses import IPAddress
from murmur.sandbox.egress import dns

NAMES = st.lists(st.from_regex(r"[A-Za-z0-9_-]{1,63}", fullmatch=True), min_size=1, max_size=3).map(
    ".".join
)
ADDRESSES = st.lists(st.ip_addresses(v=4) | st.ip_addresses(v=6), max_size=40)
FOUR, SIX = ipaddress.IPv4Address("93.184.215.14"), ipaddress.IPv6Address("2606:4700::1")


@given(st.binary(max_size=600))
def test_any_bytes_are_a_query_a_malformed_one_or_none(packet: bytes) -> None:
    try:
        query = dns.read_query(packet)
    except dns.NoQuery:
        assert len(packet) < 12 or packet[2] & 0x80
        return
    reply = dns.answer(query, dns.FORMERR if query.malformed else dns.REFUSED)
    assert reply[:2] == packet[:2] and reply[2] & 0x80 and len(reply) <= 512
    if not query.malformed:
        assert reply[12:] == query.question == packet[12 : 12 + len(query.question)]


@given(st.integers(0, 65535), NAMES, st.sampled_from([1, 28]))
def test_what_the_runtimes_own_resolver_asks_is_read(query_id: int, name: str, kind: int) -> None:
    query = dns.read_query(resolver.build_query(query_id, name, kind))
    assert (query.query_id, query.name, query.kind, query.klass) == (query_id, name, kind, dns.IN)
    assert query.recursion and not query.malformed


@given(st.integers(0, 65535), NAMES, st.sampled_from([1, 28]), ADDRESSES)
def test_what_is_answered_the_runtimes_own_resolver_reads(
    query_id: int, name: str, kind: int, addresses: list[IPAddress]
) -> None:
    asked = resolver.build_query(query_id, name, kind)
    reply = dns.answer(dns.read_query(asked), dns.NOERROR, addresses)
    assert len(reply) <= 512
    read = resolver.read_answer(reply, asked)
    wanted = [each for each in addresses if each.version == (4 if kind == 1 else 6)]
    assert list(read) == wanted[: len(read)]
    assert len(read) == len(wanted) or len(reply) > 512 - 28


def test_an_answer_has_its_time_to_live_and_the_bits_of_a_recursive_server() -> None:
    query = dns.read_query(resolver.build_query(7, "a.example.com", dns.A))
    reply = dns.answer(query, dns.NOERROR, [FOUR, SIX])
    assert struct.unpack_from("!6H", reply) == (7, 0x8180, 1, 1, 0, 0)
    pointer, kind, klass, ttl, length = struct.unpack_from("!HHHIH", reply, len(reply) - 16)
    assert (pointer, kind, klass, ttl, length) == (0xC00C, dns.A, dns.IN, 60, 4)
    assert reply[-4:] == FOUR.packed


QUESTION = b"\1a\7example\3com\0\0\1\0\1"


def head(flags: int = 0x0100, counts: tuple[int, int, int, int] = (1, 0, 0, 0)) -> bytes:
    return struct.pack("!6H", 7, flags, *counts)


@pytest.mark.parametrize(
    "packet",
    [
        head(),
        head() + QUESTION[:-1],
        head() + QUESTION[:5],
        head() + b"\xc0\x0c\0\1\0\1",
        head() + b"\x40a\0\0\1\0\1",
        head() + b"\1a" * 200 + b"\0\0\1\0\1",
        head(counts=(0, 0, 0, 0)) + QUESTION,
        head(counts=(2, 0, 0, 0)) + QUESTION * 2,
        head(counts=(1, 1, 0, 0)) + QUESTION,
        head(counts=(1, 0, 1, 0)) + QUESTION,
        head(flags=0x2800) + QUESTION,
        head() + QUESTION + bytes(4096),
    ],
)
def test_malformed_queries_are_known_for_such(packet: bytes) -> None:
    assert dns.read_query(packet).malformed


@pytest.mark.parametrize(
    "name", [b"\3a.b\0", b"\1\0\0", b"\2\xc3\xa9\0", b"\3a b\0", b"\0", b"\1*\0"]
)
def test_labels_that_no_host_has_make_no_name(name: bytes) -> None:
    query = dns.read_query(head() + name + b"\0\1\0\1")
    assert query.name is None and not query.malformed


def test_an_answer_and_a_scrap_are_not_answered() -> None:
    for packet in (b"", b"\0" * 11, head(flags=0x8100) + QUESTION):
        with pytest.raises(dns.NoQuery):
            dns.read_query(packet)
