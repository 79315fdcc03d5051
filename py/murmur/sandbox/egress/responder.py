"""Answers every DNS query of a session. spec/containment.md 17.3.

One socket receives the queries to all servers; each packet tells which address was asked, and the
answer is sent from there. Names that are not listed go nowhere.
"""

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable
from typing import Final

from murmur.core.ip_addresses import IPAddress
from murmur.core.resolver import NameUnknown, Resolver
from murmur.sandbox.egress import dns
from murmur.sandbox.egress.reach import Reach

_IP_PKTINFO: Final = 8  # the socket module has it only since 3.14
_PKTINFO: Final = struct.Struct("=I4s4s")  # interface, address to send from, address asked
_PACKETS_A_TURN: Final = 32
_MOST_WAITING: Final = 512

Answer = Callable[[int, tuple[IPAddress, ...]], None]


class Responder:
    """Serves one UDP socket on the running loop, until `close`."""

    def __init__(self, listener: socket.socket, reach: Reach, resolver: Resolver) -> None:
        self._listener = listener
        self._reach = reach
        self._resolver = resolver
        self._loop = asyncio.get_running_loop()
        self._lookups: dict[str, asyncio.Task[None]] = {}
        self._waiting: dict[str, list[Answer]] = {}
        listener.setblocking(False)
        self._loop.add_reader(listener, self._readable)

    def close(self) -> None:
        """Answers nobody any more."""
        self._loop.remove_reader(self._listener)
        for task in self._lookups.values():
            task.cancel()
        self._listener.close()

    def _readable(self) -> None:
        for _ in range(_PACKETS_A_TURN):
            try:
                packet, ancillary, _, peer = self._listener.recvmsg(
                    dns.MOST_QUERY_BYTES + 1, socket.CMSG_SPACE(_PKTINFO.size)
                )
            except OSError:  # nothing there, or an error of an earlier answer
                return
            with contextlib.suppress(dns.NoQuery):
                self._serve(dns.read_query(packet), _asked(ancillary), peer)

    def _serve(self, query: dns.Query, asked: bytes, peer: object) -> None:
        def reply(code: int, addresses: tuple[IPAddress, ...] = ()) -> None:
            self._send(dns.answer(query, code, addresses), asked, peer)

        if query.malformed:
            return reply(dns.FORMERR)
        name = self._reach.listed_name(query.name) if query.name is not None else None
        if name is None:
            return reply(dns.REFUSED)
        if query.kind not in (dns.A, dns.AAAA) or query.klass != dns.IN:
            return reply(dns.NOERROR)
        if sum(map(len, self._waiting.values())) >= _MOST_WAITING:
            return None  # it will ask again
        self._waiting.setdefault(name, []).append(reply)
        if name not in self._lookups:
            self._lookups[name] = self._loop.create_task(self._look_up(name))
        return None

    async def _look_up(self, name: str) -> None:
        """Asks once for all who wait; they hear of the addresses once those are bound."""
        code, addresses = dns.NOERROR, tuple[IPAddress, ...]()
        try:
            addresses = await self._resolver.addresses(name)
            self._reach.bind(name, addresses)
        except NameUnknown:
            code = dns.NXDOMAIN
        except (OSError, ValueError):
            code = dns.SERVFAIL
        finally:
            del self._lookups[name]
            waiting = self._waiting.pop(name, [])
        for reply in waiting:
            reply(code, addresses)

    def _send(self, packet: bytes, asked: bytes, peer: object) -> None:
        control = [(socket.IPPROTO_IP, _IP_PKTINFO, _PKTINFO.pack(0, asked, bytes(4)))]
        with contextlib.suppress(OSError):  # the client is gone, or its buffer is full
            self._listener.sendmsg([packet], control, 0, peer)  # type: ignore[arg-type]


def _asked(ancillary: list[tuple[int, int, bytes]]) -> bytes:
    """The packed IPv4 address that a packet was sent to; zeros if the kernel did not say."""
    for level, kind, data in ancillary:
        if (level, kind) == (socket.IPPROTO_IP, _IP_PKTINFO) and len(data) >= _PKTINFO.size:
            return bytes(_PKTINFO.unpack_from(data)[2])
    return bytes(4)
