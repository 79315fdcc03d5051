"""A runtime killed at any moment: its trace and conversation parse, and --resume continues it.

Issue 7: SIGKILL at 200 random moments.
"""

import json
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

from tests.endtoend.capsule import Place, alive, descendants, replay, write_manifest

KILLS = int(os.environ.get("MURMUR_KILLS", "200"))
SEED = int(os.environ.get("MURMUR_KILL_SEED", "20260101"))
LONGEST = 2.0
CONTEXT = "ctx_killed"


def _edit(number: int) -> dict[str, Any]:
    given = {"operation": "write_file", "dest_path": f"f{number}", "content": "x"}
    return {"tool_calls": [{"name": "tool-editor", "input": given}], "delay_ms": 50}


def _parsed(trace: Path) -> list[dict[str, Any]]:
    """The lines of a trace; only the last may be torn."""
    *whole, _ = trace.read_bytes().split(b"\n")
    return [json.loads(line) for line in whole]


def _messages(place: Place, project: Path) -> list[dict[str, Any]]:
    done = place.mur("conversation", "show", CONTEXT, "--json", cwd=project)
    if done.returncode != 0:
        assert "E-CNV-001" in done.stderr
        return []
    found = json.loads(done.stdout)["messages"]
    assert isinstance(found, list)
    return found


def test_a_kill_at_any_moment_is_resumed(place: Place, project: Path) -> None:
    chance = random.Random(SEED)
    resumed = 0
    for number in range(KILLS):
        turns = [_edit(each) for each in range(12)] + [{"text": "done"}]
        write_manifest(project, replay(turns, lifecycle={"conversation": "threaded"}))
        place.mur("conversation", "rm", CONTEXT, cwd=project)
        running = place.start("--task", "go", "--context", CONTEXT, cwd=project)
        time.sleep(chance.uniform(0, LONGEST))
        below = descendants(running.process.pid)
        running.end(signal.SIGKILL)
        events = _parsed(running.records / "trace.jsonl")
        assert events[0]["event_type"] == "session_start"
        before = _messages(place, project)
        assert len({each["id"] for each in before}) == len(before)
        write_manifest(project, replay([{"when": {"newest": "again"}, "text": "went on"}]))
        address = str(running.ready["session_id"])
        done = place.mur("run", "--task", "again", "--resume", address, cwd=project)
        if any(each["event_type"] == "task_start" for each in events) and before:
            assert done.returncode == 0, (number, done.stderr)
            assert _messages(place, project)[: len(before)] == before
            resumed += 1
        else:
            assert "E-RUN-016" in done.stderr or "E-RUN-017" in done.stderr, (number, done.stderr)
        end = time.monotonic() + 10
        while alive(below) and time.monotonic() < end:
            time.sleep(0.05)
        assert alive(below) == []
        if done.returncode == 0:
            assert list((place.home / ".murmur" / "sessions").iterdir()) == []
    print(f"{KILLS} kills, {resumed} conversations continued")
    assert resumed > KILLS // 2
