"""How a session ends when it is told to, or killed."""

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.endtoend.capsule import (
    Place,
    alive,
    descendants,
    mur_command,
    read_trace,
    replay,
    shell_turn,
    write_manifest,
)

SLOW = [{"text": "late", "delay_ms": 30_000}]
CAPPED: dict[str, Any] = {
    "inference": {
        "model": "replay",
        "max_turns": 1,
        "driver": {"artifact": "local/driver-replay"},
    }
}


def test_sigkill_in_the_middle_of_a_turn_leaves_a_trace_that_parses_and_no_child(
    place: Place, project: Path
) -> None:
    write_manifest(project, replay(SLOW))
    running = place.start("--task", "go", cwd=project)
    running.wait_for("task_start")
    time.sleep(0.3)
    below = descendants(running.process.pid)
    assert len(below) >= 2
    status, _, _ = running.end(signal.SIGKILL)
    assert status == -signal.SIGKILL
    end = time.monotonic() + 5
    while alive(below) and time.monotonic() < end:
        time.sleep(0.02)
    assert alive(below) == []
    events = [line["event_type"] for line in read_trace(running.records)]
    assert events == ["session_start", "task_start"]


def test_sigkill_during_a_command_leaves_no_command_behind(place: Place, project: Path) -> None:
    turns = [shell_turn("sleep", "60"), {"text": "never"}]
    write_manifest(project, replay(turns, capabilities={"shell": {"allow": ["sleep"]}}))
    running = place.start("--task", "go", cwd=project)
    running.wait_for("inference")
    end = time.monotonic() + 20
    below: list[int] = []
    while time.monotonic() < end:
        below = descendants(running.process.pid)
        names = [Path(f"/proc/{pid}/comm") for pid in below]
        if any(name.exists() and name.read_text() == "sleep\n" for name in names):
            break
        time.sleep(0.02)
    running.end(signal.SIGKILL)
    end = time.monotonic() + 5
    while alive(below) and time.monotonic() < end:
        time.sleep(0.02)
    assert alive(below) == []


def test_the_next_launch_sweeps_the_runtime_directory_of_a_killed_session(
    place: Place, project: Path
) -> None:
    write_manifest(project, replay(SLOW))
    running = place.start("--task", "go", cwd=project)
    runtime = place.home / ".murmur" / "sessions" / str(running.ready["session_id"])
    assert runtime.is_dir()
    running.end(signal.SIGKILL)
    assert runtime.is_dir()
    write_manifest(project, replay([{"text": "done"}]))
    assert place.mur("run", "--task", "go", cwd=project).returncode == 0
    assert not runtime.exists()


def test_the_next_launch_removes_the_cgroups_of_a_killed_session(
    place: Place, project: Path
) -> None:
    shell = {"shell": {"allow": ["true"]}}
    write_manifest(project, replay(SLOW, capabilities=shell))
    running = place.start("--task", "go", cwd=project)
    name = f"murmur-*-{running.process.pid}-*"
    found = list(Path("/sys/fs/cgroup").rglob(name))
    running.end(signal.SIGKILL)
    if not found:
        pytest.skip("INCONCLUSIVE: this host gives no scope below /sys/fs/cgroup")
    write_manifest(project, replay([{"text": "done"}], capabilities=shell))
    assert place.mur("run", "--task", "go", cwd=project).returncode == 0
    assert not any(folder.exists() for folder in found)


def test_a_first_sigterm_cancels_the_task_and_tears_down(place: Place, project: Path) -> None:
    write_manifest(project, replay(SLOW))
    running = place.start("--task", "go", cwd=project)
    running.wait_for("task_start")
    runtime = place.home / ".murmur" / "sessions" / str(running.ready["session_id"]) / "runtime"
    assert (runtime / "task.md").read_text() == "go"
    assert f"Capsule URL: {running.ready['url']}" in (runtime / "MURMUR.md").read_text()
    packed = yaml.safe_load((runtime / "tools" / "driver-replay" / "murmur.yaml").read_text())
    assert (packed["name"], packed["runtime"]) == ("driver-replay", "driver")
    began = time.monotonic()
    status, output, complaint = running.end(signal.SIGTERM)
    assert status == 1
    assert time.monotonic() - began < 5
    assert output == ""
    assert "error[E-RUN-040]: the task ended canceled" in complaint
    events = {line["event_type"]: line for line in running.trace()}
    assert events["task_end"]["exit_status"] == "canceled"
    assert events["session_end"]["exit_status"] == "canceled"
    assert list(events) == [
        "session_start",
        "task_start",
        "task_canceled",
        "task_end",
        "session_end",
    ]


