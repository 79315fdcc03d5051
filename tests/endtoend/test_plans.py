"""Submitted plans in whole sessions. spec/sessions.md 16; spec/observability.md 5.10."""

import json
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.endtoend.capsule import Place, alive, descendants, read_trace, replay, write_manifest

GRANTED: dict[str, Any] = {
    "plan": {"submit": True},
    "shell": {"allow": ["sh", "sleep", "cat", "false", "touch"]},
    "filesystem": {"read_only": ["kept"]},
}


def _manifest(steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    plan = {"id": "release", "steps": list(steps)}
    submitted = {"tool_calls": [{"name": "submit-plan", "input": plan}]}
    turns: list[dict[str, Any]] = [submitted, {"text": "done"}]
    return replay(
        turns,
        capabilities=GRANTED,
        trace={"capture": "content"},
        lifecycle={"shell_grace_secs": 0},
    )


def _run(
    place: Place, project: Path, *steps: Mapping[str, Any]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The report that the model read, and the trace."""
    write_manifest(project, _manifest(steps))
    done = place.mur("run", "--verbose", "--task", "go", cwd=project)
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("records: "))
    trace = read_trace(Path(line.removeprefix("records: ")))
    return _report(trace), trace


def _report(trace: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    (call,) = [line for line in trace if line["event_type"] == "tool_call"]
    text = str(call["output"]).split("\n", 1)[1].rsplit("\n</untrusted-content>", 1)[0]
    report: dict[str, Any] = json.loads(text)
    assert (call["status"] == "ok") is report["completed"]
    return report


def _plan_lines(trace: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [line for line in trace if line["event_type"].startswith("plan_")]


def _one(trace: Sequence[Mapping[str, Any]], kind: str) -> Mapping[str, Any]:
    (found,) = [line for line in trace if line["event_type"] == kind]
    return found


def test_a_plan_runs_in_waves_and_reports_every_step(place: Place, project: Path) -> None:
    write = {"operation": "write_file", "dest_path": "note.txt", "content": "hello"}
    report, trace = _run(
        place,
        project,
        {"id": "write", "tool": "tool-editor", "input": write},
        {"id": "read", "shell": "cat note.txt", "depends_on": ["write"],
         "if": "$write.status == 'success'"},
        {"id": "copy", "tool": "tool-editor", "depends_on": ["read"],
         "input": {"operation": "write_file", "dest_path": "copy.txt",
                   "content": "$read.output"}},
        {"id": "never", "shell": "touch never", "depends_on": ["read"],
         "if": "$read.output == 'other'"},
    )  # fmt: skip
    assert (report["plan_id"], report["completed"], report["failed_step"]) == (
        "release", True, None,
    )  # fmt: skip
    assert [(step["step_id"], step["status"]) for step in report["steps"]] == [
        ("write", "success"), ("read", "success"), ("never", "skipped"), ("copy", "success"),
    ]  # fmt: skip
    assert report["steps"][1]["output"] == "hello"
    lines = _plan_lines(trace)
    assert [line["event_type"] for line in lines] == [
        "plan_start",
        "plan_step_start", "plan_step",
        "plan_step_start", "plan_step",
        "plan_step", "plan_step_start", "plan_step",
        "plan_end",
    ]  # fmt: skip
    start, end = lines[0], lines[-1]
    assert start["steps"][1] == {
        "step_id": "read", "kind": "shell", "depends_on": ["write"], "has_condition": True,
    }  # fmt: skip
    assert all(line["parent_id"] == start["event_id"] for line in lines[1:])
    assert (end["outcome"], end["steps_total"], end["steps_succeeded"], end["steps_skipped"]) == (
        "completed", 4, 3, 1,
    )  # fmt: skip
    copied = next(line for line in lines if line.get("step_id") == "copy" and "status" in line)
    assert copied["input"]["content"] == "hello"
    assert not [line for line in trace if line["event_type"].startswith("shell")]


def test_commands_of_a_plan_are_never_moved_and_run_beside_each_other(
    place: Place, project: Path
) -> None:
    began = time.monotonic()
    report, trace = _run(
        place, project, *({"id": f"s{number}", "shell": "sleep 2"} for number in range(4))
    )
    steps = [line for line in _plan_lines(trace) if line["event_type"] == "plan_step"]
    assert report["completed"] and len(steps) == 4
    assert all(step["duration_ms"] >= 2000 for step in steps)
    end = _one(trace, "plan_end")
    assert end["duration_ms"] < 7000, "one after another would take eight seconds"
    assert time.monotonic() - began < 60


def test_each_kind_of_failure_settles_its_step_and_the_rest_runs(
    place: Place, project: Path
) -> None:
    report, trace = _run(
        place,
        project,
        {"id": "exit", "shell": "false", "on_error": "continue", "retries": 1},
        {"id": "gate", "shell": "touch kept/x", "on_error": "skip"},
        {"id": "field", "tool": "tool-editor", "input": {}, "on_error": "continue"},
        {"id": "child", "capsule": "local/worker", "input": "go", "on_error": "continue"},
        {"id": "last", "shell": "cat /etc/hostname", "depends_on": ["exit"], "on_error": "skip"},
    )
    steps = {step["step_id"]: step for step in report["steps"]}
    assert report["completed"]
    assert (steps["exit"]["status"], steps["gate"]["status"]) == ("failed", "skipped")
    assert "kept" in steps["gate"]["error"]
    assert "missing required field" in steps["field"]["error"]
    assert "capabilities.spawn.allow" in steps["child"]["error"]
    kinds = [line["event_type"] for line in trace]
    assert "protected_path_denied" in kinds and "tool_input_refused" not in kinds
    delegation = _one(trace, "delegation")
    assert (delegation["outcome"], delegation["capsule"], delegation["version"]) == (
        "refused", "local/worker", "0.1.0",
    )  # fmt: skip
    assert delegation["delegation_id"] is None and "spawn.allow" in delegation["reason"]
    tried = {
        line["step_id"]: line["attempts"] for line in trace if line["event_type"] == "plan_step"
    }
    assert (tried["exit"], tried["gate"], tried["field"], tried["child"]) == (2, 0, 0, 1)


def test_a_plan_that_stops_and_one_that_is_refused_are_failed_results(
    place: Place, project: Path
) -> None:
    report, trace = _run(
        place,
        project,
        {"id": "a", "shell": "sh -c 'echo sorry >&2; exit 3'"},
        {"id": "b", "shell": "touch b", "depends_on": ["a"]},
    )
    assert (report["completed"], report["failed_step"]) == (False, "a")
    assert report["steps"] == [
        {"step_id": "a", "status": "failed", "output": None, "error": "sorry\n"}
    ]
    assert _one(trace, "plan_end")["outcome"] == "failed"
    report, trace = _run(place, project, {"id": "a", "tool": "submit-plan"})
    assert report["failed_step"] == "a" and "submit-plan" in report["steps"][0]["error"]
    assert [line["event_type"] for line in _plan_lines(trace)] == ["plan_start", "plan_end"]


def test_a_cancel_settles_the_plan_and_nothing_of_it_runs_on(place: Place, project: Path) -> None:
    write_manifest(
        project,
        _manifest(
            [
                {"id": "long", "shell": "sleep 60"},
                {"id": "next", "shell": "touch next", "depends_on": ["long"]},
            ]
        ),
    )
    running = place.start("--task", "go", cwd=project)
    running.wait_for("plan_step_start")
    time.sleep(0.5)
    plan = Path(running.ready["records_dir"])
    kept = place.home / ".murmur" / "sessions" / running.ready["session_id"] / "runtime" / "plans"
    assert json.loads((kept / "plan-1.json").read_text())["id"] == "release"
    below = descendants(running.process.pid)
    status, _, _ = running.end(signal.SIGTERM)
    trace = read_trace(plan)
    assert status == 1 and alive(below) == []
    end = _one(trace, "plan_end")
    assert end["outcome"] == "canceled" and end["reason"]
    counts = ("steps_succeeded", "steps_failed", "steps_skipped")
    assert sum(end[name] for name in counts) == end["steps_total"] == 2
    assert _one(trace, "task_canceled")["phase"] == "plan"
    assert not (Path(running.ready["workdir"]) / "next").exists()
