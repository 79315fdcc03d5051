"""HTTP/1.1 on both sides of the gateway: h11 over asyncio streams, nothing forwarded unparsed.

Every message is parsed by h11 and written anew, so framing is decided here and never by a guest:
one request a connection, hop-by-hop fields dropped, `content-length` and `transfer-encoding` never
both, no upgrade, no tunnel. Errors carry no header value.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Final

import h11

Headers = list[tuple[bytes, bytes]]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

READ_BYTES: Final = 64 * 1024
_HEAD_BYTES: Final = 64 * 1024
_HOP_BY_HOP: Final = frozenset(
    (
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    )
)
_REFUSED_METHODS: Final = frozenset((b"CONNECT", b"TRACE"))


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds. `response_head` is long because a model may think before its first byte."""

    request_head: float = 30.0
    request_body: float = 60.0
    connect: float = 15.0
    response_head: float = 600.0
    idle: float = 300.0
    linger: float = 1.0


class GuestGone(Exception):
    """The guest closed its connection; what was done for it is dropped."""


class BadRequest(Exception):
    """The guest broke HTTP. `status` is what it is answered."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class UpstreamFailed(Exception):
    """The destination could not be reached or broke off. `timed_out` tells silence from refusal."""

    def __init__(self, reason: str, *, timed_out: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.timed_out = timed_out


def end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The fields that travel on: hop-by-hop ones and those `connection` names are left out."""
    fields = list(headers)
    named = {
        option.strip().lower()
        for name, value in fields
        if name == b"connection"
        for option in value.split(b",")
    }
    drops = _HOP_BY_HOP | named
    return [(name, value) for name, value in fields if name not in drops]


class GuestConnection:
    """The guest's side of one exchange."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, timeouts: Timeouts
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._timeouts = timeouts
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_BYTES)
        self.answered = False

    async def request(self) -> h11.Request:
        """The one request of this connection. Raises BadRequest, GuestGone or TimeoutError."""
        event = await self._next(self._timeouts.request_head)
        if not isinstance(event, h11.Request):
            raise GuestGone
        if event.http_version != b"1.1":
            raise BadRequest(505, "only HTTP/1.1 is spoken here")
        if event.method in _REFUSED_METHODS:
            raise BadRequest(501, "the method is not passed on")
        names = [name for name, _ in event.headers]
        if b"transfer-encoding" in names and b"content-length" in names:
            raise BadRequest(400, "content-length beside transfer-encoding")
        return event

    async def body(self) -> AsyncIterator[bytes]:
        """The request's body in pieces. Raises as `request` does."""
        while True:
            event = await self._next(self._timeouts.request_body)
            if isinstance(event, h11.Data):
                yield bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                return
            else:
                raise GuestGone

    async def whole_body(self, limit: int) -> bytes:
        """The request's body at once. Raises BadRequest with 413 past `limit` bytes."""
        held = bytearray()
        async for piece in self.body():
            held += piece
            if len(held) > limit:
                raise BadRequest(413, f"a request to a gateway is at most {limit} bytes")
        return bytes(held)

    async def gone(self) -> None:
        """Returns when the guest closes, or sends more than its one request."""
        if not self._http.trailing_data[0]:
            try:
                await self._reader.read(1)
            except OSError:
                return

    async def answer(self, status: int, headers: Headers) -> None:
        """Writes the response's head. Raises GuestGone."""
        self.answered = True
        head = h11.Response(status_code=status, headers=[*headers, (b"connection", b"close")])
        await self._write(self._http.send(head))

    async def send(self, data: bytes) -> None:
        """Writes a piece of the response's body. Raises GuestGone."""
        await self._write(self._http.send(h11.Data(data=data)))

    async def finish(self, trailers: Headers) -> None:
        """Ends the response. Trailers are written only where the framing carries them."""
        try:
            data = self._http.send(h11.EndOfMessage(headers=trailers))
        except h11.LocalProtocolError:
            data = self._http.send(h11.EndOfMessage())
        await self._write(data)

    async def refuse(self, status: int, kind: str, reason: str) -> None:
        """Answers in the gateway's own name, or cuts the connection where it is too late."""
        if self.answered or self._http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.abort()
            return
        body = f"murmur gateway: {reason}\n".encode()
        await self.answer(
            status,
            [
                (b"content-type", b"text/plain; charset=utf-8"),
                (b"content-length", str(len(body)).encode()),
                (b"murmur-gateway", kind.encode()),
            ],
        )
        await self.send(body)
        await self.finish([])

    def abort(self) -> None:
        """Cuts the connection, so that the guest never takes a broken body for a whole one."""
        self._writer.transport.abort()

    async def close(self) -> None:
        """Closes in order. Unread request bytes are taken in: a reset would eat the answer."""
        try:
            if self._http.their_state is h11.SEND_BODY and not self._writer.transport.is_closing():
                self._writer.write_eof()
                async with asyncio.timeout(self._timeouts.linger):
                    while await self._reader.read(READ_BYTES):
                        pass
        except (OSError, TimeoutError):
            pass
        self._writer.close()
        try:
            async with asyncio.timeout(self._timeouts.linger):
                await self._writer.wait_closed()
        except (OSError, TimeoutError):
            self.abort()

    async def _next(self, seconds: float) -> object:
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as failure:
                raise BadRequest(failure.error_status_hint, "no well-formed request") from None
            if event is not h11.NEED_DATA:
                return event
            if self._http.they_are_waiting_for_100_continue:
                go_on = h11.InformationalResponse(status_code=100, headers=[])
                await self._write(self._http.send(go_on))
            try:
                async with asyncio.timeout(seconds):
                    data = await self._reader.read(READ_BYTES)
            except OSError:
                raise GuestGone from None
            if not data and self._http.their_state is h11.IDLE:
                raise GuestGone
            self._http.receive_data(data)

    async def _write(self, data: bytes | None) -> None:
        if not data:
            return
        try:
            self._writer.write(data)
            async with asyncio.timeout(self._timeouts.idle):
                await self._writer.drain()
        except (OSError, TimeoutError):
            raise GuestGone from None


