"""Sessions on ground that gives way: a full disk, a work folder that goes, a home in use.

Issue 7; spec/observability.md 3 and 4.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.endtoend.capsule import (
    TIMEOUT_SECONDS,
    Place,
    mur_command,
    read_trace,
    replay,
    write_manifest,
)
from tests.endtoend.ground import Ground


def _mounted(
    place: Place, project: Path, target: Path, options: str, *arguments: str
) -> "subprocess.CompletedProcess[str]":
    """Runs `mur` where a tmpfs with those options covers `target`; what it held is kept beside.

    Its records are copied out to `<project>/kept` before the mount goes with its namespace.
    """
    unshare = shutil.which("unshare")
    if os.geteuid() != 0 or unshare is None:
        pytest.skip("needs root and unshare to mount a small disk")
    script = (
        'mount -t tmpfs -o "$OPTIONS" none "$TARGET" || exit 99; '
        '"$@"; status=$?; cp -r "$TARGET" "$KEPT"; exit $status'
    )
    return subprocess.run(
        [unshare, "--mount", "sh", "-c", script, "sh", *mur_command(), *arguments],
        cwd=project,
        env={
            **place.environ,
            "OPTIONS": options,
            "TARGET": str(target),
            "KEPT": str(project / "kept"),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


def _kinds(lines: Sequence[dict[str, object]]) -> list[object]:
    return [line["event_type"] for line in lines]


def test_e_run_007_ends_a_session_whose_disk_is_full(place: Place, project: Path) -> None:
    """A body that does not fit; what was written before it parses, and the end is written too."""
    write_manifest(project, replay([{"text": "x" * 60_000}], trace={"capture": "content"}))
    records = place.home / ".murmur" / "records"
    records.mkdir(parents=True, exist_ok=True, mode=0o700)
    done = _mounted(place, project, records, "size=64k,mode=0700", "run", "--task", "go")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "status:  failed"), done.stderr
    assert "error[E-RUN-007]: " in done.stderr and "No space left" in done.stderr
    assert "Traceback" not in done.stderr
    (kept,) = (project / "kept").rglob("ses_*")
    trace = read_trace(kept)
    assert _kinds(trace)[:2] == ["session_start", "task_start"]
    assert _kinds(trace)[-2:] == ["task_end", "session_end"]
    assert trace[-1]["exit_status"] == "failed"
    assert not any((place.home / ".murmur" / "sessions").iterdir())


def test_a_conversation_that_cannot_be_recorded_ends_nothing(place: Place, project: Path) -> None:
    write_manifest(project, replay([{"text": "done"}]))
    conversations = place.home / ".murmur" / "conversations"
    conversations.mkdir(parents=True, exist_ok=True, mode=0o700)
    done = _mounted(
        place, project, conversations, "ro,mode=0700", "run", "--task", "go", "--context", "ctx_ro"
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("is not recorded") == 1 and "Read-only" in done.stderr


def test_a_home_that_can_only_be_read_refuses_the_launch_and_nothing_is_made(
    place: Place, project: Path
) -> None:
    unshare = shutil.which("unshare")
    if os.geteuid() != 0 or unshare is None:
        pytest.skip("needs root and unshare to mount a home that can only be read")
    write_manifest(project, replay([{"text": "done"}]))
    script = 'mount --bind "$HOME" "$HOME" && mount -o remount,ro,bind "$HOME" && exec "$@"'
    wrapper = [unshare, "--mount", "sh", "-c", script, "sh"]
    done = Ground(place, project).under(wrapper, "run", "--task", "go")
    assert (done.returncode, done.stdout) == (1, "status:  failed\n"), done.stderr
    (complaint,) = [line for line in done.stderr.splitlines() if line.startswith("error[")]
    assert complaint.startswith("error[E-IO-003]: the directories of session ses_")
    assert f"Read-only file system: {place.home}/.murmur/records/" in complaint
    assert [each.name for each in project.iterdir()] == ["murmur.yaml"]


# Moves the wall clock of one process, and no other clock, by what a file says; in seconds.
_CLOCK = """
import os, time

