"""A runtime killed at any moment of background work and plans: nothing of it lives on, what was
lost is told once, and the next launch takes its runtime directory away.

Issue 7: SIGKILL at 200 random moments.
"""

import json
import os
import random
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.endtoend.capsule import Place, alive, descendants, replay, shell_turn, write_manifest

KILLS = int(os.environ.get("MURMUR_KILLS", "200"))
SEED = int(os.environ.get("MURMUR_KILL_SEED", "20260101"))
LONGEST = 3.0
GRANTED = {"shell": {"allow": ["bash", "sleep"]}, "plan": {"submit": True}}
LIFECYCLE = {
    "task_acceptance": "queue", "after_task": "sleep", "shell_grace_secs": 0,
    "conversation": "threaded",
}  # fmt: skip
PLAN = {
    "id": "p",
    "steps": [
        {"id": "a", "shell": "sleep 0.2"},
        {"id": "b", "shell": "bash -c 'sleep 60 & sleep 0.3'", "on_error": "continue"},
        {"id": "c", "shell": "sleep 0.4", "depends_on": ["a"]},
    ],
}
TURNS = [
    {"when": {"newest": "did not outlive it"}, "text": "noted"},
    {"when": {"newest": "background command wrk_"}, "text": "noted"},
    {"when": {"newest": "again"}, "text": "went on"},
    shell_turn("bash", "echo out; sleep 0.4; echo more"),
    shell_turn("bash", "setsid sleep 60 & sleep 61"),
    {"tool_calls": [{"name": "submit-plan", "input": PLAN}]},
    shell_turn("bash", "trap '' TERM; sleep 62"),
    {"text": "done"},
]


def _parsed(trace: Path) -> list[dict[str, Any]]:
    """The lines of a trace; one that a kill tore may stand anywhere before a later marker."""
    lines = []
    for raw in trace.read_bytes().split(b"\n"):
        try:
            lines.append(json.loads(raw))
        except ValueError:
            continue
    return lines


def _lost(lines: Sequence[Mapping[str, Any]]) -> set[str]:
    """The work ids without an end."""
    ends = {"shell_completed", "shell_abandoned"}
    ended = {line["work_id"] for line in lines if line["event_type"] in ends}
    return {line["work_id"] for line in lines if line["event_type"] == "shell_detached"} - ended


def _told(done_stdout: str) -> list[dict[str, Any]]:
    line = next(line for line in done_stdout.splitlines() if line.startswith("records: "))
    trace = _parsed(Path(line.removeprefix("records: ")) / "trace.jsonl")
    return [
        line
        for line in trace
        if line["event_type"] == "task_start" and line["source"] == "detached_lost"
    ]


def test_a_kill_at_any_moment_leaves_nothing_and_is_told_once(place: Place, project: Path) -> None:
    chance = random.Random(SEED)
    resumed = lost_in_all = 0
    write_manifest(project, replay(TURNS, capabilities=GRANTED, lifecycle=LIFECYCLE))
    for number in range(KILLS):
        context = f"ctx_killed_{number}"
        running = place.start("--task", "go", "--context", context, cwd=project)
        time.sleep(chance.uniform(0, LONGEST))
        below = descendants(running.process.pid)
        running.end(signal.SIGKILL)
        end = time.monotonic() + 10
        while alive(below) and time.monotonic() < end:
            time.sleep(0.02)
        assert alive(below) == [], (number, "something outlived its runtime")
        trace = running.records / "trace.jsonl"
        before = _parsed(trace)
        assert before[0]["event_type"] == "session_start"
        lost = _lost(before)
        session = str(running.ready["session_id"])
        flags = ("--verbose", "--task", "again", "--lifecycle-after-task", "exit")
        done = place.mur("run", *flags, "--resume", session, cwd=project)
        if not any(line["event_type"] == "task_start" for line in before):
            assert done.returncode == 1 and "E-RUN-01" in done.stderr, (number, done.stderr)
        elif done.returncode != 0:
            # Killed before the first message was recorded.
            assert "E-RUN-017" in done.stderr and not lost, (number, done.stderr)
        else:
            resumed += 1
            assert len(_told(done.stdout)) == (1 if lost else 0), number
            marked = [line["work_id"] for line in _parsed(trace)
                      if line["event_type"] == "shell_lost"]  # fmt: skip
            assert sorted(marked) == sorted(lost), number
            if lost:
                lost_in_all += len(lost)
                second = place.mur("run", *flags, "--resume", session, cwd=project)
                assert second.returncode == 0 and _told(second.stdout) == [], number
        assert not (place.home / ".murmur" / "sessions" / session).exists(), number
    print(f"\n{KILLS} kills: {resumed} resumed, {lost_in_all} lost commands told")
    assert resumed and lost_in_all
