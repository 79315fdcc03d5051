"""A Tempo on loopback that answers as one does, from traces given to it."""

import contextlib
import http.server
import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit


class Answers:
    """What it answers: traces by id; `fail` gives a path another status, `raw` other bytes."""

    def __init__(self, traces: Mapping[str, Any]) -> None:
        self.traces = traces
        self.fail: dict[str, int] = {}
        self.raw: dict[str, bytes] = {}
        self.searched: dict[str, list[str]] = {}
        self.base = ""

    def answer(self, target: str) -> tuple[int, bytes]:
        parts = urlsplit(target)
        if parts.path in self.fail:
            return self.fail[parts.path], b""
        if parts.path in self.raw:
            return 200, self.raw[parts.path]
        if parts.path == "/ready":
            return 200, b"ready\n"
        if parts.path == "/status/buildinfo":
            return 200, b'{"version":"2.6.1"}'
        if parts.path == "/api/search":
            self.searched = parse_qs(parts.query)
            found = [{"traceID": each} for each in self.traces]
            return 200, json.dumps({"traces": found}).encode()
        trace = self.traces.get(parts.path.removeprefix("/api/traces/"))
        return (404, b"") if trace is None else (200, json.dumps(trace).encode())


@contextlib.contextmanager
def a_tempo(traces: Mapping[str, Any]) -> Iterator[Answers]:
    """Serves until the block ends."""
    answers = Answers(traces)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, data = answers.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        answers.base = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield answers
        finally:
            server.shutdown()
            thread.join()


def span(span_id: str, name: str, took_ms: int, *, parent: str = "", **attributes: str) -> Any:
    """One span that began at a fixed moment."""
    start = 1_790_000_000_000_000_000
    made: dict[str, Any] = {
        "spanId": span_id,
        "name": name,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + took_ms * 1_000_000),
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in attributes.items()],
    }
    return made | ({"parentSpanId": parent} if parent else {})


def trace(capsule: str, *spans: Any) -> Any:
    """A trace of one capsule."""
    named = {"service.name": capsule, "service.version": "0.1.0"}
    resource = {"attributes": [{"key": k, "value": {"stringValue": v}} for k, v in named.items()]}
    return {"batches": [{"resource": resource, "scopeSpans": [{"spans": list(spans)}]}]}


def calling() -> dict[str, Any]:
    """A caller whose two sends reach two tasks of one callee and one of another."""
    return {
        "t1": trace(
            "caller",
            span("AAA=", "capsule.session", 900, exit_status="ok"),
            span("AAB=", "capsule.inference", 300, parent="AAA="),
            span("AAC=", "capsule.inference", 200, parent="AAA="),
            span("AAD=", "capsule.tool_call", 50, parent="AAA="),
            span("AAE=", "capsule.shell", 25, parent="AAA="),
        ),
        "t2": trace(
            "failing", span("BBB=", "capsule.session", 100, parent="AAA=", exit_status="failed")
        ),
        "t3": trace("waiting", span("CCC=", "capsule.session", 10, parent="AAA=")),
        "t4": trace("odd", span("DDD=", "capsule.session", 5, exit_status="deadline_reached")),
        "t5": trace("no session", span("EEE=", "capsule.shell", 5)),
    }
