"""Spans of live sessions at an OTLP/HTTP receiver, and the topology that they make.

spec/observability.md 12 and 13.
"""

import base64
import contextlib
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from murmur.topology.tests.a_tempo import a_tempo
from tests.endtoend.capsule import Place, replay, shell_turn, write_manifest


class Receiver(http.server.ThreadingHTTPServer):
    """Keeps every body that is posted to it."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def spans(self) -> list[Any]:
        return [body["resourceSpans"][0]["scopeSpans"][0]["spans"][0] for body in self.bodies]

    def as_tempo(self) -> dict[str, Any]:
        """What it received as Tempo would answer it: batches by trace, ids in base64."""
        traces: dict[str, Any] = {}
        for body in self.bodies:
            (resource,) = body["resourceSpans"]
            span = dict(resource["scopeSpans"][0]["spans"][0])
            for key in ("spanId", "parentSpanId"):
                if key in span:
                    span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
            batch = {"resource": resource["resource"], "scopeSpans": [{"spans": [span]}]}
            traces.setdefault(span["traceId"], {"batches": []})["batches"].append(batch)
        return traces


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Receiver)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/v1/traces"
        self.server.bodies.append(body)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def capsule(folder: Path, name: str, endpoint: str, *turns: dict[str, Any], **more: Any) -> Path:
    observability = {"otel_endpoint": endpoint}
    manifest = replay([*turns, {"text": "done"}], name=name, observability=observability, **more)
    write_manifest(folder / name, manifest)
    return folder / name


def test_a_task_is_posted_call_by_call_and_its_root_last(place: Place, project: Path) -> None:
    with receiver() as collected:
        shell = {"shell": {"allow": ["bash"]}}
        turn = shell_turn("bash", "true")
        folder = capsule(project, "one", collected.endpoint, turn, capabilities=shell)
        done = place.mur("run", "--json", "--task", "go", cwd=folder)
        assert done.returncode == 0, done.stderr
    assert [span["name"] for span in collected.spans] == [
        "capsule.inference",
        "capsule.tool_call",
        "capsule.shell",
        "capsule.inference",
        "capsule.session",
    ]
    root = collected.spans[-1]
    assert {span["traceId"] for span in collected.spans} == {root["traceId"]}
    assert all(span["parentSpanId"] == root["spanId"] for span in collected.spans[:-1])
    records = Path(json.loads(done.stdout.splitlines()[0])["records_dir"])
    assert not (records / "logs" / "otel.log").exists()


def test_a_collector_that_is_not_there_is_a_line_in_a_log(place: Place, project: Path) -> None:
    folder = capsule(project, "alone", "http://127.0.0.1:1")
    done = place.mur("run", "--json", "--task", "go", cwd=folder)
    assert done.returncode == 0, done.stderr
    records = Path(json.loads(done.stdout.splitlines()[0])["records_dir"])
    log = (records / "logs" / "otel.log").read_text()
    assert log.count("http://127.0.0.1:1 took no span") == 2


def test_two_capsules_become_nodes_and_the_call_between_them_an_edge(
    place: Place, project: Path
) -> None:
    with receiver() as collected:
        caller = capsule(project, "caller", collected.endpoint)
        assert place.mur("run", "--task", "go", cwd=caller).returncode == 0
        root = collected.spans[-1]
        sleeps = {"task_acceptance": "queue", "after_task": "sleep"}
        callee = capsule(project, "callee", collected.endpoint, lifecycle=sleeps)
        running = place.start(cwd=callee)
        try:
            message = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
            answer = httpx.post(
                f"{running.url}/",
                json={
                    "jsonrpc": "2.0",
                    "id": 1,
                    "method": "SendMessage",
                    "params": {"message": message},
                },
                headers={
                    "A2A-Version": "1.0",
                    "traceparent": f"00-{root['traceId']}-{root['spanId']}-01",
                },
                timeout=60,
            )
            assert "error" not in answer.json(), answer.text
            running.wait_for("task_end")
        finally:
            running.end()
        assert collected.spans[-1]["parentSpanId"] == root["spanId"]
        assert collected.spans[-1]["traceId"] != root["traceId"]
        traces = collected.as_tempo()
    with a_tempo(traces) as answers:
        drawn = place.mur(
            *("topology", "--output", "page.html", "--otel-endpoint", answers.base), cwd=project
        )
    assert drawn.returncode == 0, drawn.stderr
    page = (project / "page.html").read_text()
    data = json.loads(page.split("window.TOPOLOGY_DATA = ")[1].split(";</script>")[0])
    names = {node["id"]: node["capsule_name"] for node in data["nodes"]}
    (edge,) = data["edges"]
    assert (names[edge["from"]], names[edge["to"]], edge["weight"]) == ("caller", "callee", 1)
