"""Commands lost with their runtime. spec/sessions.md 14.4; spec/observability.md 5.4."""

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from murmur.core.home import Home
from murmur.session.lost_commands import reconcile, report_text
from murmur.session.resume import Resumed

OLD = "ses_" + "1" * 32


def _detached(work_id: str, at: int = 1000) -> dict[str, Any]:
    return {
        "event_type": "shell_detached", "event_id": "evt_d", "parent_id": "evt_s",
        "session_id": OLD, "timestamp": at, "turn": 0, "task_id": "tsk_1", "work_id": work_id,
        "binary": "/usr/bin/bash", "command": "make all", "grace_ms": 10000,
    }  # fmt: skip


START = {"event_type": "session_start", "event_id": "evt_s", "parent_id": None, "session_id": OLD}


class Old:
    """The records of a dead session."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder / "home")
        self.home.root.mkdir()
        self.records = folder / OLD
        self.records.mkdir()
        self.resumed = Resumed(OLD, "ctx_1", self.records / "trace.jsonl")

    def write(self, *lines: Mapping[str, Any], tail: str = "") -> None:
        text = "".join(json.dumps(line) + "\n" for line in lines)
        self.resumed.trace.write_text(text + tail)

    def lost(self) -> list[str]:
        found = reconcile(self.home, self.resumed, "ses_new", "tsk_new")
        self.text = report_text(self.resumed, found) if found else ""
        return [each.work_id for each in found]

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.resumed.trace.read_text().splitlines()]


@pytest.fixture
def old(tmp_path: Path) -> Old:
    return Old(tmp_path)


def test_a_demotion_without_an_end_is_marked_and_told_once(old: Old) -> None:
    old.write(START, _detached("wrk_1", 1_700_000_000_000))
    assert old.lost() == ["wrk_1"]
    for fact in (OLD, "wrk_1", "/usr/bin/bash", "make all", "2023-11-14T22:13:20"):
        assert fact in old.text
    marker = old.lines()[-1]
    assert (marker["event_type"], marker["parent_id"], marker["session_id"]) == (
        "shell_lost", "evt_s", OLD,
    )  # fmt: skip
    assert (marker["detached_at_ms"], marker["reconciled_by_session"]) == (
        1_700_000_000_000, "ses_new",
    )  # fmt: skip
    assert marker["reconciled_task_id"] == "tsk_new"
    assert not {"exit_code", "status", "duration_ms", "output_path"} & set(marker)
    assert old.lost() == []


@pytest.mark.parametrize("end", ["shell_completed", "shell_abandoned", "shell_lost"])
def test_one_that_is_accounted_for_is_not_lost(old: Old, end: str) -> None:
    old.write(START, _detached("wrk_1"), {"event_type": end, "work_id": "wrk_1"},
              _detached("wrk_2"))  # fmt: skip
    assert old.lost() == ["wrk_2"]


def test_a_torn_tail_is_joined_by_nothing(old: Old) -> None:
    old.write(START, _detached("wrk_1"), _detached("wrk_2"), tail='{"event_type":"inf')
    assert old.lost() == ["wrk_1", "wrk_2"]
    lines = old.resumed.trace.read_text().splitlines()
    assert lines[3] == '{"event_type":"inf'
    assert [json.loads(line)["work_id"] for line in lines[4:]] == ["wrk_1", "wrk_2"]


def test_without_the_old_start_the_marker_has_no_parent(old: Old) -> None:
    old.write(_detached("wrk_1"))
    assert old.lost() == ["wrk_1"]
    assert "parent_id" not in old.lines()[-1]


def test_a_session_that_lives_has_lost_nothing(old: Old) -> None:
    old.write(START, _detached("wrk_1"))
    runtime = old.home.sessions / OLD
    runtime.mkdir(parents=True)
    descriptor = os.open(runtime / ".lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    assert old.lost() == []
    os.close(descriptor)
    assert old.lost() == ["wrk_1"]


def test_what_cannot_be_marked_is_not_told(old: Old) -> None:
    old.write(START, _detached("wrk_1"))
    moved = old.records / "moved"
    old.resumed.trace.rename(moved)
    old.resumed.trace.symlink_to(moved)
    assert old.lost() == []
    assert len(moved.read_text().splitlines()) == 2
