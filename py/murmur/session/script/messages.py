"""`murmur:message/send`: one A2A message to a peer capsule inside `network.allow`.

spec/artifacts.md 3; spec/door.md 10 and 14. The peer's name is resolved once, its address checked
as the gateway checks one, and that very address is dialled (design/decisions.md 10).
"""

import asyncio
import contextlib
import http.client
import ipaddress
import json
import socket
import ssl
import time
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from murmur.core.ip_addresses import IPAddress
from murmur.core.resolver import system_resolver
from murmur.core.tasks import TaskState
from murmur.guest.questions import Answer, Err, Ok, Question
from murmur.inference.gateway_dial import system_trust
from murmur.manifest.network import (
    DEFAULT_PORTS,
    NetworkRule,
    allows,
    is_address,
    may_lead_to,
)
from murmur.trace.writer import TraceWriter

_LARGEST_ANSWER: Final = 64 << 20
_TRUST: Final = "trusted"
"""A script capsule is the operator's own program: nobody else gave it what it sends."""


class _Unsent(Exception):
    """Why there is no answer; the text is what the component reads."""


class MessageSending:
    """Answers `send(peer-url, message)`."""

    def __init__(self, rules: Sequence[NetworkRule], trace: TraceWriter) -> None:
        self._rules = tuple(rules)
        self._trace = trace

    def __call__(self, question: Question) -> Answer:
        peer, message = question.arguments
        try:
            url = _parsed(peer)
            port = url.port or DEFAULT_PORTS[url.scheme]
            host = url.hostname or ""
            if allows(self._rules, url.scheme, host, port) is None:
                return Err(f"network policy: {peer} is not in capabilities.network.allow")
            traceparent = self._trace.traceparent
            result = self._exchange(url, host, port, message, traceparent, question.deadline)
            task = _task(result, message)
        except _Unsent as unsent:
            return Err(str(unsent))
        self._trace.write(
            "a2a_send",
            peer_url=peer,
            message_id=message["message-id"],
            task_id=task["task-id"],
            context_id=task["context-id"],
            traceparent=traceparent,
            trust=_TRUST,
        )
        return Ok(task)

    def _exchange(
        self,
        url: SplitResult,
        host: str,
        port: int,
        message: dict[str, Any],
        traceparent: str | None,
        deadline: float,
    ) -> dict[str, Any]:
        """The result of SendMessage. Raises _Unsent."""
        try:
            with contextlib.closing(self._connected(url, host, port, deadline)) as connection:
                headers = {
                    "content-type": "application/json",
                    "a2a-version": "1.0",
                    "x-murmur-task-origin": "peer",
                    "x-murmur-task-trust": _TRUST,
                    **({} if traceparent is None else {"traceparent": traceparent}),
                }
                connection.request("POST", url.path or "/", _body(message), headers)
                response = connection.getresponse()
                answer = response.read(_LARGEST_ANSWER + 1)
        except (OSError, http.client.HTTPException, ValueError) as failure:
            raise _Unsent(
                f"{url.netloc} did not answer: {failure or type(failure).__name__}"
            ) from None
        if response.status != 200:
            said = answer[:500].decode("utf-8", "replace")
            raise _Unsent(f"{url.netloc} answered HTTP {response.status}: {said}")
        return _result(url.netloc, answer)

    def _connected(
        self, url: SplitResult, host: str, port: int, deadline: float
    ) -> http.client.HTTPConnection:
        """A connection to an address that was checked after its only resolution.

        Raises _Unsent where none may be dialled, OSError where none answers.
        """
        left = max(0.001, deadline - time.monotonic())
        permitted = [
            address
            for address in _addresses(host)
            if may_lead_to(self._rules, url.scheme, host, address, port)
        ]
        if not permitted:
            raise _Unsent(
                f"network policy: {url.netloc} leads to an address inside this machine or network, "
                "which is reached only when network.allow lists the address itself"
            )
        connection = http.client.HTTPConnection(host, port, timeout=left)
        connection.sock = _dialled(permitted, port, left, url)
        return connection


def _parsed(peer: str) -> SplitResult:
    """The peer's URL; `host:port` alone is plain http. Raises _Unsent."""
    try:
        url = urlsplit(peer if "://" in peer else f"http://{peer}")
        usable = url.scheme in DEFAULT_PORTS and url.hostname and url.port != 0
    except ValueError:
        usable = None
    if not usable or url.username is not None:
        raise _Unsent(f"'{peer}' is no http:// or https:// URL of a peer")
    return url


def _addresses(host: str) -> tuple[IPAddress, ...]:
    """Raises OSError for a name that nobody knows."""
    if is_address(host):
        return (ipaddress.ip_address(host),)
    return asyncio.run(system_resolver().addresses(host))


def _dialled(
    addresses: Sequence[IPAddress], port: int, seconds: float, url: SplitResult
) -> socket.socket:
    """A connected socket, with TLS for the name where the scheme asks for it. Raises OSError."""
    first: OSError | None = None
    for address in addresses:
        try:
            wire = socket.create_connection((str(address), port), seconds)
        except OSError as failure:
            first = first or failure
            continue
        if url.scheme != "https":
            return wire
        try:
            trust: ssl.SSLContext = system_trust()
            return trust.wrap_socket(wire, server_hostname=url.hostname)
        except BaseException:
            wire.close()
            raise
    assert first is not None
    raise first


def _body(message: dict[str, Any]) -> bytes:
    sent: dict[str, Any] = {
        "messageId": message["message-id"],
        "role": "ROLE_USER",
        "parts": [{"text": message["text"]}],
    }
    if message["context-id"] is not None:
        sent["contextId"] = message["context-id"]
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": sent}}
    return json.dumps(call).encode("utf-8")


def _result(peer: str, answer: bytes) -> dict[str, Any]:
    """The result of a JSON-RPC answer. Raises _Unsent."""
    try:
        envelope = json.loads(answer)
    except (ValueError, RecursionError):
        raise _Unsent(f"{peer} answered no JSON") from None
    if isinstance(envelope, dict):
        refused, result = envelope.get("error"), envelope.get("result")
        if isinstance(refused, dict):
            raise _Unsent(f"{peer} refused: {refused.get('message')} ({refused.get('code')})")
        if isinstance(result, dict):
            return result
    raise _Unsent(f"{peer} answered no JSON-RPC response")


def _task(result: dict[str, Any], message: dict[str, Any]) -> dict[str, str]:
    """`task-result` of a SendMessage result. Raises _Unsent for an answer without a task."""
    task = result.get("task")
    status = task.get("status") if isinstance(task, dict) else None
    if not isinstance(task, dict) or not isinstance(status, dict):
        raise _Unsent("the peer answered no task")
    words = {each.wire: str(each) for each in TaskState}
    state = status.get("state")
    return {
        "task-id": str(task.get("id", "")),
        "context-id": str(task.get("contextId", message["context-id"] or "")),
        "state": words.get(str(state), str(state)),
    }
