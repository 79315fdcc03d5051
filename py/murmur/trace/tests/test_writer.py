"""Writing a trace. spec/observability.md 3, 4 and 8."""

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.core.ids import id_time_ms, is_id, new_id
from murmur.core.safefs import UnsafePath, open_root
from murmur.trace.reader import read_trace
from murmur.trace.writer import TraceWriter

START: dict[str, Any] = {
    "capsule_name": "demo",
    "capsule_version": "0.1.0",
    "model": "m",
    "capabilities": ["shell"],
    "tools_declared": [],
    "runtime_artifacts": [],
    "containment_declared": "advisory",
    "containment_achieved": "scoped",
    "workdir_exec": False,
    "system_prompt_source": "none",
    "credential_source": "none",
    "gateways": [],
    "effective_grants": {"z": 1, "a": []},
}
TASK = {
    "task_id": "tsk_1",
    "context_id": "ctx_1",
    "source": "task_md",
    "origin": "user",
    "trust": "trusted",
    "lane": "user",
    "message_parts_bytes": 3,
}
TASK_END = {"task_id": "tsk_1", "exit_status": "ok", "duration_ms": 1, "reopen_count": 0}
TOOL = {
    "turn": 0,
    "task_id": "tsk_1",
    "tool_name": "t",
    "input": {"b": {"z": 1, "a": 2}, "a": 1},
    "input_bytes": 3,
    "output_bytes": 4,
    "duration_ms": 5,
    "status": "ok",
}
SHELL = {
    "turn": 0,
    "task_id": "tsk_1",
    "binary": "/usr/bin/ls",
    "command": ["-l"],
    "exit_code": 0,
    "stdout_bytes": 1,
    "stderr_bytes": 0,
    "duration_ms": 1,
}
SESSION = new_id("ses")


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[TraceWriter]:
    with open_root(tmp_path) as records:
        trace = TraceWriter(records, SESSION, lambda: ["s3cret-key"])
        yield trace
        trace.close()


def lines(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "trace.jsonl").read_text().splitlines()]


def test_five_keys_lead_every_line_and_the_payload_keeps_the_documented_order(
    writer: TraceWriter, tmp_path: Path
) -> None:
    before = time.time_ns() // 1_000_000
    writer.write("session_start", **START)
    raw = (tmp_path / "trace.jsonl").read_bytes()
    assert raw.endswith(b"}\n") and raw.count(b"\n") == 1 and b": " not in raw
    event = lines(tmp_path)[0]
    assert list(event)[:9] == [
        "event_type",
        "event_id",
        "parent_id",
        "session_id",
        "timestamp",
        "capsule_name",
        "capsule_version",
        "model",
        "max_turns",
    ]
    assert event["parent_id"] is None and event["session_id"] == SESSION
    assert is_id(event["event_id"], "evt")
    assert before <= event["timestamp"] <= time.time_ns() // 1_000_000
    assert abs(id_time_ms(event["event_id"]) - event["timestamp"]) < 60_000
    assert event["max_turns"] is None and event["resumed_from"] is None
    assert "deadline" not in event and "formation_id" not in event
    assert list(event["effective_grants"]) == ["z", "a"]
    assert (tmp_path / "trace.jsonl").stat().st_mode & 0o777 == 0o600


