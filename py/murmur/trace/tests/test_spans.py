"""Spans made of a trace's lines, and posting them to a collector that is real, slow or broken."""

import http.server
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from murmur.core.safefs import open_root
from murmur.trace.otlp import LOG, BadEndpoint, Collector, Exporter, collector
from murmur.trace.spans import Spans

CALLER = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"


class Sink:
    """Keeps the bodies that it is handed."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []

    def __call__(self, body: Any) -> None:
        self.bodies.append(body)

    @property
    def spans(self) -> list[Any]:
        return [body["resourceSpans"][0]["scopeSpans"][0]["spans"][0] for body in self.bodies]


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000_000_000

    def __call__(self) -> int:
        self.now += 5_000_000
        return self.now


def attributes(span: Any) -> dict[str, Any]:
    found = {}
    for each in span["attributes"]:
        ((kind, value),) = each["value"].items()
        found[each["key"]] = int(value) if kind == "intValue" else value
    return found


def test_a_task_is_one_trace_whose_root_comes_last() -> None:
    sink = Sink()
    spans = Spans("agent", "0.1.0", sink, now=Clock())
    assert not spans.traceparent
    received = {"task_id": "t1", "traceparent_from_caller": f"  {CALLER} "}
    spans.observe("a2a_task_received", received, 0)
    spans.observe("task_start", {"task_id": "t1"}, 0)
    parent = str(spans.traceparent)
    inference = {
        "turn": 0,
        "task_id": "t1",
        "decision": "tool_call",
        "stop_reason": "tool_use",
        "tool_name": "bash",
        "input_tokens": 10,
        "output_tokens": 2,
        "cached_tokens": 3,
        "max_output_tokens": 99,
        "model": "not an attribute of the loop's",
    }
    spans.observe("inference", inference, 250)
    tool = {"tool_name": "bash", "input_bytes": 1, "output_bytes": 2, "duration_ms": 7}
    spans.observe("tool_call", tool | {"status": "ok", "turn": 0}, 250)
    command = ["bash", "-c", "x" * 300]
    spans.observe("shell", {"command": command, "exit_code": -1, "duration_ms": 3}, 250)
    spans.observe("compaction", {"tokens_before": 9, "tokens_after": 4, "turn": 0}, 250)
    spans.observe("skill_call", {"skill_name": "s"}, 250)
    spans.observe("task_end", {"exit_status": "ok", "task_id": "t1"}, 250)
    spans.observe("session_end", {"exit_status": "ok"}, 250)
    assert [span["name"] for span in sink.spans] == [
        "capsule.inference",
        "capsule.tool_call",
        "capsule.shell",
        "capsule.compaction",
        "capsule.session",
    ]
    root = sink.spans[-1]
    assert parent == f"00-{root['traceId']}-{root['spanId']}-01"
    assert root["parentSpanId"] == "b" * 16
    assert root["traceId"] != "a" * 32
    assert {span["traceId"] for span in sink.spans} == {root["traceId"]}
    assert {span["parentSpanId"] for span in sink.spans[:-1]} == {root["spanId"]}
    assert len({span["spanId"] for span in sink.spans}) == 5
    assert attributes(sink.spans[0]) == {
        "turn": 0,
        "input_tokens": 10,
        "output_tokens": 2,
        "decision": "tool_call",
        "stop_reason": "tool_use",
        "tool_name": "bash",
        "cached_tokens": 3,
    }
    shell = attributes(sink.spans[2])
    assert shell["command"] == "bash -c " + "x" * 192
    assert shell["exit_code"] == -1
    assert attributes(root) == {"exit_status": "ok"}
    took = [int(s["endTimeUnixNano"]) - int(s["startTimeUnixNano"]) for s in sink.spans]
    assert took[:4] == [250_000_000, 7_000_000, 3_000_000, 1_000_000]
    assert took[4] == 25_000_000


def test_a_body_has_the_shape_that_collectors_take() -> None:
    sink = Sink()
    spans = Spans("agent", "0.1.0", sink)
    spans.observe("task_start", {"task_id": "t"}, 0)
    spans.observe("task_end", {"exit_status": "failed"}, 0)
    (body,) = sink.bodies
    (resource,) = body["resourceSpans"]
    assert attributes(resource["resource"]) == {
        "service.name": "agent",
        "service.version": "0.1.0",
    }
    (scope,) = resource["scopeSpans"]
    assert scope["scope"] == {"name": "murmur-capsule-runtime"}
    (span,) = scope["spans"]
    assert list(span) == [
        "traceId",
        "spanId",
        "name",
        "kind",
        "startTimeUnixNano",
        "endTimeUnixNano",
        "attributes",
        "status",
    ]
    assert (span["kind"], span["status"]) == (1, {"code": 1})
    assert (len(span["traceId"]), len(span["spanId"])) == (32, 16)


def test_a_hooks_own_call_names_its_origin_and_model() -> None:
    sink = Sink()
    spans = Spans("agent", "0.1.0", sink)
    call = {"turn": 1, "decision": "end_turn", "origin": "hook:c", "model": "m"}
    spans.observe("inference", call, 1)
    assert sink.bodies == []  # outside any task there is no trace to put it in
    spans.observe("task_start", {"task_id": "t"}, 0)
    spans.observe("inference", call, 1)
    assert attributes(sink.spans[0])["origin"] == "hook:c"
    assert attributes(sink.spans[0])["model"] == "m"


def test_a_task_that_was_cut_off_has_its_root_still() -> None:
    sink = Sink()
    spans = Spans("agent", "0.1.0", sink)
    spans.observe("task_start", {"task_id": "t"}, 0)
    spans.observe("session_end", {"exit_status": "failed"}, 0)
    assert [attributes(span) for span in sink.spans] == [{"exit_status": "failed"}]


def test_a_script_capsules_run_is_one_trace() -> None:
    sink = Sink()
    spans = Spans("script", "0.1.0", sink, script=True)
    spans.observe("session_start", {}, 0)
    assert spans.traceparent is not None
    spans.observe("session_end", {"exit_status": "ok"}, 0)
    assert [span["name"] for span in sink.spans] == ["capsule.session"]


@pytest.mark.parametrize(
    "header",
    [None, "", "nonsense", "00-aa-bb-01", CALLER.replace("a", "g"), CALLER + "-x", CALLER[:-3]],
)
def test_a_header_that_is_no_trace_context_is_no_parent(header: str | None) -> None:
    sink = Sink()
    spans = Spans("agent", "0.1.0", sink)
    spans.observe("a2a_task_received", {"task_id": "t", "traceparent_from_caller": header}, 0)
    spans.observe("task_start", {"task_id": "t"}, 0)
    spans.observe("task_end", {"exit_status": "ok"}, 0)
    assert "parentSpanId" not in sink.spans[0]


@pytest.mark.parametrize(
    ("endpoint", "expected"),
    [
        ("localhost", Collector("localhost", 4318, "", False)),
        ("localhost:1", Collector("localhost", 1, "", False)),
        ("http://h:9/otlp/", Collector("h", 9, "/otlp", False)),
        ("https://h", Collector("h", 4318, "", True)),
        ("http://[::1]:5", Collector("::1", 5, "", False)),
    ],
)
def test_an_endpoint_is_host_port_and_prefix(endpoint: str, expected: Collector) -> None:
    assert collector(endpoint) == expected


@pytest.mark.parametrize("endpoint", ["", "http://", "http://h:x", "grpc://h", "http://h:99999"])
def test_what_is_no_endpoint_is_refused(endpoint: str) -> None:
    with pytest.raises(BadEndpoint):
        collector(endpoint)


class Receiver(http.server.ThreadingHTTPServer):
    """An OTLP/HTTP receiver; `status` is its answer."""

    status = 200

    def __init__(self) -> None:
        self.received: list[tuple[str, str, Any]] = []
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Receiver)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        kind = f"{self.headers['Content-Type']} {self.headers['Connection']}"
        self.server.received.append((self.path, kind, json.loads(body)))
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def posted(tmp_path: Path, endpoint: str) -> str:
    """Posts one body and returns the log."""
    (tmp_path / "logs").mkdir(exist_ok=True)
    with open_root(tmp_path) as records:
        Exporter(endpoint, records)({"a": 1})
    log = tmp_path / LOG
    return log.read_text() if log.exists() else ""


def test_a_body_is_posted_below_the_endpoints_path(tmp_path: Path, receiver: Receiver) -> None:
    assert posted(tmp_path, f"http://127.0.0.1:{receiver.server_port}/otlp/") == ""
    assert receiver.received == [("/otlp/v1/traces", "application/json close", {"a": 1})]


def test_every_failure_is_a_line_in_the_log_and_nothing_more(
    tmp_path: Path, receiver: Receiver
) -> None:
    receiver.status = 503
    endpoint = f"127.0.0.1:{receiver.server_port}"
    stamp, _, message = posted(tmp_path, endpoint).partition("] ")
    assert abs(int(stamp[1:]) - time.time()) < 60
    assert message == f"{endpoint} answered HTTP 503\n"
    assert "bad endpoint" in posted(tmp_path, "grpc://x")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = f"127.0.0.1:{free.getsockname()[1]}"
        assert "refused" in posted(tmp_path, closed)


def test_a_collector_that_hangs_up_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=lambda: server.accept()[0].close())
        thread.start()
        text = posted(tmp_path, f"127.0.0.1:{server.getsockname()[1]}")
        thread.join()
    assert "took no span" in text


def test_a_collector_that_never_answers_costs_five_seconds(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        began = time.monotonic()
        text = posted(tmp_path, f"127.0.0.1:{server.getsockname()[1]}")
        assert 4 < time.monotonic() - began < 15
    assert "took no span" in text
