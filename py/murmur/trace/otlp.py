"""Posting spans to an OTLP/HTTP collector, one request and one connection each.

spec/observability.md 12.3. Nothing is retried or queued, and no failure is the session's: it is a
line in `logs/otel.log`.
"""

import contextlib
import json
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import h11

from murmur.core.safefs import Root

LOG: Final = "logs/otel.log"
DEFAULT_PORT: Final = 4318
_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Collector:
    """Where spans go. `path` has no slash at its end."""

    host: str
    port: int
    path: str
    tls: bool


class BadEndpoint(ValueError):
    """An endpoint that names no host, or a port that is none."""


def collector(endpoint: str) -> Collector:
    """`host[:port][/path]`, with or without a scheme; https means TLS. Raises BadEndpoint."""
    scheme, mark, rest = endpoint.strip().partition("://")
    if not mark:
        scheme, rest = "http", endpoint.strip()
    if scheme not in ("http", "https"):
        raise BadEndpoint(f"bad endpoint {endpoint!r}: its scheme is neither http nor https")
    try:
        parts = urlsplit(f"//{rest}")
        port = parts.port
    except ValueError as problem:
        raise BadEndpoint(f"bad endpoint {endpoint!r}: {problem}") from None
    if not parts.hostname:
        raise BadEndpoint(f"bad endpoint {endpoint!r}: it names no host")
    path = parts.path.rstrip("/")
    return Collector(parts.hostname, port or DEFAULT_PORT, path, scheme == "https")


class Exporter:
    """Posts bodies to one endpoint; `records` takes the log."""

    def __init__(self, endpoint: str, records: Root) -> None:
        self._endpoint = endpoint
        self._records = records

    def __call__(self, body: Mapping[str, Any]) -> None:
        """Sends one body and waits for its status, 5 s at most. Never raises."""
        try:
            status = _post(collector(self._endpoint), json.dumps(body).encode())
        except BadEndpoint as bad:
            self._log(str(bad))
        except (OSError, h11.ProtocolError, UnicodeError) as failure:
            self._log(f"{self._endpoint} took no span: {failure or type(failure).__name__}")
        else:
            if not 200 <= status < 300:
                self._log(f"{self._endpoint} answered HTTP {status}")

    def _log(self, message: str) -> None:
        line = f"[{int(time.time())}] {' '.join(message.split())}\n"
        with contextlib.suppress(OSError):
            self._records.append(LOG, line.encode("utf-8", "replace"))


def _post(to: Collector, body: bytes) -> int:
    """The answer's status. The socket is not half closed, which Go collectors take for an end."""
    deadline = time.monotonic() + _SECONDS
    connection = h11.Connection(h11.CLIENT)
    authority = f"[{to.host}]" if ":" in to.host else to.host
    headers = [
        ("Host", f"{authority}:{to.port}"),
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
        ("Connection", "close"),
    ]
    request = h11.Request(method="POST", target=f"{to.path}/v1/traces", headers=headers)
    data = connection.send(request) or b""
    data += connection.send(h11.Data(data=body)) or b""
    data += connection.send(h11.EndOfMessage()) or b""
    with contextlib.ExitStack() as stack:
        plain = stack.enter_context(socket.create_connection((to.host, to.port), timeout=_SECONDS))
        plain.settimeout(_left(deadline))
        stream = plain
        if to.tls:
            context = ssl.create_default_context()
            stream = stack.enter_context(context.wrap_socket(plain, server_hostname=to.host))
        stream.settimeout(_left(deadline))
        stream.sendall(data)
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                stream.settimeout(_left(deadline))
                connection.receive_data(stream.recv(65536))
            elif isinstance(event, h11.Response):
                return event.status_code
            elif not isinstance(event, h11.InformationalResponse):
                raise ConnectionError("the connection was closed without an answer")


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("no answer in 5 s")
    return left
