"""One connection of the door: one request, in bounded time. spec/door.md 3."""

import asyncio
from typing import Any, Final

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

READ_SECONDS: Final = 30.0


class StreamUntilClose(h11.Connection):
    """An h11 connection that writes an event stream's body as it is, not in chunks.

    The stream ends with the connection, and a client must be able to tell: its head says
    `connection: keep-alive`, and one that saw the last chunk would use the connection again.
    """

    streaming = False

    def send(self, event: h11.Event) -> bytes | None:  # type: ignore[override]
        output = super().send(event)
        if isinstance(event, h11.Response):
            self.streaming = (b"content-type", b"text/event-stream") in list(event.headers)
            return _head(event) if self.streaming else output
        if self.streaming and isinstance(event, h11.Data):
            return bytes(event.data)
        if self.streaming and isinstance(event, h11.EndOfMessage):
            return b""
        return output


def _head(response: h11.Response) -> bytes:
    lines = [b"HTTP/1.1 %d %b" % (response.status_code, response.reason)]
    lines += [b"%b: %b" % (name, value) for name, value in response.headers]
    return b"\r\n".join([*lines, b"", b""])


class DoorConnection(H11Protocol):
    """uvicorn's HTTP/1.1 protocol, with a limit on how long a request may take to arrive, and
    closed after its one response.

    A header that HTTP forbids (a garbled `content-length`) is answered 400 by h11 and never reaches
    the door.
    """

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.conn = StreamUntilClose(h11.SERVER)
        self._read_limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._read_limit = self.loop.call_later(READ_SECONDS, self.cut)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lift_read_limit()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if self.conn.their_state is not h11.SEND_BODY and self.cycle is not None:
            self._lift_read_limit()

    def eof_received(self) -> bool:  # type: ignore[override]
        """A client that has sent its whole request and will send no more still gets its answer.

        A stream has no end to wait for: there it looks like a client that left, and is taken so.
        """
        whole = self.conn.their_state in (h11.DONE, h11.MUST_CLOSE, h11.CLOSED)
        answering = self.cycle is not None and not self.cycle.response_complete
        streaming = isinstance(self.conn, StreamUntilClose) and self.conn.streaming
        return whole and answering and not streaming

    def on_response_complete(self) -> None:
        self._lift_read_limit()
        self.transport.close()

    def cut(self) -> None:
        """Ends the connection at once."""
        if self.transport is not None:
            self.transport.abort()

    def _lift_read_limit(self) -> None:
        if self._read_limit is not None:
            self._read_limit.cancel()
            self._read_limit = None