def _moved():
    try:
        with open(os.environ["MUR_CLOCK"]) as file:
            return int(file.read() or 0)
    except OSError:
        return 0

_time, _time_ns = time.time, time.time_ns
time.time = lambda: _time() + _moved()
time.time_ns = lambda: _time_ns() + _moved() * 1_000_000_000
"""
DAY = 86_400


@pytest.mark.parametrize("moved", [2 * DAY, -2 * DAY], ids=["forward", "back"])
def test_a_clock_that_jumps_ends_nothing_and_no_duration_is_of_it(
    place: Place, project: Path, moved: int
) -> None:
    """Deadline, waits and durations go by the monotonic clock; ids ascend whatever the other says.

    The clock of the runtime's own process is moved, which its timestamps come from; commands and
    guests keep the machine's.
    """
    folder, clock = project / "clock", project / "clock" / "moved"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_CLOCK)
    shell = {"tool_calls": [{"name": "sleep", "input": {"command": "1"}}], "delay_ms": 1000}
    turns: list[dict[str, Any]] = [shell, {"text": "done"}]
    write_manifest(project, replay(turns, capabilities={"shell": {"allow": ["sleep"]}}))
    path = os.pathsep.join([str(folder), place.environ.get("PYTHONPATH", "")])
    environ = {"PYTHONPATH": path, "MUR_CLOCK": str(clock)}
    began = time.monotonic()
    flags = ("--task", "go", "--deadline", "100", "--context", f"ctx_clock_{moved}")
    running = place.start(*flags, cwd=project, environ=environ)
    running.wait_for("task_start")
    clock.write_text(str(moved))
    status = running.process.wait(TIMEOUT_SECONDS)
    _, complaint = running.process.communicate(timeout=TIMEOUT_SECONDS)
    took = (time.monotonic() - began) * 1000
    assert status == 0, complaint
    trace = running.trace()
    assert _kinds(trace) == [
        "session_start", "task_start", "inference", "tool_call", "shell", "inference",
        "task_end", "session_end",
    ]  # fmt: skip
    jumped = trace[-1]["timestamp"] - trace[0]["timestamp"] - moved * 1000
    assert 0 < jumped < took, "the clock did not move"
    for line in trace:
        assert 0 <= line.get("duration_ms", 0) <= took, line
    assert trace[-1]["duration_ms"] >= 2000
    ids = [line["event_id"] for line in trace]
    assert ids == sorted(ids)
    # Under the moved clock and without it the conversation goes on and the session is found.
    for more in (environ, {}):
        done = place.mur("run", "--task", "on", "--resume", "@1", cwd=project, environ=more)
        assert "E-TRC" not in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_a_work_folder_that_goes_away_costs_the_calls_that_need_it(
    place: Place, project: Path
) -> None:
    edit = {"operation": "write_file", "dest_path": "a/b", "content": "x"}
    asked = {"tool_calls": [{"name": "tool-editor", "input": edit}], "delay_ms": 1500}
    turns: list[dict[str, Any]] = [asked, {"text": "it is gone"}]
    write_manifest(project, replay(turns))
    work = project / "work"
    work.mkdir()
    running = place.start("--task", "go", "--workdir", str(work), cwd=project)
    running.wait_for("task_start")
    work.rmdir()
    status = running.process.wait(TIMEOUT_SECONDS)
    _, complaint = running.process.communicate(timeout=TIMEOUT_SECONDS)
    assert status == 0, complaint
    trace = running.trace()
    (call,) = [line for line in trace if line["event_type"] == "tool_call"]
    assert call["status"] == "error" and not work.exists()
    assert trace[-1]["exit_status"] == "ok"


def test_a_home_that_cannot_be_made_refuses_the_launch_and_nothing_is_made(
    place: Place, project: Path
) -> None:
    write_manifest(project, replay([{"text": "done"}]))
    closed = project / "closed"
    closed.mkdir()
    (closed / ".murmur").write_text("in the way")
    done = place.mur("run", "--task", "go", cwd=project, environ={"HOME": str(closed)})
    assert done.returncode == 1 and "error[E-IO-004]: " in done.stderr
    assert not (project / "workdir").exists()