def test_lines_hang_under_session_task_and_turn(writer: TraceWriter, tmp_path: Path) -> None:
    session = writer.write("session_start", **START)
    received = writer.write(
        "a2a_task_received", task_id="tsk_1", context_id="c", message_id="m", caller="public"
    )
    task = writer.write("task_start", **TASK)
    early = writer.write("shell", **SHELL)
    first = writer.write("inference", turn=0, task_id="tsk_1", decision="tool_call", tool_name="t")
    tool = writer.write("tool_call", **TOOL)
    hook = writer.write("inference", turn=0, task_id="tsk_1", decision="text", origin="hook:h")
    shell = writer.write("shell", **SHELL)
    retry = writer.write(
        "inference_retry",
        turn=1,
        task_id="tsk_1",
        attempt=1,
        max_attempts=4,
        reason="connection",
        wait_ms=5,
    )
    second = writer.write("inference", turn=1, task_id="tsk_1", decision="end_turn")
    refused = writer.write(
        "tool_input_refused", turn=1, tool_name="t", missing=["a"], reason="missing"
    )
    queued = writer.write(
        "task_canceled", task_id="tsk_2", phase="queued", detached_work_ids=[], delegation_ids=[]
    )
    failed = writer.write("task_failed", task_id="tsk_1", cause="driver_error", reason="x")
    end = writer.write("task_end", **TASK_END, **writer.task_counts.task_end())
    late = writer.write("shell", **SHELL)
    last = writer.write(
        "session_end", duration_ms=1, exit_status="ok", **writer.session_counts.session_end()
    )
    parents = {event["event_id"]: event["parent_id"] for event in lines(tmp_path)}
    assert parents == {
        session: None,
        received: session,
        task: session,
        early: task,
        first: task,
        tool: first,
        hook: first,
        shell: first,
        retry: task,
        second: task,
        refused: second,
        queued: session,
        failed: task,
        end: task,
        late: session,
        last: session,
    }
    seen: set[str] = set()
    for event in lines(tmp_path):
        assert event["parent_id"] is None or event["parent_id"] in seen
        seen.add(event["event_id"])
    assert len(seen) == len(parents)


def test_ids_ascend_in_the_order_of_the_lines(writer: TraceWriter, tmp_path: Path) -> None:
    writer.write("session_start", **START)
    for _ in range(300):
        writer.write("shell", **SHELL)
    ids = [event["event_id"] for event in lines(tmp_path)]
    assert ids == sorted(ids)


def test_totals_are_counted_from_the_lines(writer: TraceWriter) -> None:
    writer.write("session_start", **START)
    writer.write("task_start", **TASK)
    call = {"turn": 0, "task_id": "tsk_1"}
    writer.write("inference", **call, decision="tool_call", input_tokens=10, output_tokens=2)
    writer.write("tool_call", **TOOL)
    writer.write("shell", **SHELL)
    failure = {"decision": "error", "error_code": "driver_error", "error": "x"}
    writer.write("inference", **call, **failure)
    writer.write("inference", **call, **failure, origin="hook:h", input_tokens=7)
    writer.write("inference", **call, **failure, origin="hook:h")
    writer.write("inference", **call, **failure, input_tokens=1, output_tokens=1)
    expected = {
        "turns": 4,
        "input_tokens": 18,
        "output_tokens": 3,
        "tool_calls": 1,
        "shell_calls": 1,
    }
    assert writer.task_counts.task_end() == expected
    writer.write("task_end", **TASK_END, **writer.task_counts.task_end())
    writer.write("task_start", **TASK)
    assert writer.task_counts.task_end() == dict.fromkeys(expected, 0)
    assert writer.session_counts.session_end() == {f"total_{k}": v for k, v in expected.items()}


def test_free_json_is_written_with_sorted_keys(writer: TraceWriter, tmp_path: Path) -> None:
    writer.write("tool_call", **TOOL)
    assert '"input":{"a":1,"b":{"a":2,"z":1}}' in (tmp_path / "trace.jsonl").read_text()


def test_an_error_text_is_cut_and_holds_no_credential(writer: TraceWriter, tmp_path: Path) -> None:
    reason = "é" * 900 + " key s3cret-key! " + "x" * 3000
    writer.write("task_failed", cause="driver_error", reason=reason)
    event = lines(tmp_path)[0]
    assert "s3cret-key" not in event["reason"] and "[redacted]" in event["reason"]
    assert len(event["reason"].encode()) <= 2000
    assert event["reason"].startswith("é" * 900)


def test_text_that_utf8_or_json_cannot_hold_still_makes_a_line(
    writer: TraceWriter, tmp_path: Path
) -> None:
    odd = {"a": "\ud800x", "b": float("inf"), "c": [float("nan")]}
    writer.write("tool_call", **{**TOOL, "input": odd})
    event = lines(tmp_path)[0]
    assert event["input"] == {"a": "\ud800x", "b": None, "c": [None]}


