"""The proxy and the responder against clients and servers that do anything.

No namespace is needed: both serve sockets of the host's loopback. MURMUR_EGRESS_FUZZ_SECONDS is how
long each test goes on (//tests/long/egress: ten minutes), MURMUR_EGRESS_FUZZ_SEED where it begins.
"""

import asyncio
import contextlib
import ipaddress
import os
import random
import socket
import struct
import sys
import threading
import time

import pytest

from murmur.core import resolver
from murmur.core.ip_addresses import IPAddress
from murmur.manifest.network import parse_rules
from murmur.sandbox.egress.proxy import Bounds, Proxy, dial
from murmur.sandbox.egress.reach import Reach
from murmur.sandbox.egress.responder import Responder

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="splice is Linux's")

SECONDS = float(os.environ.get("MURMUR_EGRESS_FUZZ_SECONDS", "3"))
SEED = int(os.environ.get("MURMUR_EGRESS_FUZZ_SEED", "20260101"))
LOOPBACK = ipaddress.IPv4Address("127.0.0.1")


class OneAddress:
    async def addresses(self, name: str) -> tuple[IPAddress, ...]:
        await asyncio.sleep(0)
        return (LOOPBACK,)


def mutated(packet: bytes, chance: random.Random) -> bytes:
    """The packet with a few bytes changed, cut, doubled or put in."""
    data = bytearray(packet)
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(data) + 1)
        match chance.randrange(4):
            case 0 if data:
                data[at % len(data)] = chance.choice((0, 1, 0x3F, 0x40, 0xC0, 0xFF, 12))
            case 1:
                del data[at:]
            case 2:
                data[at:at] = chance.randbytes(chance.randrange(80))
            case _:
                data += data[at:]
    return bytes(data[:5000])


def test_no_packet_stops_the_responder_or_gets_more_than_it_asked() -> None:
    chance = random.Random(SEED)

    async def serve() -> int:
        with (
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client,
        ):
            server.bind(("127.0.0.1", 0))
            server.setsockopt(socket.IPPROTO_IP, 8, 1)
            client.connect(server.getsockname())
            client.setblocking(False)
            loop = asyncio.get_running_loop()
            reach = Reach(parse_rules(["a.example.com"]))
            responder = Responder(server, reach, OneAddress())
            seeds = [
                resolver.build_query(7, name, kind)
                for name in ("a.example.com", "b.example.com")
                for kind in (1, 28, 16)
            ]
            seeds.append(seeds[0] + b"\0" + struct.pack("!2HIH", 41, 1232, 0, 0))
            until = time.monotonic() + SECONDS
            rounds = 0
            while time.monotonic() < until:
                rounds += 1
                packet = mutated(chance.choice(seeds), chance)
                if packet:
                    client.send(packet)
                probe = resolver.build_query(rounds & 0xFFFF ^ 0x8000, "a.example.com", 1)
                client.send(probe)
                while True:
                    reply = await asyncio.wait_for(loop.sock_recv(client, 65536), 10)
                    assert len(reply) <= 512 and reply[2] & 0x80
                    if reply[:2] == probe[:2] and reply[12:].startswith(probe[12:]):
                        assert resolver.read_answer(reply, probe) == (LOOPBACK,)
                        break
                    assert reply[3] & 0xF in (0, 1, 3, 5)
                    assert reply[3] & 0xF or reply[6:8] in (b"\0\0", b"\0\1")
            responder.close()
            return rounds

    print(f"\nseed {SEED}: {asyncio.run(serve())} packets")


class End:
    """One end of a carried connection, played by a thread by chance."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self.sent = bytearray()
        self.received = bytearray()
        self.clean = True
        """It said the whole of what it had, heard the other's end, and broke nothing off."""

    def play(self, connection: socket.socket) -> None:
        connection.settimeout(20)
        listening = threading.Thread(target=self._listen, args=(connection,))
        listening.start()
        try:
            for _ in range(self._chance.randrange(6)):
                if self._chance.random() < 0.3:
                    time.sleep(self._chance.random() * 0.02)
                piece = self._chance.randbytes(self._chance.choice((1, 700, 70_000, 2_000_000)))
                self.sent += piece
                connection.sendall(piece)
            if self._chance.random() < 0.2:
                self.clean = False
                reset = self._chance.random() < 0.5
                connection.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", reset, 0)
                )
                connection.shutdown(socket.SHUT_RDWR)
            else:
                connection.shutdown(socket.SHUT_WR)
        except OSError:
            self.clean = False
        listening.join()

    def _listen(self, connection: socket.socket) -> None:
        slow = self._chance.random() < 0.3
        try:
            while data := connection.recv(1 << 17):
                self.received += data
                if slow:
                    time.sleep(0.001)
        except OSError:
            self.clean = False


def exchange(front: int, back: socket.socket, seed: int) -> bool:
    """One connection through the proxy with two such ends; whether both stayed clean."""
    one, other = End(seed), End(seed + 1)

    def answer() -> None:
        connection, _ = back.accept()
        with connection:
            other.play(connection)

    answering = threading.Thread(target=answer)
    answering.start()
    try:
        with socket.create_connection(("127.0.0.1", front), 20) as connection:
            one.play(connection)
    except ConnectionResetError:  # the other end was quicker than the connecting itself
        one.clean = False
    answering.join()
    assert one.sent.startswith(other.received), "in order, and nothing of another connection"
    assert other.sent.startswith(one.received)
    if one.clean and other.clean:
        assert (one.sent, other.sent) == (other.received, one.received), "whole"
    return one.clean and other.clean


def test_whatever_two_ends_do_each_gets_what_the_other_sent_and_no_descriptor_stays() -> None:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    with socket.create_server(("127.0.0.1", 0)) as back, contextlib.ExitStack() as undo:
        undo.callback(loop.close)
        undo.callback(thread.join)
        undo.callback(loop.call_soon_threadsafe, loop.stop)
        front = socket.create_server(("127.0.0.1", 0))
        port = front.getsockname()[1]
        target = back.getsockname()[1]

        async def out(address: ipaddress.IPv4Address, wanted: int) -> socket.socket:
            assert (address, wanted) == (LOOPBACK, port)
            return await dial(LOOPBACK, target)

        async def start() -> Proxy:
            launched: asyncio.Future[None] = loop.create_future()
            launched.set_result(None)
            reach = Reach(parse_rules([f"127.0.0.1:{port}"]))
            return Proxy([front], reach, launched, out, Bounds(idle=15))

        proxy = asyncio.run_coroutine_threadsafe(start(), loop).result(5)
        exchange(port, back, SEED)
        before = len(os.listdir("/proc/self/fd"))
        until = time.monotonic() + SECONDS
        rounds = whole = 0
        while time.monotonic() < until:
            rounds += 1
            whole += exchange(port, back, SEED + 2 * rounds)
        deadline = time.monotonic() + 10
        while len(os.listdir("/proc/self/fd")) > before + 32:  # the spare pipes
            assert time.monotonic() < deadline, "descriptors of ended connections are left"
            time.sleep(0.05)
        asyncio.run_coroutine_threadsafe(proxy.close(), loop).result(5)
        print(f"\nseed {SEED}: {rounds} connections, {whole} of them whole")
        assert 0 < whole < rounds or rounds < 10
