"""A runtime killed at any moment of background work, plans and compactions: nothing of it lives on,
its trace and conversation can be read, what was lost is told once, and the next launch takes its
runtime directory away.

Issue 7: SIGKILL at 200 random moments.
"""

import json
import os
import random
import signal
import time
from collections import Counter
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
# Some 9,000 tokens: with what else is said, over the threshold of the budget below.
MUCH = "some words of an answer that goes on for long " * 900
BOUNDED = {
    "model": "replay",
    "max_tokens": 1000,
    "driver": {"artifact": "local/driver-replay"},
    "compaction": {"threshold": 0.5},
}
ANOTHER = {"id": "q", "steps": [{"id": "a", "shell": "bash -c 'echo all-done'"}]}
# The task is over after some 1.5 s; until the kill, tasks tell of the commands that have ended,
# each compacting what it loads.
TURNS = [
    {"when": {"system": "working memory"}, "text": "much was done"},
    {"when": {"newest": "did not outlive it"}, "text": "noted"},
    {"when": {"newest": "background command wrk_"}, "text": "noted"},
    {"when": {"newest": "again"}, "text": "went on"},
    {"when": {"newest": "all-done"}, "text": "done"},
    shell_turn("bash", "echo out; sleep 0.4; echo more"),
    shell_turn("bash", "setsid sleep 60 & sleep 61"),
    {"tool_calls": [{"name": "submit-plan", "input": PLAN}]},
    shell_turn("bash", "trap '' TERM; sleep 62"),
    {"text": MUCH, "tool_calls": [{"name": "submit-plan", "input": ANOTHER}]},
]


def _manifest() -> dict[str, Any]:
    manifest = replay(
        TURNS,
        capabilities=GRANTED,
        lifecycle=LIFECYCLE,
        inference=BOUNDED,
        context={"max_tokens": 12_000},
    )
    hook = {"name": "local/hook-compact", "version": "0.1.0", "runtime": "hook"}
    manifest["artifacts"].append(hook)
    return manifest


def _killed(trace: Path) -> list[dict[str, Any]]:
    """The lines that a kill has left; only the last may be torn."""
    *whole, _ = trace.read_bytes().split(b"\n")
    return [json.loads(line) for line in whole]


def _parsed(trace: Path) -> list[dict[str, Any]]:
    """The lines once markers were added after what a kill tore."""
    lines = []
    for raw in trace.read_bytes().split(b"\n"):
        try:
            lines.append(json.loads(raw))
        except ValueError:
            continue
    return lines


def _messages(place: Place, project: Path, context: str) -> list[dict[str, Any]]:
    done = place.mur("conversation", "show", context, "--json", cwd=project)
    if done.returncode != 0:
        assert "E-CNV-001" in done.stderr, done.stderr
        return []
    found = json.loads(done.stdout)["messages"]
    assert isinstance(found, list)
    return found


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
    met: Counter[str] = Counter()
    write_manifest(project, _manifest())
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
        before = _killed(trace)
        assert before[0]["event_type"] == "session_start"
        met.update({line["event_type"] for line in before})
        said = _messages(place, project, context)
        assert len({each["id"] for each in said}) == len(said), number
        lost = _lost(before)
        session = str(running.ready["session_id"])
        flags = ("--verbose", "--task", "again", "--lifecycle-after-task", "exit")
        done = place.mur("run", *flags, "--resume", session, cwd=project)
        if not any(line["event_type"] == "task_start" for line in before):
            assert done.returncode == 1 and "E-RUN-01" in done.stderr, (number, done.stderr)
        elif not said:
            assert "E-RUN-017" in done.stderr and not lost, (number, done.stderr)
        else:
            assert done.returncode == 0, (number, done.stderr)
            resumed += 1
            assert _messages(place, project, context)[: len(said)] == said, number
            assert len(_told(done.stdout)) == (1 if lost else 0), number
            marked = [line["work_id"] for line in _parsed(trace)
                      if line["event_type"] == "shell_lost"]  # fmt: skip
            assert sorted(marked) == sorted(lost), number
            if lost:
                lost_in_all += len(lost)
                second = place.mur("run", *flags, "--resume", session, cwd=project)
                assert second.returncode == 0 and _told(second.stdout) == [], number
        sessions = place.home / ".murmur" / "sessions"
        assert not any(each.name.startswith("ses_") for each in sessions.iterdir()), number
    middle = ("plan_start", "plan_end", "compaction", "shell_detached", "shell_completed")
    print(f"\n{KILLS} kills: {resumed} resumed, {lost_in_all} lost commands told; "
          + ", ".join(f"{met[kind]} after {kind}" for kind in middle))  # fmt: skip
    assert resumed and lost_in_all and (KILLS < 20 or all(met[kind] for kind in middle))
