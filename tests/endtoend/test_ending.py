"""How a session ends when it is told to, or killed."""

import os
import signal
import time
from pathlib import Path

from tests.endtoend.capsule import (
    Place,
    alive,
    descendants,
    read_trace,
    replay,
    shell_turn,
    write_manifest,
)

SLOW = [{"text": "late", "delay_ms": 30_000}]


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


def test_a_first_sigterm_cancels_the_task_and_tears_down(place: Place, project: Path) -> None:
    write_manifest(project, replay(SLOW))
    running = place.start("--task", "go", cwd=project)
    running.wait_for("task_start")
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