class UpstreamConnection:
    """The destination's side of one exchange, over an open connection.

    `origin` stands before every path and `added` among the fields of a request that a proxy takes.
    """

    def __init__(
        self,
        streams: Streams,
        timeouts: Timeouts,
        *,
        origin: bytes = b"",
        added: Headers | None = None,
    ) -> None:
        self._reader, self._writer = streams
        self._timeouts = timeouts
        self._origin = origin
        self._added = added or []
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD_BYTES)

    async def send_head(self, method: bytes, path: bytes, headers: Headers) -> None:
        """Writes the request's head. Raises UpstreamFailed, or BadRequest that quotes nothing."""
        try:
            fields = [*headers, *self._added]
            head = h11.Request(method=method, target=self._origin + path, headers=fields)
            data = self._http.send(head)
        except h11.LocalProtocolError:
            # h11 quotes the offending value, which may be the credential.
            raise BadRequest(400, "a request head that HTTP/1.1 cannot carry") from None
        await self._write(data)

    async def send(self, data: bytes) -> None:
        """Writes a piece of the request's body. Raises UpstreamFailed."""
        try:
            encoded = self._http.send(h11.Data(data=data))
        except h11.LocalProtocolError:
            raise UpstreamFailed("the connection broke off") from None
        await self._write(encoded)

    async def finish(self) -> None:
        """Ends the request. Raises UpstreamFailed."""
        try:
            encoded = self._http.send(h11.EndOfMessage())
        except h11.LocalProtocolError:
            raise UpstreamFailed("the connection broke off") from None
        await self._write(encoded)

    async def response(self) -> h11.Response:
        """The response's head; informational ones are passed over. Raises UpstreamFailed."""
        while True:
            event = await self._next(self._timeouts.response_head)
            if isinstance(event, h11.Response):
                return event
            if not isinstance(event, h11.InformationalResponse):
                raise UpstreamFailed("the connection was closed before a response")

    async def body(self) -> AsyncIterator[bytes | Headers]:
        """The body in pieces as they arrive, and last its trailers. Raises UpstreamFailed."""
        while True:
            event = await self._next(self._timeouts.idle)
            if isinstance(event, h11.Data):
                yield bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                yield list(event.headers)
                return
            else:
                raise UpstreamFailed("the connection was closed within the response")

    def close(self) -> None:
        """Drops the connection at once: it carries one exchange, so nothing is left to say."""
        self._writer.transport.abort()

    async def _next(self, seconds: float) -> object:
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError:
                raise UpstreamFailed("the response is cut short or no well-formed HTTP") from None
            if event is not h11.NEED_DATA:
                return event
            try:
                async with asyncio.timeout(seconds):
                    data = await self._reader.read(READ_BYTES)
            except TimeoutError:
                raise UpstreamFailed(f"nothing came for {seconds:g} s", timed_out=True) from None
            except OSError:
                raise UpstreamFailed("the connection was reset") from None
            self._http.receive_data(data)

    async def _write(self, data: bytes | None) -> None:
        if not data:
            return
        try:
            self._writer.write(data)
            async with asyncio.timeout(self._timeouts.idle):
                await self._writer.drain()
        except TimeoutError:
            raise UpstreamFailed("the request was not taken in time", timed_out=True) from None
        except OSError:
            raise UpstreamFailed("the connection was reset") from None
