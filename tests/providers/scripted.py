"""The part that both provider servers share: a script, a request log, HTTP/1.1 in threads.

A turn of a script is a mapping with any of

| key | meaning |
|---|---|
| `text`, `thinking` | what the model says, streamed in pieces |
| `tool_calls` | list of `{name, input, id?}`; `arguments` instead of `input` is sent as raw text |
| `namespace` | Responses: which group of tools the calls are of, as an MCP server's are |
| `stop` | the provider's own stop signal; None leaves it out; by default what the turn amounts to |
| `usage` | the provider's own usage object |
| `piece` | characters a delta (default 5) |
| `delay_ms` | pause before each event |
| `stream` | False: answer with one JSON object although streaming was asked for |
| `status`, `body` | an HTTP error with that JSON body instead |
| `headers` | header fields besides, of an error too |
| `refuse` | the provider declines to answer, in its own way |
| `events` | raw events (JSON objects, or text sent as it is) instead of all of the above |
| `drip` | bytes a write: events and lines arrive in pieces |
| `break_after` | close the connection after that many events, without the chunked body's end |

A turn may also be a function of the request that it answers, which gives such a mapping.
"""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Protocol

Turn = Mapping[str, Any]
Scripted = Turn | Callable[["SeenRequest"], Turn]
Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """One request as it arrived: header names in lower case, the body parsed from JSON."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


class Format(Protocol):
    """What tells one provider's wire format from another's."""

    named_events: bool
    """Whether an event carries an `event:` line."""
    done: str | None
    """A closing data line."""

    def handles(self, path: str) -> bool:
        """Whether the provider answers at that path."""

    def key_of(self, headers: Mapping[str, str]) -> str | None:
        """The key that a request carries."""

    def events(self, turn: Turn, request: SeenRequest) -> Iterable[Event | str]:
        """A turn as a stream."""

    def whole(self, turn: Turn, request: SeenRequest) -> Event:
        """A turn as one object."""

    def error(self, kind: str, message: str) -> Event:
        """A provider error as one object."""

    def problem(self, body: Mapping[str, Any]) -> str | None:
        """What the provider would refuse a request for, with status 400."""


@dataclass
class Server:
    """A running server. `key` may be changed while it runs; None accepts every request."""

    url: str
    key: str | None
    requests: list[SeenRequest]
    _http: ThreadingHTTPServer
    _thread: threading.Thread

    def stop(self) -> None:
        """Stop serving; requests under way are dropped."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def start(
    provider: Format,
    prefix: str,
    script: Sequence[Scripted],
    key: str | None,
    tls: ssl.SSLContext | None = None,
) -> Server:
    """Serve a script on a free loopback port; over TLS as `localhost`."""
    state = _State(provider, list(script))
    http = _Http(("127.0.0.1", 0), _Handler)
    http.state = state
    thread = threading.Thread(target=http.serve_forever, args=(0.05,), daemon=True)
    origin = "http://127.0.0.1"
    if tls is not None:
        http.socket = tls.wrap_socket(http.socket, server_side=True, do_handshake_on_connect=False)
        origin = "https://localhost"
    url = f"{origin}:{http.server_address[1]}{prefix}"
    server = Server(url, key, state.requests, http, thread)
    state.server = server
    thread.start()
    return server


@dataclass
class _State:
    provider: Format
    script: list[Scripted]
    requests: list[SeenRequest] = field(default_factory=list)
    server: Server | None = None
    answered: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next_turn(self, request: SeenRequest) -> Turn | None:
        with self.lock:
            turn = self.script[self.answered] if self.answered < len(self.script) else None
            self.answered += 1
        return turn(request) if callable(turn) else turn


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    state: _State


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Small writes: Nagle's algorithm would hold each back until the last is acknowledged.
    disable_nagle_algorithm = True
    server: _Http

    def do_POST(self) -> None:
        state = self.server.state
        headers = {name.lower(): value for name, value in self.headers.items()}
        text = self._read_body(headers)
        try:
            body = json.loads(text)
        except ValueError:
            body = None
        request = SeenRequest("POST", self.path, headers, body)
        state.requests.append(request)
        provider = state.provider
        if not provider.handles(self.path):
            self._whole(404, provider.error("not_found_error", f"no such path: {self.path}"))
            return
        key = state.server.key if state.server else None
        if key is not None and provider.key_of(headers) != key:
            self._whole(401, provider.error("authentication_error", "invalid key"))
            return
        if not isinstance(body, dict):
            self._whole(400, provider.error("invalid_request_error", "the body is no JSON object"))
            return
        problem = provider.problem(body)
        if problem is not None:
            self._whole(400, provider.error("invalid_request_error", problem))
            return
        turn = state.next_turn(request)
        if turn is None:
            self._whole(500, provider.error("api_error", "the test's script is exhausted"))
        elif "status" in turn:
            body = turn.get("body", provider.error("api_error", "scripted"))
            self._whole(turn["status"], body, turn.get("headers", {}))
        elif body.get("stream") and turn.get("stream", True):
            self._stream(turn, provider, request)
        else:
            self._whole(200, provider.whole(turn, request))

    def _read_body(self, headers: Mapping[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(headers.get("content-length", "0")))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _whole(self, status: int, value: object, headers: Mapping[str, str] | None = None) -> None:
        text = json.dumps(value).encode()
        self.send_response(status)
        for name, field_value in (headers or {}).items():
            self.send_header(name, field_value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _stream(self, turn: Turn, provider: Format, request: SeenRequest) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        events = turn.get("events") or provider.events(turn, request)
        for sent, event in enumerate(events):
            if sent == turn.get("break_after", -1):
                self.close_connection = True
                return
            time.sleep(turn.get("delay_ms", 0) / 1000)
            if isinstance(event, str):
                self._chunks(event, turn)
                continue
            name = f"event: {event.get('type')}\n" if provider.named_events else ""
            self._chunks(f"{name}data: {json.dumps(event)}\n\n", turn)
        if provider.done is not None:
            self._chunks(f"data: {provider.done}\n\n", turn)
        self.wfile.write(b"0\r\n\r\n")

    def _chunks(self, text: str, turn: Turn) -> None:
        data = text.encode()
        size = turn.get("drip", len(data))
        for at in range(0, len(data), size):
            piece = data[at : at + size]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Silence: the log is `requests`."""


def pieces(text: str, turn: Turn) -> list[str]:
    """Text cut the way a model streams it."""
    size = turn.get("piece", 5)
    return [text[at : at + size] for at in range(0, len(text), size)]


def calls_of(turn: Turn, index: int, prefix: str) -> list[tuple[str, str, str]]:
    """A turn's tool calls as (id, name, arguments as JSON text)."""
    calls = []
    for number, call in enumerate(turn.get("tool_calls", ())):
        arguments = call.get("arguments", json.dumps(call.get("input", {})))
        calls.append((call.get("id", f"{prefix}{index}_{number}"), call["name"], arguments))
    return calls
