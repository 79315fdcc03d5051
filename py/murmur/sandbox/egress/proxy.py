"""Carries a session's TCP connections to what is listed. spec/containment.md 17.2 and 17.4.

Inside the namespace every address is local, so the address that an accepted connection was made to
is where the command wanted to go. TLS and all else passes through as it is.
"""

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from murmur.sandbox.egress.reach import Reach
from murmur.sandbox.egress.splicing import Carriage, Pipes, reset_on_close

_ACCEPTED_A_TURN: Final = 16

Dialer = Callable[[ipaddress.IPv4Address, int], Awaitable[socket.socket]]
"""Connects to one address; the socket is non-blocking. Raises OSError."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Seconds and numbers of spec/containment.md 17.4. `pause` is how long nothing is accepted
    after the process has run out of descriptors."""

    connect: float = 15.0
    idle: float = 300.0
    connections: int = 128
    pause: float = 0.2


async def dial(address: ipaddress.IPv4Address, port: int) -> socket.socket:
    """The real Dialer."""
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        await asyncio.get_running_loop().sock_connect(connection, (str(address), port))
    except BaseException:
        connection.close()
        raise
    return connection


class Proxy:
    """Serves listeners on the running loop, until `close`.

    `launched` is done once the listed names have been resolved for the launch; a connection that
    only their addresses could admit waits for it. Connections beyond the bound wait unaccepted.
    """

    def __init__(
        self,
        listeners: Sequence[socket.socket],
        reach: Reach,
        launched: "asyncio.Future[None]",
        dialer: Dialer = dial,
        bounds: Bounds | None = None,
    ) -> None:
        self._listeners = tuple(listeners)
        self._reach = reach
        self._launched = launched
        self._dialer = dialer
        self._bounds = bounds or Bounds()
        self._loop = asyncio.get_running_loop()
        self._pipes = Pipes()
        self._carrying: set[asyncio.Task[None]] = set()
        self._pause: asyncio.TimerHandle | None = None
        self._accepting = False
        for listener in self._listeners:
            listener.setblocking(False)
        self._accept()

    async def close(self) -> None:
        """Drops every connection; afterwards no descriptor of them is left."""
        self._stop_accepting()
        if self._pause is not None:
            self._pause.cancel()
        for listener in self._listeners:
            listener.close()
        for task in self._carrying:
            task.cancel()
        await asyncio.gather(*self._carrying, return_exceptions=True)
        self._pipes.close()

    def _accept(self) -> None:
        self._pause = None
        self._accepting = True
        for listener in self._listeners:
            self._loop.add_reader(listener, self._acceptable, listener)

    def _stop_accepting(self) -> None:
        self._accepting = False
        for listener in self._listeners:
            self._loop.remove_reader(listener)

    def _acceptable(self, listener: socket.socket) -> None:
        for _ in range(_ACCEPTED_A_TURN):
            if len(self._carrying) >= self._bounds.connections:
                return self._stop_accepting()
            try:
                client, _ = listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return None
            except OSError:  # no descriptor or no memory: the client waits, the loop does not spin
                self._stop_accepting()
                self._pause = self._loop.call_later(self._bounds.pause, self._accept)
                return None
            task = self._loop.create_task(self._serve(client))
            self._carrying.add(task)
            task.add_done_callback(self._ended)
        return None

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._carrying.discard(task)
        # A cancelled one is close()'s doing.
        if not self._accepting and self._pause is None and not task.cancelled():
            self._accept()

    async def _serve(self, client: socket.socket) -> None:
        with client:
            client.setblocking(False)
            with contextlib.suppress(OSError):
                host, port = client.getsockname()
                address = ipaddress.IPv4Address(host)
                if await self._admits(address, port):
                    await self._carry(client, address, port)

    async def _admits(self, address: ipaddress.IPv4Address, port: int) -> bool:
        if self._reach.admits(address, port):
            return True
        await asyncio.wait({self._launched})
        return self._reach.admits(address, port)

    async def _carry(
        self, client: socket.socket, address: ipaddress.IPv4Address, port: int
    ) -> None:
        try:
            async with asyncio.timeout(self._bounds.connect):
                outward = await self._dialer(address, port)
        except OSError:  # TimeoutError is one
            reset_on_close(client)
            return
        with outward:
            for each in (client, outward):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            carriage = Carriage(client, outward, self._pipes, self._bounds.idle)
            try:
                await carriage.ended
            finally:
                carriage.stop()
