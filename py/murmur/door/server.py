"""The door's server: an already bound socket, served inside the runtime's own event loop.

uvicorn's HTTP protocol is used without uvicorn's `Server`, which would take over the process's
signals and tick ten times a second; those are the session's business. spec/door.md 2, 3.
"""

import asyncio
import socket as sockets
from typing import Any, Final

from uvicorn.config import Config
from uvicorn.server import ServerState

from murmur.core.tasks import TaskBoard
from murmur.door.app import DoorApp
from murmur.door.card import CardFacts
from murmur.door.connection import DoorConnection
from murmur.door.control import ControlSurface
from murmur.door.planes import Planes
from murmur.door.tokens import DoorTokens

DRAIN_SECONDS: Final = 0.5


class DoorServer:
    """Serves `board` on a listening socket, which it owns from then on.

    With `tokens` the door is authenticated, and `card.authenticated` must say so; else ValueError.
    All methods belong to one event loop.
    """

    def __init__(
        self,
        board: TaskBoard,
        card: CardFacts,
        socket: sockets.socket,
        tokens: DoorTokens | None = None,
        planes: Planes | None = None,
        control: ControlSurface | None = None,
        beside: sockets.socket | None = None,
    ) -> None:
        """`beside` is a second listening socket, owned like the first."""
        self._app = DoorApp(board, card, tokens, planes, control)
        self._planes = planes
        self._sockets = [socket] if beside is None else [socket, beside]
        self._state = ServerState()
        self._servers: list[asyncio.Server] = []
        self._closed = asyncio.Event()

    @property
    def closed(self) -> bool:
        return self._closed.is_set()

    @property
    def open_streams(self) -> int:
        """How many event streams are being written."""
        return self._app.calls.open_streams

    async def start(self) -> None:
        """Returns once requests are being answered."""
        config = Config(
            self._app,
            http=DoorConnection,
            ws="none",
            lifespan="off",
            interface="asgi3",
            loop="none",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            # Said here, or uvicorn would read them from the environment.
            workers=1,
            forwarded_allow_ips="",
            server_header=False,
        )
        config.load()
        loop = asyncio.get_running_loop()
        no_state: dict[str, Any] = {}
        for socket in self._sockets:
            server = await loop.create_server(
                lambda: DoorConnection(config, self._state, no_state, loop), sock=socket
            )
            self._servers.append(server)

    async def serve(self) -> None:
        """Starts, and returns once `close` is done."""
        if not self._servers:
            await self.start()
        await self._closed.wait()

    async def close(self) -> None:
        """Stops listening, ends the streams, gives open connections half a second, cuts the rest.

        Calling it again does nothing.
        """
        if self._closed.is_set():
            return
        for server in self._servers:
            server.close()
        for socket in self._sockets:
            socket.close()
        if self._planes is not None:
            self._planes.close()
        self._app.calls.end_streams()
        await self._drain()
        for connection in tuple(self._state.connections):
            if isinstance(connection, DoorConnection):
                connection.cut()
        if self._state.tasks:
            await asyncio.wait(self._state.tasks, timeout=DRAIN_SECONDS)
        self._closed.set()

    async def _drain(self) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + DRAIN_SECONDS
        while self._state.connections and loop.time() < deadline:
            await asyncio.sleep(0.01)
