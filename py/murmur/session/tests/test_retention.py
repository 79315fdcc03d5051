"""What a launch removes. seeds/manifest-schema.md, *Retention*; spec/sessions.md 23."""

import dataclasses
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from murmur.conversation.record import Record
from murmur.core.home import Home
from murmur.core.ids import new_id
from murmur.core.safefs import open_root
from murmur.manifest.session import ContextRetain, TraceRetain
from murmur.session.directories import WorkPlace
from murmur.session.retention import Retention, expired_sessions
from murmur.session.tests.scripted import SESSION_START
from murmur.trace.reader import read_trace
from murmur.trace.writer import TraceWriter

NOW = 1_800_000_000_000
DAY = 86_400


def session_at(seconds_ago: int, last: int = 0) -> str:
    stamp = f"{NOW - seconds_ago * 1000:012x}"
    return f"ses_{stamp}7{last:019x}"


OWN = session_at(0)
OLDER = [session_at(seconds) for seconds in (10, DAY, 2 * DAY, 9 * DAY)]


@pytest.mark.parametrize(
    ("rule", "removed"),
    [
        (TraceRetain(max_sessions=1), dict.fromkeys(OLDER, "max_sessions")),
        (TraceRetain(max_sessions=3), dict.fromkeys(OLDER[2:], "max_sessions")),
        (TraceRetain(max_sessions=9), {}),
        (TraceRetain(max_age=DAY), dict.fromkeys(OLDER[2:], "max_age")),
        (
            TraceRetain(max_sessions=3, max_age=5 * DAY),
            {OLDER[2]: "max_sessions", OLDER[3]: "max_age"},
        ),
    ],
)
def test_a_session_stays_when_it_is_inside_both_limits(
    rule: TraceRetain, removed: Mapping[str, str]
) -> None:
    assert expired_sessions([OWN, *OLDER], OWN, rule, NOW) == removed


def test_what_is_not_older_than_this_session_is_never_removed() -> None:
    later = session_at(-5)
    rule = TraceRetain(max_sessions=1, max_age=1)
    assert set(expired_sessions([later, OWN, OLDER[3]], OWN, rule, NOW)) == {OLDER[3]}


@dataclasses.dataclass(frozen=True)
class Ground:
    home: Home
    place: WorkPlace
    retention: Retention
    folder: Path

    @property
    def group(self) -> Path:
        return self.home.records_group(self.place.root)

    def record(self, context: str, owner: str | None = "shey", count: int = 3) -> Record:
        record = Record(self.home, "shey", context, owner)
        for number in range(count):
            record.append({"role": "user", "content": str(number), "id": new_id("msg")})
        return record

    def lines(self) -> list[Mapping[str, Any]]:
        found = read_trace(self.folder / "trace.jsonl").of("retention")
        keys = ("store", "reason", "removed", "targets", "messages_dropped")
        return [{key: line[key] for key in keys if key in line} for line in found]


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    home = Home(tmp_path / ".murmur")
    home.root.mkdir()
    folder = tmp_path / "own"
    (folder / "logs").mkdir(parents=True)
    records = open_root(folder)
    trace = TraceWriter(records, "ses_own")
    trace.write("session_start", **SESSION_START)
    return Ground(home, WorkPlace(tmp_path / "work", None), Retention(home, trace, records), folder)


def old(record: Record, days: int = 30) -> None:
    then = time.time() - days * DAY
    os.utime(record.path, (then, then))


def test_expired_records_directories_go_whole_and_are_traced(ground: Ground) -> None:
    names = [new_id("ses") for _ in range(4)]
    for name in names:
        (ground.group / name / "blobs").mkdir(parents=True)
        (ground.group / name / "trace.jsonl").write_text("x")
    (ground.group / "notes").mkdir()
    live = names[1]
    (ground.home.sessions / live).mkdir(parents=True)
    ground.retention.sessions(TraceRetain(max_sessions=2), ground.place, names[3])
    assert sorted(each.name for each in ground.group.iterdir()) == sorted(
        [live, names[2], names[3], "notes"]
    )
    assert ground.lines() == [
        {"store": "sessions", "reason": "max_sessions", "removed": 1, "targets": [names[0]]}
    ]


def test_a_link_in_the_group_is_neither_followed_nor_removed(
    ground: Ground, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    ground.group.parent.mkdir(parents=True, exist_ok=True)
    ground.group.mkdir()
    (ground.group / new_id("ses")).symlink_to(outside)
    ground.retention.sessions(TraceRetain(max_sessions=1), ground.place, new_id("ses"))
    assert (outside / "kept").exists() and ground.lines() == []


def test_a_group_behind_a_link_is_left_and_said(ground: Ground, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "work" / new_id("ses")).mkdir(parents=True)
    ground.group.parent.parent.mkdir(parents=True, exist_ok=True)
    ground.group.parent.symlink_to(outside)
    ground.retention.sessions(TraceRetain(max_sessions=1), ground.place, new_id("ses"))
    assert len(list((outside / "work").iterdir())) == 1 and ground.lines() == []


def test_the_opened_record_is_trimmed_to_the_newest(ground: Ground) -> None:
    record = ground.record("ctx_1", count=5)
    ground.retention.conversations(ContextRetain(max_messages=2), "shey", "shey", "ctx_1")
    assert [each["content"] for each in record.load().messages] == ["3", "4"]
    assert ground.lines() == [
        {
            "store": "records",
            "reason": "max_messages",
            "removed": 1,
            "targets": ["ctx_1"],
            "messages_dropped": 3,
        }
    ]


def test_an_unowned_record_is_adopted_by_the_launch_that_opens_it(ground: Ground) -> None:
    record = ground.record("ctx_1", owner=None)
    ground.retention.conversations(ContextRetain(max_messages=9), "shey", "shey", "ctx_1")
    header = record.load().header
    assert header is not None and header.capsule == "shey"
    assert ground.lines() == []


def test_another_capsule_s_record_is_neither_trimmed_nor_removed(ground: Ground) -> None:
    mine, theirs = ground.record("ctx_1", owner="other"), ground.record("ctx_2", owner="other")
    old(theirs)
    rule = ContextRetain(max_messages=1, max_age=DAY)
    ground.retention.conversations(rule, "shey", "shey", "ctx_1")
    assert len(mine.load().messages) == len(theirs.load().messages) == 3
    assert ground.lines() == []


def test_the_age_sweep_takes_owned_records_alone_and_not_the_one_in_use(ground: Ground) -> None:
    gone, used = ground.record("ctx_1"), ground.record("ctx_2")
    unowned, fresh = ground.record("ctx_3", owner=None), ground.record("ctx_4")
    for record in (gone, used, unowned):
        old(record)
    ground.retention.conversations(ContextRetain(max_age=DAY), "shey", "shey", "ctx_2")
    assert [each.directory.exists() for each in (gone, used, unowned, fresh)] == [
        False,
        True,
        True,
        True,
    ]
    assert ground.lines() == [
        {"store": "records", "reason": "max_age", "removed": 1, "targets": ["ctx_1"]}
    ]


def test_a_launch_without_a_context_trims_nothing(ground: Ground) -> None:
    record = ground.record("ctx_1", count=5)
    ground.retention.conversations(ContextRetain(max_messages=1), "shey", "shey", None)
    assert len(record.load().messages) == 5


def test_a_store_that_does_not_exist_yet_has_nothing_to_remove(ground: Ground) -> None:
    ground.retention.conversations(ContextRetain(max_age=1), "shey", "shey", "ctx_1")
    assert ground.lines() == [] and not ground.home.conversations.exists()
