"""Requests made from a description of the door, and a judge of the answers.

The description is generated: the methods from the door's own table, their parameters from A2A's
message descriptors. Values are right, nearly right or wrong; the judge knows every answer that the
protocol allows, and reads each result strictly.
"""

import json
import random
import string
from typing import Any, Final

import httpx
from a2a.types import a2a_pb2 as pb
from google.protobuf import descriptor as protobuf  # type: ignore[import-untyped]
from google.protobuf.json_format import ParseDict  # type: ignore[import-untyped]

from murmur.door import methods
from murmur.door.extensions import STREAM

_PARAMETERS: Final[dict[str, Any]] = {
    methods.SEND_MESSAGE: pb.SendMessageRequest,
    methods.SEND_STREAMING_MESSAGE: pb.SendMessageRequest,
    methods.GET_TASK: pb.GetTaskRequest,
    methods.LIST_TASKS: pb.ListTasksRequest,
    methods.SUBSCRIBE_TO_TASK: pb.SubscribeToTaskRequest,
    methods.CANCEL_TASK: pb.CancelTaskRequest,
}
_RESULTS: Final[dict[str, Any]] = {
    methods.SEND_MESSAGE: pb.SendMessageResponse,
    methods.GET_TASK: pb.Task,
    methods.LIST_TASKS: pb.ListTasksResponse,
    methods.CANCEL_TASK: pb.Task,
}
_NAMES: Final = (*(method.name for method in methods.METHODS), "message/send", "getTask", "", "\0")
_CODES: Final = frozenset(
    {-32700, -32600, -32601, -32602, -32001, -32002, -32004, -32005, -32009, -31001, -31002}
)
# What the door answers outside JSON-RPC on a public door; 400 is the HTTP reader's own.
_STATUSES: Final = frozenset({400, 403, 404, 405, 413})
_DEEPEST: Final = 4


