"""Names to addresses without libc: `/etc/hosts`, then DNS. spec/containment.md 17.5.

`getaddrinfo` would need a thread per look-up, reads files of its own choosing and accepts address
forms that the allow-list does not know. Both files are read once. A look-up costs at most 5 s, 2 s
a server, two repeats. `localhost` is never asked for (RFC 6761). The names are absolute: no
search list.
"""

import asyncio
import ipaddress
import secrets
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from murmur.core.ip_addresses import IPAddress

_A: Final = 1
_CNAME: Final = 5
_AAAA: Final = 28
_TOTAL_SECONDS: Final = 5.0
_SERVER_SECONDS: Final = 2.0
_ROUNDS: Final = 3
_MOST_ADDRESSES: Final = 16


class NameUnknown(OSError):
    """The name does not exist or has no address."""


class ResolverSilent(OSError):
    """No server gave a usable answer in time."""


class Resolver(Protocol):
    """What the gateway asks for the addresses of a name, once a request."""

    async def addresses(self, name: str) -> tuple[IPAddress, ...]:
        """Never empty. Raises NameUnknown or ResolverSilent."""
        ...


@dataclass(frozen=True, slots=True)
class DnsResolver:
    """Asks `servers` in order over UDP, over TCP where an answer did not fit."""

    servers: tuple[tuple[str, int], ...]
    hosts: Mapping[str, tuple[IPAddress, ...]] = field(default_factory=dict)

    async def addresses(self, name: str) -> tuple[IPAddress, ...]:
        """The addresses of `name`, IPv4 first. Raises NameUnknown or ResolverSilent."""
        name = name.removesuffix(".").lower()
        if name == "localhost" or name.endswith(".localhost"):
            return (ipaddress.IPv4Address("127.0.0.1"), ipaddress.IPv6Address("::1"))
        if name in self.hosts:
            return self.hosts[name]
        four = asyncio.create_task(self._ask(name, _A))
        six = asyncio.create_task(self._ask(name, _AAAA))
        try:
            async with asyncio.timeout(_TOTAL_SECONDS):
                # IPv4 decides how long IPv6 may take: a resolver that drops AAAA queries is common.
                await asyncio.wait({four})
                patience = 0.3 if _succeeded(four) else None
                await asyncio.wait({six}, timeout=patience)
        except TimeoutError:
            pass
        finally:
            four.cancel()
            six.cancel()
            outcomes = await asyncio.gather(four, six, return_exceptions=True)
        answers = [outcome for outcome in outcomes if isinstance(outcome, tuple)]
        found = [address for answer in answers for address in answer]
        if found:
            return tuple(found[:_MOST_ADDRESSES])
        if any(isinstance(outcome, tuple | NameUnknown) for outcome in outcomes):
            raise NameUnknown("the name does not exist or has no address")
        raise ResolverSilent("no name server answered")

    async def _ask(self, name: str, kind: int) -> tuple[IPAddress, ...]:
        for _ in range(_ROUNDS):
            for server in self.servers:
                try:
                    async with asyncio.timeout(_SERVER_SECONDS):
                        return await _exchange(server, name, kind)
                except (TimeoutError, OSError, ValueError) as failure:
                    if isinstance(failure, NameUnknown):
                        raise
        raise ResolverSilent("no name server answered")


@dataclass(frozen=True, slots=True)
class LibcResolver:
    """`getaddrinfo` in the loop's executor: for hosts without a readable `resolv.conf`."""

    async def addresses(self, name: str) -> tuple[IPAddress, ...]:
        """As `DnsResolver.addresses`."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_TOTAL_SECONDS):
                rows = await loop.getaddrinfo(name, None, proto=6)
        except TimeoutError:
            raise ResolverSilent("the system's resolver did not answer") from None
        except OSError:
            raise NameUnknown("the name does not exist or has no address") from None
        found: dict[IPAddress, None] = {}
        for row in rows:
            found[ipaddress.ip_address(str(row[4][0]).partition("%")[0])] = None
        if not found:
            raise NameUnknown("the name does not exist or has no address")
        return tuple(found)[:_MOST_ADDRESSES]


def system_resolver(
    hosts: Path = Path("/etc/hosts"), resolv_conf: Path = Path("/etc/resolv.conf")
) -> Resolver:
    """The host's own configuration, read now and not again."""
    try:
        servers = parse_resolv_conf(resolv_conf.read_text("utf-8", "replace"))
    except OSError:
        return LibcResolver()
    try:
        table = parse_hosts(hosts.read_text("utf-8", "replace"))
    except OSError:
        table = {}
    return DnsResolver(servers, table)


def parse_resolv_conf(text: str) -> tuple[tuple[str, int], ...]:
    """The first three name servers; the local one where none is named, as libc does."""
    servers = []
    for line in text.splitlines():
        words = line.split()
        if len(words) < 2 or words[0] != "nameserver":
            continue
        address, _, zone = words[1].partition("%")
        try:
            ipaddress.ip_address(address)
        except ValueError:
            continue
        servers.append((f"{address}%{zone}" if zone else address, 53))
    return tuple(servers[:3]) or (("127.0.0.1", 53),)


