"""The loopback MCP server through which a harness reaches the capsule's tools.

spec/artifacts.md 13.5. It listens in the harness's own network and is served by the session's event
loop; a call of a tool is handed to the worker thread, which makes one after the other, and the
answer handed back. A run has a token of its own: without a run under way, nobody is let in.
"""

import asyncio
import base64
import dataclasses
import hmac
import json
import secrets
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final

import h11

from murmur.core.foreign_json import read_json
from murmur.core.version import VERSION
from murmur.session.harness.contract import Bridge
from murmur.session.inventory import Tool

SERVER_NAME: Final = "claude_bridge"
PATH: Final = "/bridge"

_PROTOCOL: Final = "2024-11-05"
_LARGEST_BODY: Final = 16 << 20
_HELD_BYTES: Final = 32 << 20
"""Of all bodies together, until each is answered."""
_READ_S: Final = 30.0
_WRITE_S: Final = 30.0
_MOST_CONNECTIONS: Final = 32
_CHUNK: Final = 1 << 16
_NOT_FOUND: Final = -32601
_BAD_PARAMS: Final = -32602


@dataclasses.dataclass(frozen=True, slots=True)
class Image:
    """An image of a result."""

    media_type: str
    data: bytes


@dataclasses.dataclass(frozen=True, slots=True)
class Answered:
    """What a call of a tool gave, as the harness is told."""

    text: str
    is_error: bool
    images: tuple[Image, ...] = ()

    def value(self) -> dict[str, Any]:
        content: list[dict[str, Any]] = [{"type": "text", "text": self.text}]
        content += [
            {
                "type": "image",
                "data": base64.b64encode(each.data).decode("ascii"),
                "mimeType": each.media_type,
            }
            for each in self.images
        ]
        return {"content": content, "isError": self.is_error}


@dataclasses.dataclass(frozen=True, slots=True)
class BridgeCall:
    """One call that waits for the worker to make it."""

    name: str
    arguments: Mapping[str, Any]
    answer: "Future[Answered]"


