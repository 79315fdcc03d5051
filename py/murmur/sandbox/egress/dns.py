"""DNS messages as the responder reads and writes them. spec/containment.md 17.3; RFC 1035.

Every byte of a query is a command's. Nothing here allocates by what a message says of itself, and
a query whose name is not plain host text has no name at all.
"""

import ipaddress
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from murmur.core.ip_addresses import IPAddress

A: Final = 1
AAAA: Final = 28
IN: Final = 1

NOERROR: Final = 0
FORMERR: Final = 1
SERVFAIL: Final = 2
NXDOMAIN: Final = 3
REFUSED: Final = 5

MOST_QUERY_BYTES: Final = 4096
TTL_SECONDS: Final = 60

_HEADER: Final = struct.Struct("!6H")
_RECORD: Final = struct.Struct("!HHHIH")  # name, type, class, TTL, length of the data
_POINTER_TO_QUESTION: Final = 0xC000 | _HEADER.size
_MOST_ANSWER_BYTES: Final = 512
_LABEL: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


class NoQuery(ValueError):
    """Bytes that deserve no answer: too short to have an id, or an answer themselves."""


@dataclass(frozen=True, slots=True)
class Query:
    """One query. `name` has the case in which it was asked and no trailing dot.

    `name` None: labels that no host name has. `malformed`: to be answered FORMERR; then nothing
    but the id is to be relied on. `question` are its bytes, to be repeated in the answer.
    """

    query_id: int
    recursion: bool
    name: str | None
    kind: int
    klass: int
    question: bytes
    malformed: bool = False


def read_query(packet: bytes) -> Query:
    """The query in a datagram. Raises NoQuery."""
    if len(packet) < _HEADER.size:
        raise NoQuery("shorter than a header")
    query_id, flags, questions, answers, authorities, _ = _HEADER.unpack_from(packet)
    if flags & 0x8000:
        raise NoQuery("an answer")
    recursion = bool(flags & 0x0100)
    broken = Query(query_id, recursion, None, 0, 0, b"", malformed=True)
    # A query may carry additional records (EDNS) alone; those say nothing that counts here.
    if len(packet) > MOST_QUERY_BYTES or flags & 0x7800 or questions != 1:
        return broken
    if answers or authorities:
        return broken
    try:
        name, end = _name(packet, _HEADER.size)
        kind, klass = struct.unpack_from("!2H", packet, end)
    except (ValueError, struct.error):
        return broken
    return Query(query_id, recursion, name, kind, klass, packet[_HEADER.size : end + 4])


def _name(packet: bytes, at: int) -> tuple[str | None, int]:
    """The name at `at`, None if it is no host text, and where it ends.

    A question has nothing before it that a pointer could lead to, so pointers are malformed.
    """
    start = at
    labels: list[str] = []
    plain = True
    while True:
        if at >= len(packet) or at - start > 254:
            raise ValueError("a name without an end")
        length = packet[at]
        at += 1
        if length == 0:
            return (".".join(labels) if plain and labels else None), at
        label = packet[at : at + length]
        if length > 63 or len(label) != length:
            raise ValueError("no label")
        plain = plain and _LABEL.issuperset(label)
        labels.append(label.decode("latin-1"))
        at += length


def answer(query: Query, code: int, addresses: Iterable[IPAddress] = ()) -> bytes:
    """The answer with a code and, for NOERROR, those of the addresses that the query asks for.

    It fits the 512 bytes that every client takes: what does not fit is left out, since there is no
    DNS over TCP to come back with.
    """
    records = b""
    count = 0
    room = _MOST_ANSWER_BYTES - _HEADER.size - len(query.question)
    for address in addresses:
        kind = A if isinstance(address, ipaddress.IPv4Address) else AAAA
        data = address.packed
        if kind != query.kind or len(records) + _RECORD.size + len(data) > room:
            continue
        records += _RECORD.pack(_POINTER_TO_QUESTION, kind, IN, TTL_SECONDS, len(data)) + data
        count += 1
    flags = 0x8080 | (0x0100 if query.recursion else 0) | code
    head = _HEADER.pack(query.query_id, flags, 1 if query.question else 0, count, 0, 0)
    return head + query.question + records
