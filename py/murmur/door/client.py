"""Calling a capsule's door, as the commands do: one request a connection, no web framework.

spec/door.md 21. Only the standard library is imported: `mur ps` must start at once.
"""

import contextlib
import http.client
import json
import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from murmur.core.tasks import TaskState
from murmur.door import extensions, methods, paths

CALL_SECONDS: Final = 10.0
PROBE_SECONDS: Final = 3.0

_LARGEST_ANSWER: Final = 64 << 20
_LARGEST_LINE: Final = 256 << 20
_ADDRESS: Final = re.compile(
    r"(?:http://)?(?P<host>\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_.-]{1,254}):(?P<port>[0-9]{1,5})/?"
)
# A record says `localhost` whatever the door is bound to. IPv4 first, as the door is by default:
# another user's program may listen on the same port of ::1, and must not be sent a token.
_LOCALHOST: Final = ("127.0.0.1", "::1")


class DoorSilent(Exception):
    """The door did not answer, or answered what no door says."""


class DoorRefused(Exception):
    """An answer outside JSON-RPC: `status`, and what its body says."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"HTTP {status}: {message}" if message else f"HTTP {status}")
        self.status = status
        self.message = message


class RpcRefused(Exception):
    """A JSON-RPC error; `metadata` is that of its google.rpc.ErrorInfo."""

    def __init__(self, code: int, message: str, metadata: Mapping[str, str]) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.metadata = metadata


@dataclass(frozen=True, slots=True)
class Answer:
    """A plain HTTP answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event of a stream: its number, if it has one, and the JSON-RPC result it carries."""

    id: int | None
    result: Mapping[str, Any]


def parse_address(text: str) -> tuple[str, int] | None:
    """Host and port of `host:port`, an `http://` in front allowed; None for anything else."""
    match = _ADDRESS.fullmatch(text)
    if match is None or not 0 < int(match["port"]) < 65536:
        return None
    return match["host"].strip("[]"), int(match["port"])


class DoorClient:
    """One door. `token` goes out as `Authorization: Bearer` with every request but the card's."""

    def __init__(self, host: str, port: int, token: str | None = None) -> None:
        self._host = host
        self._port = port
        self._token = token

    @property
    def address(self) -> str:
        """`host:port`, as a URL spells it."""
        return f"[{self._host}]:{self._port}" if ":" in self._host else f"{self._host}:{self._port}"

    def session_of_card(self, seconds: float = PROBE_SECONDS) -> str | None:
        """The session that the agent card names: the extended card with a token, else the public.

        None for a card that names none. Raises DoorSilent, DoorRefused or RpcRefused.
        """
        if self._token is None:
            card = _json(self.request("GET", paths.CARD, seconds=seconds, expect=200))
        else:
            card = self.call(methods.GET_EXTENDED_AGENT_CARD, {}, seconds=seconds)
        return _session_id(card)

    def call(
        self, method: str, params: Mapping[str, object], seconds: float = CALL_SECONDS
    ) -> dict[str, Any]:
        """The result of one method. Raises DoorSilent, DoorRefused or RpcRefused."""
        with self._rpc(method, params, {}, seconds) as exchange:
            return _result(_json(exchange.read()))

    def watch(self, after: int) -> "Watching":
        """Follows the whole session, from the events after `after`. Raises as `call`."""
        headers = {extensions.HEADER: extensions.STREAM, "last-event-id": str(after)}
        exchange = self._rpc(methods.WATCH_SESSION, {}, headers, CALL_SECONDS)
        if exchange.response.headers.get_content_type() != "text/event-stream":
            with exchange:
                _result(_json(exchange.read()))
            raise DoorSilent("it answered no event stream")
        exchange.wire.settimeout(None)
        return Watching(exchange)

    def request(
        self,
        verb: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        seconds: float = CALL_SECONDS,
        expect: int | None = None,
    ) -> Answer:
        """One plain request, without the door token. Raises DoorSilent, or DoorRefused for a
        status other than `expect`."""
        with self._send(verb, path, headers or {}, body, seconds) as exchange:
            answer = exchange.read()
        if expect is not None and answer.status != expect:
            raise DoorRefused(answer.status, said(answer))
        return answer

    def _rpc(
        self,
        method: str,
        params: Mapping[str, object],
        headers: Mapping[str, str],
        seconds: float,
    ) -> "_Exchange":
        sent = {"content-type": "application/json", "a2a-version": "1.0", **headers}
        if self._token is not None:
            sent["authorization"] = f"Bearer {self._token}"
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        exchange = self._send("POST", "/", sent, json.dumps(body).encode(), seconds)
        if exchange.response.status != 200:
            with exchange:
                answer = exchange.read()
            raise DoorRefused(answer.status, said(answer))
        return exchange

    def _send(
        self, verb: str, path: str, headers: Mapping[str, str], body: bytes | None, seconds: float
    ) -> "_Exchange":
        connection = http.client.HTTPConnection(self._host, self._port, timeout=seconds)
        try:
            wire = _connect(self._host, self._port, seconds)
            connection.sock = wire
            connection.request(verb, path, body, dict(headers))
            return _Exchange(wire, connection, connection.getresponse())
        except (OSError, http.client.HTTPException, ValueError) as failure:
            connection.close()
            raise DoorSilent(_why(failure)) from None