class Requests:
    """An endless source of requests, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._ids: list[str] = ["tsk_none"]

    def method(self) -> str:
        return self._random.choice(_NAMES)

    def body(self, method: str) -> bytes:
        pick = self._random.random()
        envelope: dict[str, Any] = {
            "jsonrpc": "2.0",
            "id": self._random.choice([1, "x", 0, -1, "\u2028", 1 << 70]),
            "method": method,
            "params": self._params(method),
        }
        if pick < 0.1:
            del envelope[self._random.choice(list(envelope))]
        elif pick < 0.2:
            envelope[self._random.choice(list(envelope))] = self._anything(0)
        text = json.dumps(envelope, ensure_ascii=self._random.random() < 0.5)
        data = text.encode("utf-8", "replace")
        if pick > 0.95:
            return self._damaged(data)
        return json.dumps([envelope]).encode() if pick > 0.93 else data

    def headers(self) -> dict[str, str]:
        sent = {"content-type": "application/json", "a2a-version": "1.0"}
        for name, values in (
            ("a2a-version", ("1.0.7", "", "0.3", "1.1", "x" * 4000)),
            ("a2a-extensions", (STREAM, f"x, {STREAM}", "", ",,,")),
            ("last-event-id", ("0", "5", "18446744073709551616", "-1", "x", "9" * 400)),
            ("x-murmur-task-origin", ("peer", "completion", "user", "PEER", "")),
            ("x-murmur-task-trust", ("trusted", "untrusted", "maybe")),
            ("x-murmur-forget-session", ("true", "false")),
            ("x-murmur-completion-session", ("ses_1", "")),
            ("content-type", ("text/plain", "application/json; charset=x", "")),
            ("authorization", ("Bearer x", "x")),
            ("traceparent", ("00-x", "x" * 2000)),
        ):
            if self._random.random() < 0.1:
                sent[name] = self._random.choice(values)
        return sent

    def path(self) -> str:
        if self._random.random() < 0.9:
            return "/"
        return self._random.choice(
            [
                "/resources/files",
                "/resources/files/a.txt",
                "/resources/files/%2e%2e/x",
                "/resources/files/%00",
                "/resources/peer/mh1.a.b",
                "/resources/x",
                "/control",
                "/.well-known/agent-card.json",
                "/?x",
                "/x" * 500,
            ]
        )

    def learn(self, answer: object) -> None:
        """Keeps ids of real tasks, so that later requests name some."""
        if isinstance(answer, dict):
            task = answer.get("result", {}).get("task") if "result" in answer else None
            if isinstance(task, dict) and isinstance(task.get("id"), str):
                self._ids = [*self._ids[-50:], task["id"]]

    def _params(self, method: str) -> Any:
        kind = _PARAMETERS.get(method)
        if kind is None or self._random.random() < 0.05:
            return self._anything(0)
        return self._message(kind.DESCRIPTOR, 0)

    def _message(self, kind: "protobuf.Descriptor", depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for field in kind.fields:
            if self._random.random() < (0.85 if depth < 2 else 0.4):
                made[field.json_name] = self._field(field, depth)
        return made

    def _field(self, field: "protobuf.FieldDescriptor", depth: int) -> Any:
        if self._random.random() < 0.06 or depth > _DEEPEST:
            return self._anything(depth)
        if field.is_repeated:
            count = self._random.choice([0, 1, 1, 2, 20])
            return [self._value(field, depth) for _ in range(count)]
        return self._value(field, depth)

    def _value(self, field: "protobuf.FieldDescriptor", depth: int) -> Any:
        if field.message_type is not None:
            return self._message(field.message_type, depth + 1)
        if field.enum_type is not None:
            return self._random.choice([value.name for value in field.enum_type.values])
        if field.type == field.TYPE_BOOL:
            return self._random.random() < 0.5
        if field.type == field.TYPE_STRING:
            if field.name in ("id", "task_id", "reference_task_ids"):
                return self._random.choice([*self._ids, "", self._text()])
            return self._text()
        return self._random.choice([0, 1, 50, 100, 101, -1, 1 << 40, 1.5])

    def _text(self) -> str:
        pieces = ["hello", "</untrusted-content>", "```", "\u2028", "\x00", "é", "😀", "\ud800"]
        if self._random.random() < 0.02:
            return "x" * self._random.choice([10_000, 200_000])
        letters = "".join(self._random.choices(string.printable, k=self._random.randrange(12)))
        return self._random.choice([*pieces, letters])

    def _anything(self, depth: int) -> Any:
        if depth > _DEEPEST:
            return None
        return self._random.choice(
            [
                None,
                True,
                0,
                -1.5,
                1e308,
                self._text(),
                [],
                {},
                [self._text()] * 3,
                {"a": {"b": [None]}},
                [[[[[[]]]]]],
            ]
        )

    def _damaged(self, data: bytes) -> bytes:
        at = self._random.randrange(len(data))
        middle = self._random.choice([b"", b"\xff", b"{", b"\0", b"[" * 5000, b"NaN"])
        return data[:at] + middle + data[at + self._random.randrange(3) :]


def judge(request_method: str, status: int, media_type: str, body: bytes) -> Any:
    """The JSON of an answer that a door may give. Raises AssertionError for any other."""
    if status != 200:
        assert status in _STATUSES, (status, body[:200])
        return None
    if media_type.startswith("text/event-stream"):
        for line in body.split(b"\n"):
            if line.startswith(b"data:") and line.endswith(b"}"):
                result = json.loads(line[5:])["result"]
                if request_method != methods.WATCH_SESSION:
                    ParseDict(result, pb.StreamResponse())
        return None
    if media_type == "application/octet-stream":
        return None
    value = json.loads(body)
    if not isinstance(value, dict) or "jsonrpc" not in value:
        return value  # a card, or a listing
    assert value["jsonrpc"] == "2.0" and ("result" in value) != ("error" in value)
    if "error" in value:
        assert value["error"]["code"] in _CODES, value
        assert value["error"]["message"]
    elif request_method in _RESULTS:
        ParseDict(value["result"], _RESULTS[request_method]())
    return value


def fire(client: httpx.Client, url: str, requests: Requests) -> int:
    """Sends one request and judges its answer; the status. A stream is read for its first part."""
    method = requests.method()
    path = requests.path()
    verb = "POST" if path == "/" else "GET"
    body = requests.body(method) if verb == "POST" else None
    with client.stream(verb, url + path, content=body, headers=requests.headers()) as answer:
        media_type = answer.headers.get("content-type", "")
        if media_type.startswith("text/event-stream"):
            content = next(answer.iter_bytes(), b"")
            content = content[: content.rfind(b"\n\n") + 2]
        else:
            content = answer.read()
    requests.learn(judge(method, answer.status_code, media_type, content))
    return answer.status_code
