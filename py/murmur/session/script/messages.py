"""`murmur:message/send`: one A2A message to a peer capsule inside `network.allow`.

spec/artifacts.md 3; spec/door.md 10 and 14.
"""

import contextlib
import http.client
import json
import time
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import SplitResult

from murmur.core.tasks import TaskState
from murmur.guest.questions import Answer, Err, Ok, Question
from murmur.manifest.network import NetworkRule
from murmur.session.peer_connection import (
    BadPeer,
    NotAllowed,
    check_peer,
    connect_peer,
    parse_peer,
)
from murmur.trace.writer import TraceWriter

_LARGEST_ANSWER: Final = 64 << 20
_FIELD: Final = "capabilities.network.allow"
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
            url = parse_peer(peer)
            check_peer(self._rules, url, _FIELD)
            traceparent = self._trace.traceparent
            result = self._exchange(url, message, traceparent, question.deadline)
            task = _task(result, message)
        except (BadPeer, NotAllowed, _Unsent) as unsent:
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
        message: dict[str, Any],
        traceparent: str | None,
        deadline: float,
    ) -> dict[str, Any]:
        """The result of SendMessage. Raises _Unsent, NotAllowed."""
        try:
            left = max(0.001, deadline - time.monotonic())
            with contextlib.closing(connect_peer(self._rules, url, left, _FIELD)) as connection:
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