@pytest.mark.parametrize(
    ("event", "fields", "message"),
    [
        ("session_start", {**START, "colour": "red"}, "no field colour"),
        (
            "session_start",
            {k: v for k, v in START.items() if k != "model"},
            "model: it is required",
        ),
        ("session_start", {**START, "max_turns": -1}, "max_turns"),
        ("session_start", {**START, "workdir_exec": 1}, "workdir_exec"),
        ("session_start", {**START, "containment_achieved": "strong"}, "containment_achieved"),
        ("inference", {"turn": 0, "decision": "error"}, "error_code"),
        ("inference", {"turn": 0, "decision": "text", "error": "x"}, "error_code"),
        ("inference_retry", {"turn": 0, "attempt": 1, "max_attempts": 2, "wait_ms": 0}, "either"),
        ("shell", {**SHELL, "exit_code": 1 << 40}, "exit_code"),
    ],
)
def test_a_line_that_the_catalogue_does_not_allow_is_never_written(
    writer: TraceWriter, tmp_path: Path, event: str, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        writer.write(event, **fields)
    assert (tmp_path / "trace.jsonl").read_bytes() == b""


def test_an_event_type_the_catalogue_lacks_is_never_written(writer: TraceWriter) -> None:
    with pytest.raises(KeyError):
        writer.write("made_up")


def test_threads_share_a_writer_without_mixing_lines(writer: TraceWriter, tmp_path: Path) -> None:
    writer.write("session_start", **START)

    def work() -> None:
        for _ in range(200):
            assert writer.write_aside("tool_call", **{**TOOL, "input": {"x": "y" * 500}}) is None

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(lines(tmp_path)) == 801


def test_a_write_failure_ends_the_session_with_e_run_007(writer: TraceWriter) -> None:
    writer.write("session_start", **START)
    writer.close()
    with pytest.raises(MurmurError) as caught:
        writer.write("shell", **SHELL)
    assert caught.value.code == "E-RUN-007" and "trace.jsonl" in caught.value.message
    failure = writer.write_aside("shell", **SHELL)
    assert failure is not None and failure.code == "E-RUN-007"


def test_a_line_cut_by_a_full_disk_is_taken_back(writer: TraceWriter, tmp_path: Path) -> None:
    writer.write("session_start", **START)
    size = (tmp_path / "trace.jsonl").stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50, before[1]))
    try:
        assert writer.write_aside("shell", **SHELL) is not None
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert (tmp_path / "trace.jsonl").stat().st_size == size
    writer.write("shell", **SHELL)
    assert [event["event_type"] for event in lines(tmp_path)] == ["session_start", "shell"]


def test_a_link_in_place_of_the_trace_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_text("")
    records = tmp_path / "records"
    records.mkdir()
    (records / "trace.jsonl").symlink_to(target)
    with open_root(records) as root, pytest.raises(UnsafePath):
        TraceWriter(root, SESSION)
    assert target.read_text() == ""


_WRITER = """
import sys
from murmur.core.safefs import open_root
from murmur.trace.writer import TraceWriter
writer = TraceWriter(open_root(sys.argv[1]), "ses_1")
print("ready", flush=True)
while True:
    writer.write("task_failed", cause="driver_error", reason="x" * 1900)
"""


@pytest.mark.parametrize("delay", [0.0, 0.01, 0.05])
def test_sigkill_mid_write_leaves_a_trace_that_parses(tmp_path: Path, delay: float) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert child.stdout is not None and child.stdout.readline() == b"ready\n"
    while not (tmp_path / "trace.jsonl").stat().st_size:
        time.sleep(0.001)
    time.sleep(delay)
    child.send_signal(signal.SIGKILL)
    child.wait(timeout=10)
    child.stdout.close()
    trace = read_trace(tmp_path / "trace.jsonl")
    assert trace.events and not trace.ended
    assert all(event["event_type"] == "task_failed" for event in trace.events)
    assert (tmp_path / "trace.jsonl").read_bytes().count(b"\n") == len(trace.events)
