"""A proxy that opens a tunnel to one local port, whatever it is asked for."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class ConnectingProxy:
    """What it was asked for, and every byte that a client then sent through."""

    port: int
    asked: list[bytes] = field(default_factory=list)
    passed: bytearray = field(default_factory=bytearray)


@contextlib.contextmanager
def connecting_proxy(target: int) -> Iterator[ConnectingProxy]:
    """Serves until the block ends; `target` is a port of 127.0.0.1."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = ConnectingProxy(listener.getsockname()[1])

        def serve() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=_tunnel, args=(client, target, proxy), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield proxy
        listener.shutdown(socket.SHUT_RDWR)


def _tunnel(client: socket.socket, target: int, proxy: ConnectingProxy) -> None:
    with client, socket.create_connection(("127.0.0.1", target)) as server:
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(4096)
        proxy.asked.append(head)
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        back = threading.Thread(target=_pass, args=(server, client, None), daemon=True)
        back.start()
        _pass(client, server, proxy.passed)
        back.join()


def _pass(source: socket.socket, sink: socket.socket, kept: bytearray | None) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            if kept is not None:
                kept += data
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
