"""Clients that speak no HTTP, or speak it to do harm, over bare sockets.

Each attack is a function of a port and a source of chance; it returns every byte that it was
answered. What may be answered is judged in one place.
"""

import random
import re
import socket
import struct
import time
from collections.abc import Callable
from typing import Final

Attack = Callable[[int, random.Random], bytes]

_STATUS: Final = re.compile(rb"HTTP/1\.1 (\d{3}) ")
_ALLOWED: Final = frozenset({b"200", b"400", b"403", b"404", b"405", b"413", b"431"})
_LONGEST_WAIT: Final = 20.0

_LIST: Final = b'{"jsonrpc":"2.0","id":1,"method":"ListTasks"}'


def request(body: bytes = _LIST, *, more: bytes = b"", length: int | None = None) -> bytes:
    head = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\na2a-version: 1.0\r\n"
    size = len(body) if length is None else length
    return head + more + b"content-length: %d\r\n\r\n" % size + body


def _talk(port: int, *pieces: bytes, half_close: bool = False, wait: float = 2.0) -> bytes:
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=wait) as connection:
        try:
            for piece in pieces:
                connection.sendall(piece)
            if half_close:
                connection.shutdown(socket.SHUT_WR)
            while chunk := connection.recv(65536):
                received += chunk
        except (TimeoutError, ConnectionError):
            pass  # It waits for more, or it has had enough.
    return received


def random_bytes(port: int, chance: random.Random) -> bytes:
    return _talk(port, chance.randbytes(chance.randrange(1, 5000)), half_close=True)


def other_protocols(port: int, chance: random.Random) -> bytes:
    hello = chance.choice(
        [
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + chance.randbytes(500),
            b"GET /\r\n",
            b"GET / HTTP/1.0\r\n\r\n",
            b"GET http://elsewhere/ HTTP/1.1\r\nhost: x\r\n\r\n",
            b"CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n",
            b"GET / HTTP/9.9\r\nhost: x\r\n\r\n",
            b"\r\n" * 5000,
            b"SSH-2.0-x\r\n",
        ]
    )
    return _talk(port, hello, half_close=chance.random() < 0.5)


def bad_heads(port: int, chance: random.Random) -> bytes:
    line = chance.choice(
        [
            b"content-length: -1",
            b"content-length: 5, 6",
            b"content-length: 99999999999999999999",
            b"content-length: 0x10",
            b"content-length: 1\r\ncontent-length: 2",
            b"transfer-encoding: chunked",
            b"transfer-encoding: gzip, chunked\r\ncontent-length: 3",
            b"x: \0",
            b" folded: x",
            b"no colon",
            b"x: " + chance.randbytes(50).replace(b"\r", b"").replace(b"\n", b""),
            b"expect: 100-continue",
            b"upgrade: websocket\r\nconnection: upgrade",
            b"connection: keep-alive",
        ]
    )
    head = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\na2a-version: 1.0\r\n"
    return _talk(port, head + line + b"\r\n\r\n" + _LIST, half_close=True)


def huge_heads(port: int, chance: random.Random) -> bytes:
    if chance.random() < 0.5:
        return _talk(port, b"GET / HTTP/1.1\r\nx: " + b"y" * (1 << 20) + b"\r\n\r\n")
    return _talk(port, b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 20_000 + b"\r\n")


def pipelined(port: int, chance: random.Random) -> bytes:
    answer = _talk(port, request() * 50)
    assert answer.count(b"HTTP/1.1 ") == 1, "a connection serves one request"
    return answer


def half_closed(port: int, chance: random.Random) -> bytes:
    answer = _talk(port, request(), half_close=True, wait=_LONGEST_WAIT)
    assert answer.startswith(b"HTTP/1.1 200 "), "a client that asked its all gets its answer"
    return answer


def cut_short(port: int, chance: random.Random) -> bytes:
    """Half a request, then the end; or a reset in the middle of the answer."""
    whole = request(length=len(_LIST) + chance.randrange(2) * 1000)
    with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
        connection.sendall(whole[: chance.randrange(1, len(whole))])
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return b""


def streams_left(port: int, chance: random.Random) -> bytes:
    """A stream is opened and left, politely or not."""
    body = b'{"jsonrpc":"2.0","id":1,"method":"murmur.WatchSession"}'
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(request(body))
        answer = connection.recv(65536)
        if chance.random() < 0.5:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return answer


def thousands_of_ids(port: int, chance: random.Random) -> bytes:
    """One message that refers to many tasks, and a lookup of one that is not there."""
    ids = ",".join(f'"tsk_{chance.getrandbits(128):032x}"' for _ in range(2000))
    body = (
        '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m",'
        f'"role":"ROLE_USER","parts":[{{"text":"x"}}],"referenceTaskIds":[{ids}]}}}}}}'
    )
    answer = _talk(port, request(body.encode()), wait=_LONGEST_WAIT)
    assert b"-32602" in answer
    unknown = b'{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"tsk_%032x"}}'
    return answer + _talk(port, request(unknown % chance.getrandbits(128)), wait=_LONGEST_WAIT)


ATTACKS: Final[tuple[Attack, ...]] = (
    random_bytes,
    other_protocols,
    bad_heads,
    huge_heads,
    pipelined,
    half_closed,
    cut_short,
    streams_left,
    thousands_of_ids,
)


def judge(answer: bytes) -> None:
    """Nothing, or answers with statuses that a door gives. Raises AssertionError."""
    for status in _STATUS.findall(answer):
        assert status in _ALLOWED, answer[:300]


class SlowLoris:
    """Connections that send a byte now and then and never finish; `drip` sends the next ones."""

    def __init__(self, port: int, count: int) -> None:
        self._sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
        self._text = request()
        self._sent = 0
        self.opened = time.monotonic()

    def drip(self) -> int:
        """How many of them the door still bears."""
        piece = self._text[self._sent : self._sent + 1] or b"x"
        self._sent += 1
        bearing = []
        for each in self._sockets:
            try:
                each.sendall(piece if self._sent < len(self._text) - 5 else b"")
                each.setblocking(False)
                try:
                    if each.recv(1) == b"":
                        raise ConnectionError
                except BlockingIOError:
                    pass
                each.setblocking(True)
                bearing.append(each)
            except OSError:
                each.close()
        self._sockets = bearing
        return len(bearing)

    def close(self) -> None:
        for each in self._sockets:
            each.close()
