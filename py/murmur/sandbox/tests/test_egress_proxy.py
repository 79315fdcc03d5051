"""The proxy where the host runs short, and the way from threads to the loop. containment.md 17."""

import asyncio
import contextlib
import errno
import fcntl
import ipaddress
import os
import socket
import sys
import threading
import time

import pytest

from murmur.manifest.network import parse_rules
from murmur.sandbox.egress.proxy import Bounds, Proxy, dial
from murmur.sandbox.egress.reach import Reach

from .outside import Dials, Names, Outside, outside, serving

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="splice is Linux's")

LOOPBACK = ipaddress.IPv4Address("127.0.0.1")


class ShortOfDescriptors(socket.socket):
    """A listener for which the process has no descriptor left a few times."""

    left = 3

    def accept(self) -> tuple[socket.socket, object]:
        if self.left:
            self.left -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


def echo(connection: socket.socket) -> None:
    while data := connection.recv(1 << 20):
        connection.sendall(data)


def in_front_of(world: Outside, listener: socket.socket, target: int, bounds: Bounds) -> Proxy:
    port = listener.getsockname()[1]

    async def out(address: ipaddress.IPv4Address, wanted: int) -> socket.socket:
        return await dial(LOOPBACK, target)

    async def start() -> Proxy:
        launched: asyncio.Future[None] = world.loop.create_future()
        launched.set_result(None)
        reach = Reach(parse_rules([f"127.0.0.1:{port}"]))
        return Proxy([listener], reach, launched, out, bounds)

    return asyncio.run_coroutine_threadsafe(start(), world.loop).result(5)


def bound(listener: socket.socket) -> socket.socket:
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    return listener


def ask(listener: socket.socket, data: bytes) -> bytes:
    got = b""
    with socket.create_connection(listener.getsockname(), 20) as client:
        sending = threading.Thread(target=client.sendall, args=(data,))
        sending.start()
        while len(got) < len(data):
            got += client.recv(1 << 20)
        sending.join()
    return got


def test_without_a_descriptor_the_client_waits_and_the_loop_does_not_spin() -> None:
    with outside() as world, serving(echo) as server:
        listener = bound(ShortOfDescriptors(socket.AF_INET, socket.SOCK_STREAM))
        proxy = in_front_of(world, listener, server.port, Bounds(pause=0.1))
        begun = time.monotonic()
        assert ask(listener, b"hello") == b"hello"
        assert time.monotonic() - begun > 0.25, "three pauses"
        asyncio.run_coroutine_threadsafe(proxy.close(), world.loop).result(5)


def test_a_pipe_that_may_not_grow_carries_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def refuse(descriptor: int, command: int, size: int = 0) -> int:
        assert command == fcntl.F_SETPIPE_SZ
        asked.append(size)
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(fcntl, "fcntl", refuse)
    data = os.urandom(1 << 20) * 4
    with outside() as world, serving(echo) as server:
        listener = bound(socket.socket())
        proxy = in_front_of(world, listener, server.port, Bounds())
        assert ask(listener, data) == data
        asyncio.run_coroutine_threadsafe(proxy.close(), world.loop).result(5)
    assert asked == [1 << 20, 1 << 20], "once a direction"


def test_no_pipe_to_be_had_breaks_the_connection_and_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, left = os.pipe2, [1]

    def scarce(flags: int) -> tuple[int, int]:
        if left.pop() if left else 0:
            raise OSError(errno.ENFILE, "Too many open files in system")
        return real(flags)

    with outside() as world, serving(echo) as server:
        listener = bound(socket.socket())
        proxy = in_front_of(world, listener, server.port, Bounds())
        monkeypatch.setattr(os, "pipe2", scarce)
        with pytest.raises(ConnectionResetError):
            ask(listener, b"hello" * 1000)
        assert ask(listener, b"again") == b"again"
        asyncio.run_coroutine_threadsafe(proxy.close(), world.loop).result(5)


def test_an_answer_given_before_the_request_was_read_arrives() -> None:
    answer = b"HTTP/1.1 413 Content Too Large\r\n\r\n" + bytes(30_000)

    def refuse(connection: socket.socket) -> None:
        connection.recv(1)
        connection.sendall(answer)  # and is reset by closing: most of the request is unread

    with outside() as world, serving(refuse) as server:
        listener = bound(socket.socket())
        proxy = in_front_of(world, listener, server.port, Bounds())
        for _ in range(20):
            got = b""
            with socket.create_connection(listener.getsockname(), 20) as client:
                with contextlib.suppress(OSError):
                    client.sendall(bytes(4 << 20))
                with contextlib.suppress(ConnectionResetError):
                    while data := client.recv(1 << 16):
                        got += data
            assert got == answer
        asyncio.run_coroutine_threadsafe(proxy.close(), world.loop).result(5)


def test_an_egress_that_was_closed_takes_no_sockets_and_closes_again() -> None:
    with outside() as world:
        egress = world.egress(["a.example.com:8443"])
        egress.close()
        egress.close()
        dns, listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), bound(socket.socket())
        egress.serve(dns, [listener])
        deadline = time.monotonic() + 5
        while listener.fileno() >= 0 or dns.fileno() >= 0:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    egress.close()


def test_closing_on_the_loop_itself_does_not_wait_for_the_loop() -> None:
    with outside() as world:
        egress = world.egress(["a.example.com"])
        done = threading.Event()

        def close() -> None:
            egress.close()
            done.set()

        world.loop.call_soon_threadsafe(close)
        assert done.wait(1)
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0.05), world.loop).result(5)


def test_the_launchs_look_ups_end_with_the_session() -> None:
    class Slow(Names):
        async def addresses(self, name: str) -> tuple[ipaddress.IPv4Address, ...]:
            await asyncio.sleep(60)
            raise AssertionError

    with outside() as world:
        world.names, world.dials = Slow(), Dials()
        egress = world.egress(["a.example.com", "b.example.com"])
        begun = time.monotonic()
        egress.close()
        assert time.monotonic() - begun < 5
        assert world.warned == []