@dataclass(frozen=True, slots=True)
class _Exchange:
    """A request whose answer has begun. In `with`, what breaks the answer off is DoorSilent."""

    wire: socket.socket
    connection: http.client.HTTPConnection
    response: http.client.HTTPResponse

    def read(self) -> Answer:
        body = self.response.read(_LARGEST_ANSWER + 1)
        if len(body) > _LARGEST_ANSWER:
            raise DoorSilent("the answer is too long")
        headers = {name.lower(): value for name, value in self.response.getheaders()}
        return Answer(self.response.status, headers, body)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.response.close()
        self.connection.close()

    def __enter__(self) -> "_Exchange":
        return self

    def __exit__(self, kind: object, failure: BaseException | None, trace: object) -> None:
        self.close()
        if isinstance(failure, OSError | http.client.HTTPException):
            raise DoorSilent(_why(failure)) from None


class Watching:
    """An open stream: iterate over its events; it ends when the connection does."""

    def __init__(self, exchange: _Exchange) -> None:
        self._exchange = exchange

    def __iter__(self) -> Iterator[StreamEvent]:
        """Comments, heartbeats among them, and what cannot be read are passed over."""
        number: int | None = None
        data: list[bytes] = []
        while line := self._line():
            if line == b"\n":
                event = _stream_event(number, data)
                number, data = None, []
                if event is not None:
                    yield event
            elif line.startswith(b"data:"):
                data.append(line[5:].strip())
            elif line.startswith(b"id:"):
                text = line[3:].strip()
                number = int(text) if text.isdigit() and len(text) <= 20 else None

    def _line(self) -> bytes:
        """The next line without its carriage return; empty at the end, whatever ended it."""
        try:
            line = self._exchange.response.readline(_LARGEST_LINE)
        except (OSError, http.client.HTTPException):
            return b""
        # Half a line is no line: the connection broke off in it.
        return line.replace(b"\r\n", b"\n") if line.endswith(b"\n") else b""

    def close(self) -> None:
        self._exchange.close()


def _connect(host: str, port: int, seconds: float) -> socket.socket:
    """Raises OSError, the first host's when several were tried."""
    hosts = _LOCALHOST if host.lower() == "localhost" else (host,)
    first: OSError | None = None
    for each in hosts:
        try:
            return socket.create_connection((each, port), seconds)
        except OSError as failure:
            first = first or failure
    assert first is not None
    raise first


def _json(answer: Answer) -> dict[str, Any]:
    try:
        value = json.loads(answer.body)
    except (ValueError, RecursionError):
        raise DoorSilent("it answered no JSON") from None
    if not isinstance(value, dict):
        raise DoorSilent("it answered no JSON object")
    return value


def _result(envelope: Mapping[str, Any]) -> dict[str, Any]:
    """Raises RpcRefused for an error, DoorSilent for what is no response."""
    refused = envelope.get("error")
    if isinstance(refused, dict):
        code, message = refused.get("code"), refused.get("message")
        if isinstance(code, int) and isinstance(message, str):
            raise RpcRefused(code, message, _metadata(refused.get("data")))
    result = envelope.get("result")
    if not isinstance(result, dict):
        raise DoorSilent("it answered no JSON-RPC response")
    return result


def _metadata(data: object) -> Mapping[str, str]:
    for each in data if isinstance(data, list) else ():
        found = each.get("metadata") if isinstance(each, dict) else None
        if isinstance(found, dict):
            return {str(key): str(value) for key, value in found.items()}
    return {}


def _session_id(card: Mapping[str, Any]) -> str | None:
    """`sessionId` of the capsule extension; a card without interfaces is an older capsule's."""
    if not card.get("supportedInterfaces"):
        return None
    capabilities = card.get("capabilities")
    listed = capabilities.get("extensions") if isinstance(capabilities, dict) else None
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and each.get("uri") == extensions.CAPSULE:
            params = each.get("params")
            found = params.get("sessionId") if isinstance(params, dict) else None
            return found if isinstance(found, str) else None
    return None


def _stream_event(number: int | None, data: list[bytes]) -> StreamEvent | None:
    if not data:
        return None
    try:
        value = json.loads(b"\n".join(data))
    except (ValueError, RecursionError):
        return None
    result = value.get("result") if isinstance(value, dict) else None
    return StreamEvent(number, result) if isinstance(result, dict) else None


def state_word(state: object) -> str:
    """Murmur's word for a state's A2A name; what is none of them is shown as it was sent."""
    words = {each.wire: str(each) for each in TaskState}
    return words.get(str(state), str(state))


def said(answer: Answer) -> str:
    """What the body of a refusal says; empty when it says nothing that can be read."""
    try:
        value = json.loads(answer.body)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(value, dict):
        return ""
    text = value.get("message", value.get("error"))
    return text if isinstance(text, str) else ""


def _why(failure: Exception) -> str:
    if isinstance(failure, TimeoutError):
        return "no answer in time"
    if isinstance(failure, OSError) and failure.strerror:
        return failure.strerror.lower()
    return str(failure) or type(failure).__name__