def test_a_session_that_waits_for_a_task_ends_ok_on_sigterm(place: Place, project: Path) -> None:
    lifecycle = {"task_acceptance": "queue", "after_task": "sleep"}
    write_manifest(project, replay([{"text": "x"}], lifecycle=lifecycle))
    running = place.start(cwd=project)
    record = place.home / ".murmur" / "running" / f"{running.ready['session_id']}.json"
    assert record.stat().st_mode & 0o777 == 0o600
    status, _, complaint = running.end(signal.SIGTERM)
    assert (status, complaint) == (0, "")
    assert not record.exists()
    assert running.trace()[-1]["exit_status"] == "ok"


@pytest.mark.parametrize(("sent", "expected"), [(signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_an_interrupt_ends_the_session_as_sigterm_does(
    place: Place, project: Path, sent: signal.Signals, expected: int
) -> None:
    write_manifest(project, replay(SLOW))
    running = place.start("--task", "go", cwd=project)
    running.wait_for("task_start")
    status, _, complaint = running.end(sent)
    assert status == expected
    assert "error[E-RUN-040]" in complaint and "Traceback" not in complaint
    assert running.trace()[-1]["exit_status"] == "canceled"


def test_a_task_that_waits_when_the_session_ends_by_itself_is_rejected(
    place: Place, project: Path
) -> None:
    lifecycle = {"task_acceptance": "queue", "after_task": "exit"}
    turns = [{"text": "answer", "delay_ms": 1500}]
    write_manifest(project, replay(turns, lifecycle=lifecycle))
    running = place.start("--task", "go", cwd=project)
    running.wait_for("task_start")
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "and then?"}]}
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "SendMessage",
        "params": {"message": message, "configuration": {"returnImmediately": True}},
    }
    httpx.post(running.url, json=call, headers={"a2a-version": "1.0"}, timeout=10)
    assert running.process.wait(timeout=60) == 0
    assert [line["event_type"] for line in running.trace()][-3:] == [
        "task_end",
        "task_rejected",
        "session_end",
    ]


def test_lines_for_closed_streams_are_kept_to_the_last(place: Place, project: Path) -> None:
    write_manifest(project, replay([{"tool_calls": [{"name": "x", "input": {}}]}], **CAPPED))
    closed = ["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *mur_command(), "run", "--task", "go"]
    done = subprocess.run(closed, cwd=project, env=place.environ, timeout=120, check=False)
    assert done.returncode == 1
    root = place.home / ".murmur" / "records" / str(project / "workdir").lstrip("/")
    (log,) = root.glob("ses_*/logs/bootstrap.log")
    lines = log.read_text().splitlines()
    assert [line.split(":")[0] for line in lines[:3]] == ["murmur", "session", "status"]
    assert lines[2] == "status:  max_turns_reached"
    assert lines[3].startswith("error[E-RUN-040]")


def test_a_reader_that_goes_away_does_not_end_the_session(place: Place, project: Path) -> None:
    write_manifest(project, replay([{"text": "answer", "delay_ms": 1500}]))
    running = place.start("--task", "go", cwd=project)
    assert running.process.stdout is not None and running.process.stderr is not None
    running.process.stdout.close()
    running.process.stderr.close()
    assert running.process.wait(timeout=60) == 0
    assert (running.records / "out" / "result.txt").read_text() == "answer"


def test_the_readiness_line_says_where_the_capsule_is(place: Place, project: Path) -> None:
    write_manifest(project, replay([{"text": "answer"}]))
    running = place.start("--task", "go", cwd=project)
    status, output, _ = running.process.wait(timeout=60), "", ""
    assert status == 0 and output == ""
    ready = running.ready
    assert sorted(ready) == [
        "name",
        "pid",
        "records_dir",
        "session_id",
        "url",
        "version",
        "workdir",
    ]
    assert ready["pid"] == running.process.pid
    assert ready["url"].startswith("localhost:")
    assert ready["workdir"] == str(project / "workdir" / ready["session_id"])
    assert os.path.isdir(ready["workdir"])