Post = Callable[[BridgeCall], None]
"""Hands a call to the worker thread. Called on the event loop."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Run:
    """The run that is under way."""

    token: str
    post: Post
    waiting: "set[Future[Answered]]"


class ToolBridge:
    """The bridge of one session. Made on its event loop; `open` and `shut` are the worker's."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = [_declaration(tool) for tool in tools]
        self._names = tuple(tool.name for tool in tools)
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._run: _Run | None = None
        self._server: asyncio.Server | None = None
        self._port = 0
        self._connections: set[asyncio.Task[None]] = set()
        self._held = 0

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    def serve(self, listener: socket.socket) -> None:
        """Takes over the listener. The worker's; waits until the loop serves it."""
        self._port = listener.getsockname()[1]
        asyncio.run_coroutine_threadsafe(self._start(listener), self._loop).result()

    @property
    def served(self) -> bool:
        return self._port != 0

    def open(self, post: Post) -> Bridge:
        """Lets a run in, whose calls go to `post`."""
        token = secrets.token_hex(16)
        with self._lock:
            self._run = _Run(token, post, set())
        url = f"http://127.0.0.1:{self._port}{PATH}"
        return Bridge(SERVER_NAME, url, token, self._names)

    def shut(self) -> None:
        """The run is over: its token is worth nothing, and calls that still wait are refused."""
        with self._lock:
            run, self._run = self._run, None
        if run is not None:
            for each in tuple(run.waiting):
                if not each.done():
                    each.set_result(Answered("the run is over", is_error=True))

    def close(self) -> None:
        """Stops serving. From any thread but the loop's; on the loop it is only begun."""
        self.shut()
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        if self._server is not None:
            self._server.close()
        for each in self._connections:
            each.cancel()

    async def _start(self, listener: socket.socket) -> None:
        listener.setblocking(False)
        self._server = await asyncio.start_server(self._connected, sock=listener)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._connections) >= _MOST_CONNECTIONS:
            writer.transport.abort()
            return
        self._connections.add(task)
        try:
            await self._serve(reader, writer)
        except (OSError, TimeoutError, h11.LocalProtocolError, asyncio.CancelledError):
            pass  # whoever asked is gone, or the session is
        finally:
            self._connections.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request of one connection, which ends with its answer."""
        wire = h11.Connection(h11.SERVER)
        body = bytearray()
        try:
            async with asyncio.timeout(_READ_S):
                asked = await self._request(wire, reader, writer, body)
            status, headers, answer = await self._answer(asked, bytes(body))
        except h11.RemoteProtocolError as bad:
            status, headers, answer = bad.error_status_hint, [], b""
        finally:
            self._held -= len(body)
        fields = [
            ("content-length", str(len(answer))),
            ("connection", "close"),
            *([("content-type", "application/json")] if answer else []),
            *headers,
        ]
        data = [
            wire.send(h11.Response(status_code=status, headers=fields)),
            wire.send(h11.Data(data=answer)) if answer else b"",
            wire.send(h11.EndOfMessage()),
        ]
        writer.write(b"".join(part for part in data if part))
        async with asyncio.timeout(_WRITE_S):
            await writer.drain()

    async def _request(
        self,
        wire: h11.Connection,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        body: bytearray,
    ) -> h11.Request:
        """The request's head; its body is put into `body`. Raises h11.RemoteProtocolError."""
        asked: h11.Request | None = None
        while True:
            event = wire.next_event()
            if event is h11.NEED_DATA:
                if wire.they_are_waiting_for_100_continue:
                    go_on = wire.send(h11.InformationalResponse(status_code=100, headers=[]))
                    writer.write(go_on or b"")
                wire.receive_data(await reader.read(_CHUNK))
            elif isinstance(event, h11.Request):
                asked = event
            elif isinstance(event, h11.Data):
                body += event.data
                self._held += len(event.data)
                if len(body) > _LARGEST_BODY:
                    raise h11.RemoteProtocolError("the body is too large", error_status_hint=413)
                if self._held > _HELD_BYTES:
                    raise h11.RemoteProtocolError("too much waits", error_status_hint=503)
            elif isinstance(event, h11.EndOfMessage) and asked is not None:
                return asked
            else:
                raise h11.RemoteProtocolError("no request came")

    async def _answer(
        self, asked: h11.Request, body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        with self._lock:
            run = self._run
        if asked.target.split(b"?", 1)[0] != PATH.encode():
            return 404, [], b""
        if asked.method != b"POST":
            return 405, [("allow", "POST")], b""
        if run is None or not _authorized(asked, run.token):
            return 401, [("www-authenticate", "Bearer")], b""
        try:
            message = read_json(body)
        except ValueError:
            return 400, [], b""
        if not isinstance(message, dict):
            return 400, [], b""
        if message.get("id") is None:
            return 202, [], b""
        if not isinstance(message["id"], str | int | float):
            return 400, [], b""
        result, failure = await self._method(run, message)
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        answer |= {"result": result} if failure is None else {"error": failure}
        headers = []
        if message.get("method") == "initialize":
            headers.append(("mcp-session-id", secrets.token_hex(16)))
        text = json.dumps(answer, separators=(",", ":"), ensure_ascii=False)
        return 200, headers, text.encode("utf-8", "replace")

    async def _method(
        self, run: _Run, message: Mapping[str, Any]
    ) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """(result, error) of one JSON-RPC request."""
        method, given = message.get("method"), message.get("params")
        params = given if isinstance(given, dict) else {}
        if method == "initialize":
            version = params.get("protocolVersion")
            return {
                "protocolVersion": version if isinstance(version, str) else _PROTOCOL,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": SERVER_NAME, "version": VERSION},
            }, None
        if method == "tools/list":
            return {"tools": self._tools}, None
        if method != "tools/call":
            return None, {"code": _NOT_FOUND, "message": f"there is no method {method!r}"}
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str) or not isinstance(arguments, dict | None):
            reason = "params.name is a text, and params.arguments an object"
            return None, {"code": _BAD_PARAMS, "message": reason}
        return (await self._call(run, name, arguments or {})).value(), None

    async def _call(self, run: _Run, name: str, arguments: Mapping[str, Any]) -> Answered:
        answer: Future[Answered] = Future()
        run.waiting.add(answer)
        try:
            with self._lock:
                if self._run is not run:
                    return Answered("the run is over", is_error=True)
                run.post(BridgeCall(name, arguments, answer))
            return await asyncio.wrap_future(answer)
        finally:
            run.waiting.discard(answer)


def _declaration(tool: Tool) -> dict[str, Any]:
    row: dict[str, Any] = {"name": tool.name, "inputSchema": tool.schema}
    if tool.description:
        row["description"] = tool.description
    return row


def _authorized(asked: h11.Request, token: str) -> bool:
    given = next((value for name, value in asked.headers if name == b"authorization"), b"")
    return hmac.compare_digest(given, f"Bearer {token}".encode())