def parse_hosts(text: str) -> dict[str, tuple[IPAddress, ...]]:
    """Every name of a hosts file with its addresses in the file's order."""
    table: dict[str, list[IPAddress]] = {}
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        try:
            address = ipaddress.ip_address(words[0].partition("%")[0]) if words else None
        except ValueError:
            continue
        for name in words[1:]:
            if address is not None:
                table.setdefault(name.removesuffix(".").lower(), []).append(address)
    return {name: tuple(addresses) for name, addresses in table.items()}


def _succeeded(task: "asyncio.Task[tuple[IPAddress, ...]]") -> bool:
    return task.done() and not task.cancelled() and task.exception() is None and bool(task.result())


class _Answer(asyncio.DatagramProtocol):
    """Hands the first datagram with the query's id to whoever waits."""

    def __init__(self, query_id: int) -> None:
        self._query_id = query_id
        self.received: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, addr: object) -> None:
        if not self.received.done() and data[:2] == struct.pack("!H", self._query_id):
            self.received.set_result(data)

    def error_received(self, exc: Exception) -> None:
        if not self.received.done():
            self.received.set_exception(OSError("the name server cannot be reached"))

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.received.done():
            self.received.set_exception(OSError("the name server cannot be reached"))


async def _exchange(server: tuple[str, int], name: str, kind: int) -> tuple[IPAddress, ...]:
    query_id = secrets.randbelow(65536)
    query = build_query(query_id, name, kind)
    loop = asyncio.get_running_loop()
    # The socket is connected, so the kernel drops datagrams from anybody but the server asked.
    transport, answer = await loop.create_datagram_endpoint(
        lambda: _Answer(query_id), remote_addr=server
    )
    try:
        transport.sendto(query)
        data = await answer.received
    finally:
        answer.received.cancel()
        transport.close()
    if data[2] & 0x02:
        data = await _exchange_tcp(server, query)
    return read_answer(data, query)


async def _exchange_tcp(server: tuple[str, int], query: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(*server)
    try:
        writer.write(struct.pack("!H", len(query)) + query)
        await writer.drain()
        (length,) = struct.unpack("!H", await reader.readexactly(2))
        return await reader.readexactly(length)
    except asyncio.IncompleteReadError:
        raise OSError("the name server broke off") from None
    finally:
        writer.transport.abort()


def build_query(query_id: int, name: str, kind: int) -> bytes:
    """One recursive question. Raises ValueError for a name DNS cannot carry."""
    encoded = b""
    for label in name.encode("ascii").split(b"."):
        if not 0 < len(label) < 64:
            raise ValueError("a label is empty or too long")
        encoded += bytes([len(label)]) + label
    header = struct.pack("!6H", query_id, 0x0100, 1, 0, 0, 0)
    return header + encoded + struct.pack("!BHH", 0, kind, 1)


def read_answer(data: bytes, query: bytes) -> tuple[IPAddress, ...]:
    """The addresses in an answer to `query`, following its aliases; empty when it holds none.

    Raises NameUnknown for rcode 3 and ValueError for anything that does not answer this question.
    """
    if len(data) < 12:
        raise ValueError("shorter than a header")
    query_id, flags, questions, answers = struct.unpack_from("!4H", data)
    if query_id != struct.unpack_from("!H", query)[0] or not flags & 0x8000 or questions != 1:
        raise ValueError("no answer to this question")
    asked, at = _name(data, 12)
    if at + 4 > len(data) or data[at : at + 4] != query[-4:] or asked != _name(query, 12)[0]:
        raise ValueError("an answer to another question")
    code = flags & 0x000F
    if code == 3:
        raise NameUnknown("the name does not exist")
    if code != 0:
        raise ValueError("the server refused or failed")
    kind = struct.unpack_from("!H", query, len(query) - 4)[0]
    at += 4
    owners = {asked}
    found: list[IPAddress] = []
    for _ in range(answers):
        owner, at = _name(data, at)
        if at + 10 > len(data):
            raise ValueError("a record is cut short")
        record, _, _, length = struct.unpack_from("!HHIH", data, at)
        at += 10
        body = data[at : at + length]
        if len(body) != length:
            raise ValueError("a record is cut short")
        if owner in owners:
            if record == _CNAME:
                owners.add(_name(data, at)[0])
            elif record == kind and length == (4 if kind == _A else 16):
                found.append(ipaddress.ip_address(body))
        at += length
    return tuple(found)


def _name(data: bytes, at: int) -> tuple[bytes, int]:
    """The name at `at`, lower case, and where what follows it begins."""
    labels: list[bytes] = []
    after = -1
    for _ in range(128):
        if at >= len(data):
            raise ValueError("a name is cut short")
        length = data[at]
        if length == 0:
            return b".".join(labels).lower(), at + 1 if after < 0 else after
        if length & 0xC0 == 0xC0:
            if at + 1 >= len(data):
                raise ValueError("a name is cut short")
            after = at + 2 if after < 0 else after
            at = (length & 0x3F) << 8 | data[at + 1]
        elif length & 0xC0:
            raise ValueError("an unknown label form")
        else:
            labels.append(data[at + 1 : at + 1 + length])
            at += 1 + length
    raise ValueError("a name never ends")
