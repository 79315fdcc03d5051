"""How commands' connections are carried, on the real kernel. spec/containment.md 17.4."""

import asyncio
import contextlib
import hashlib
import os
import socket
import sys
import threading
import time

import pytest

from murmur.sandbox.egress.proxy import Bounds
from murmur.sandbox.egress.splicing import reset_on_close

from .online import PYTHON, Online, echo, python, said
from .outside import PUBLIC, Dials, Outside, serving

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the helper's home")


def test_either_side_may_finish_speaking_first(world: Outside, online: Online) -> None:
    got: list[bytes] = []

    def handle(connection: socket.socket) -> None:
        asked = connection.recv(1)
        if asked == b"a":  # the server says all it has and goes on listening
            connection.sendall(b"said")
            connection.shutdown(socket.SHUT_WR)
        rest = b""
        while data := connection.recv(1 << 16):
            rest += data
        got.append(rest)
        if asked == b"b":
            connection.sendall(str(len(rest)).encode())

    world.names.table["api.example.com"] = [PUBLIC]
    with serving(handle) as server:
        world.dials.servers[443] = server.port
        done = python(
            online(["https://api.example.com"]),
            "def all(c):",
            "    d = b''",
            "    while p := c.recv(65536): d += p",
            "    return d",
            "c = socket.create_connection(('api.example.com', 443), 5)",
            "c.sendall(b'a'); print(all(c)); time.sleep(0.2); c.sendall(b'x' * 100000); c.close()",
            "c = socket.create_connection(('api.example.com', 443), 5)",
            "c.sendall(b'b' + b'y' * 100000); c.shutdown(socket.SHUT_WR); print(all(c))",
        )
    assert said(done) == ["b'said'", "b'100000'"]
    assert sorted(map(len, got)) == [100000, 100000]


def test_a_broken_connection_does_not_look_like_a_whole_one(world: Outside, online: Online) -> None:
    def handle(connection: socket.socket) -> None:
        connection.recv(1)
        connection.sendall(b"half")
        reset_on_close(connection)

    world.names.table["api.example.com"] = [PUBLIC]
    with serving(handle) as server:
        world.dials.servers[443] = server.port
        done = python(
            online(["api.example.com"]),
            "c = socket.create_connection(('api.example.com', 443), 5); c.sendall(b'x')",
            "def all():",
            "    while c.recv(99): pass",
            "show(all)",
            "show(lambda: socket.create_connection(('api.example.com', 80), 5).recv(1))",
        )
    assert said(done) == ["ECONNRESET", "ECONNRESET"], "reset by the server; nothing listens"


SIZE = 96 << 20


def test_large_transfers_arrive_whole_both_ways_at_once_and_through_a_slow_reader(
    world: Outside, online: Online
) -> None:
    seen: list[str] = []

    def handle(connection: socket.socket) -> None:
        piece = bytes(range(256)) * 256

        def send() -> None:
            for _ in range(SIZE // len(piece)):
                connection.sendall(piece)

        sending = threading.Thread(target=send)
        sending.start()
        digest = hashlib.sha256()
        left = SIZE
        while left and (data := connection.recv(1 << 20)):
            digest.update(data)
            left -= len(data)
        seen.append(digest.hexdigest())
        sending.join()

    world.names.table["api.example.com"] = [PUBLIC]
    with serving(handle) as server:
        world.dials.servers[443] = server.port
        done = python(
            online(["https://api.example.com"]),
            "import hashlib, threading",
            "c = socket.create_connection(('api.example.com', 443), 30)",
            f"piece = bytes(range(256)) * 256; n = {SIZE} // len(piece)",
            "t = threading.Thread(target=lambda: [c.sendall(piece) for _ in range(n)]); t.start()",
            f"h = hashlib.sha256(); left = {SIZE}; pause = 20",
            "while left and (d := c.recv(1 << 20)):",
            "    h.update(d); left -= len(d)",
            "    if pause: time.sleep(0.01); pause -= 1",
            "t.join(); print(h.hexdigest())",
        )
    whole = hashlib.sha256(bytes(range(256)) * (SIZE // 256)).hexdigest()
    assert (said(done), seen) == ([whole], [whole])


def test_many_connections_are_all_served_some_after_others(world: Outside, online: Online) -> None:
    world.names.table["api.example.com"] = [PUBLIC]
    before = len(os.listdir("/proc/self/fd"))
    with serving(echo) as server:
        world.dials.servers[443] = server.port
        session = online(["https://api.example.com"], bounds=Bounds(connections=8))
        done = python(
            session,
            "import threading",
            "got = []",
            "def one(i):",
            "    c = socket.create_connection(('api.example.com', 443), 30)",
            "    c.sendall(b'%d' % i); got.append(int(c.recv(9))); c.close()",
            "ts = [threading.Thread(target=one, args=(i,)) for i in range(60)]",
            "[t.start() for t in ts]; [t.join() for t in ts]",
            "print(sorted(got) == list(range(60)))",
        )
        assert said(done) == ["True"]
    assert len(world.dials.seen) == 60
    session.session.close()
    assert len(os.listdir("/proc/self/fd")) <= before + 20, "the spare pipes are gone as well"


def test_a_connection_on_which_nothing_moves_is_ended(world: Outside, online: Online) -> None:
    world.names.table["api.example.com"] = [PUBLIC]
    with serving(echo) as server:
        world.dials.servers[443] = server.port
        session = online(["https://api.example.com"], bounds=Bounds(idle=0.6))
        done = python(
            session,
            "c = socket.create_connection(('api.example.com', 443), 30)",
            "for _ in range(5): c.sendall(b'x'); c.recv(1); time.sleep(0.3)",
            "begun = time.monotonic(); show(lambda: c.recv(1))",
            "print(0.2 < time.monotonic() - begun < 5)",
        )
    assert said(done) == ["ECONNRESET", "True"]


def test_a_server_that_does_not_answer_costs_the_connect_timeout(
    world: Outside, online: Online, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(self: Dials, address: object, port: int) -> socket.socket:
        await asyncio.sleep(60)
        raise AssertionError

    monkeypatch.setattr(Dials, "__call__", never)
    world.names.table["api.example.com"] = [PUBLIC]
    session = online(["https://api.example.com"], bounds=Bounds(connect=0.4))
    done = python(
        session,
        "c = socket.create_connection(('api.example.com', 443), 30)",
        "begun = time.monotonic(); show(lambda: c.recv(1))",
        "print(0.2 < time.monotonic() - begun < 5)",
    )
    assert said(done) == ["ECONNRESET", "True"]


def test_the_sessions_end_ends_its_connections(world: Outside, online: Online) -> None:
    ended = threading.Event()

    def handle(connection: socket.socket) -> None:
        connection.recv(1)
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(1) == b""
        ended.set()

    world.names.table["api.example.com"] = [PUBLIC]
    with serving(handle) as server:
        world.dials.servers[443] = server.port
        session = online(["https://api.example.com"])
        line = (
            "import socket, time; c = socket.create_connection(('api.example.com', 443)); "
            "c.sendall(b'x'); print('up', flush=True); time.sleep(60)"
        )
        session.session.start((PYTHON, "-c", line), session.env)
        deadline = time.monotonic() + 20
        while not server.accepted:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert session.session.close()
        assert ended.wait(5)
