"""`mur ps` row by row: what each record says, what becomes of it, and what is printed.

CLI reference, *mur ps* and *A record is a hint*.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from murmur.cli.tests.box import Box
from murmur.cli.tests.running import Records, card_of, process, session

OTHER_MUR = {"session_id": session(9), "pid": 1, "url": "localhost:1"}
FORMATION = "frm_019f01a93ff27c1e9a3b5d0c4e8f2a61"


@pytest.fixture
def records(box: Box) -> Records:
    return Records(box)


@pytest.fixture(scope="module")
def live() -> Iterator[tuple[int, str]]:
    with process() as found:
        yield found


def gone_pid() -> int:
    """The id of a process that has ended and was reaped."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child


def test_a_machine_running_nothing_prints_one_line_and_makes_nothing(box: Box) -> None:
    assert box.ok("ps") == ["no running capsules"]
    assert json.loads("".join(box.ok("ps", "--json"))) == {"capsules": [], "formations": []}
    assert not (box.home / ".murmur").exists()


def test_a_directory_that_cannot_be_read_is_e_run_028(box: Box) -> None:
    (box.home / ".murmur").mkdir()
    (box.home / ".murmur" / "running").write_text("")
    for arguments in (["ps"], ["ps", "--json"], ["ps", "--verbose"]):
        assert str(box.home / ".murmur" / "running") in box.refused("E-RUN-028", *arguments)
    for command in (["stop", "@1"], ["watch"], ["cancel", "@1", "tsk_1"], ["token"]):
        box.refused("E-RUN-028", *command)
    box.refused("E-RUN-028", "control", "show")


def test_a_home_that_cannot_be_located_is_e_run_028(box: Box) -> None:
    del box.environment["HOME"]
    assert "HOME is not set" in box.refused("E-RUN-028", "ps", "--json")


def test_json_and_verbose_are_a_usage_error(box: Box) -> None:
    assert "--verbose" in box.usage("ps", "--json", "--verbose")


def test_all_three_layers_pass(box: Box, records: Records, live: tuple[int, str]) -> None:
    with card_of(session(1)) as url:
        records.write(1, live[0], process_start=live[1], url=url)
        head, row = box.ok("ps")
    assert head == (
        "SESSION                               CAPSULE                   STATUS        DETACHED"
        "  UPTIME     URL"
    )
    assert row.startswith(f"{session(1)}  worker@0.1.0              running       yes       ")
    assert row.endswith(f"  {url}")


def test_a_script_capsule_is_decided_by_its_process(
    box: Box, records: Records, live: tuple[int, str]
) -> None:
    records.write(1, live[0], process_start=live[1], url=None, outlives_launcher=False)
    row = box.ok("ps")[1].split()
    assert (row[2], row[3], row[5]) == ("running", "no", "-")
    assert json.loads("".join(box.ok("ps", "--json")))["capsules"][0]["url"] is None


@pytest.mark.parametrize("named", [None, session(2)], ids=["no session", "another session"])
def test_a_card_that_does_not_name_the_session_is_unreachable_and_kept(
    box: Box, records: Records, live: tuple[int, str], named: str | None
) -> None:
    with card_of(named) as url:
        records.write(1, live[0], process_start=live[1], url=url)
        assert box.ok("ps")[1].split()[2] == "unreachable"
    assert records.names() == [f"{session(1)}.json"]


def test_a_quiet_door_is_unreachable_and_its_record_kept(
    box: Box, records: Records, live: tuple[int, str]
) -> None:
    records.write(1, live[0], process_start=live[1])
    assert box.ok("ps")[1].split()[2] == "unreachable"
    assert records.names() == [f"{session(1)}.json"]


STALE = {
    "no such process": (gone_pid, "1", "no process holds pid {pid}"),
    "a reused id": (
        os.getpid,
        "1",
        "pid {pid} is held by a process that started at another time",
    ),
}


@pytest.mark.parametrize("case", STALE)
def test_a_record_whose_process_is_gone_is_removed_and_named_under_verbose(
    box: Box, records: Records, case: str
) -> None:
    find, started, reason = STALE[case]
    pid = find()
    for arguments, stderr in (
        (["ps"], "pruned 1 stale record; mur ps --verbose names each\n"),
        (["ps", "--verbose"], f"pruned: {session(1)} — {reason.format(pid=pid)}\n"),
    ):
        records.write(1, pid, process_start=started)
        (records.folder / f"{session(1)}.control").write_text("ctl1.x.y")
        before = records.names()
        assert json.loads("".join(box.ok("ps", "--json")))["capsules"] == []
        assert records.names() == before
        done = box.run(*arguments)
        assert (done.returncode, done.stdout) == (0, "no running capsules\n")
        assert done.stderr == stderr
        assert records.names() == []


UNREADABLE: dict[str, str | dict[str, object]] = {
    "no JSON": "{",
    "no object": "[]",
    "no session id": "{}",
    "a formation that is none": {"formation_id": "frm_1"},
    "a member that is none": {"formation_member": "Not A Name"},
    "a launcher without a start": {"formation_launcher": {"pid": 1}},
    "a process id that is none": {"pid": 0},
    "a process id that names a group": {"pid": -1},
    "a flag that is none": {"outlives_launcher": "yes"},
    "an address that is none": {"url": "http://elsewhere/"},
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_a_file_that_is_no_readable_record_goes_with_the_next_read(
    box: Box, records: Records, live: tuple[int, str], case: str
) -> None:
    content = UNREADABLE[case]
    if isinstance(content, dict):
        fields: dict[str, Any] = {"pid": live[0], "process_start": live[1], **content}
        records.write(1, **fields)
    else:
        records.path(1).write_text(content)
    box.ok("ps", "--json")
    done = box.run("ps", "--verbose")
    assert (done.returncode, done.stdout) == (0, "no running capsules\n")
    assert done.stderr == f"pruned: {records.path(1)} — not a readable record\n"
    assert records.names() == []


def test_other_files_go_and_a_link_is_not_followed(
    box: Box, records: Records, live: tuple[int, str], tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text(json.dumps(records.write(1, live[0], process_start=live[1])))
    records.path(1).unlink()
    records.path(1).symlink_to(elsewhere)
    (records.folder / "notes.txt").write_text("mine")
    records.write(2, live[0], process_start=live[1])
    records.path(2).rename(records.path(3))
    done = box.run("ps")
    assert done.stdout == "no running capsules\n"
    assert done.stderr == "pruned 3 stale records; mur ps --verbose names each\n"
    assert records.names() == [] and elsewhere.exists()


def test_what_a_launch_is_about_to_use_is_left(box: Box, records: Records) -> None:
    (records.folder / f".{session(1)}.json.0011.tmp").write_text("{")
    (records.folder / f"{session(1)}.control").write_text("ctl1.x.y")
    before = records.names()
    assert box.ok("ps") == ["no running capsules"]
    assert records.names() == before
    for path in records.folder.iterdir():
        os.utime(path, (0, 0))
    assert "pruned 2 stale records" in box.run("ps").stderr
    assert records.names() == []


def test_a_record_of_an_older_mur_is_named_and_left(
    box: Box, records: Records, live: tuple[int, str]
) -> None:
    path = records.path(9)
    path.write_text(json.dumps({**OTHER_MUR, "pid": live[0]}))
    records.path(1).write_text("{")
    for arguments in (["ps"], ["ps", "--verbose"], ["ps", "--json"]):
        lines = box.run(*arguments).stderr.splitlines()
        assert lines[0].startswith(f"skipped: {path} — a record an older mur wrote")
        assert path.exists()
    for command in (["stop", session(9)], ["watch", session(9)], ["token", session(9)]):
        box.refused("E-RUN-022", *command)
    box.refused("E-RUN-022", "cancel", session(9), "tsk_1")
    box.refused("E-RUN-022", "control", "show", session(9))
    assert path.exists()


def test_rows_are_sorted_newest_first_and_json_holds_the_stable_keys(
    box: Box, records: Records, live: tuple[int, str]
) -> None:
    for number in (2, 1, 3):
        records.write(number, live[0], process_start=live[1], door_token="mdt1.a.b", url=None)
    assert [row.split()[0] for row in box.ok("ps")[1:]] == [session(3), session(2), session(1)]
    text = "\n".join(box.ok("ps", "--json"))
    capsules = json.loads(text)["capsules"]
    assert [each["session_id"] for each in capsules] == [session(3), session(2), session(1)]
    assert list(capsules[0]) == [
        "session_id",
        "status",
        "url",
        "pid",
        "process_start",
        "capsule_name",
        "capsule_version",
        "workdir",
        "records_dir",
        "outlives_launcher",
        "started_at",
        "formation_id",
        "formation_member",
        "formation_entry",
    ]
    assert "mdt1" not in text
    assert text.startswith('{\n  "capsules": [\n    {\n      "session_id"')


def trace(root: Path, name: str, formation: str | None, member: str | None, *more: str) -> None:
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    start = {"event_type": "session_start", "formation_id": formation, "formation_member": member}
    lines = [json.dumps(start), *(json.dumps({"event_type": each}) for each in more)]
    (folder / "trace.jsonl").write_text("".join(f"{line}\n" for line in lines))


def test_formations_group_rows_and_are_summed_up(
    box: Box, records: Records, live: tuple[int, str]
) -> None:
    mine = {"process_start": live[1], "formation_id": FORMATION, "url": None}
    records.write(5, live[0], formation_member="researcher", **mine)
    records.write(2, live[0], formation_member="planner", formation_entry=True, **mine)
    records.write(3, live[0], process_start=live[1], url=None)
    gone = gone_pid()
    records.write(1, gone, formation_id=FORMATION, formation_member="worker")
    root = records.root / "w"
    trace(root, session(7), FORMATION, "reviewer", "session_end")
    trace(root, session(6), FORMATION, "killed")
    trace(root, session(8), None, None, "session_end")
    peer = box.home / ".murmur" / "formations" / FORMATION / "peer"
    peer.mkdir(parents=True)
    found = json.loads("".join(box.ok("ps", "--json")))["formations"]
    assert found == [
        {
            "formation_id": FORMATION,
            "entry_member": "planner",
            "listed": 2,
            "ended": 1,
            "gone_without_ending": 2,
            "not_listed": [
                {
                    "session_id": session(7),
                    "formation_member": "reviewer",
                    "reason": "ended",
                    "record_kept": False,
                },
                {
                    "session_id": session(6),
                    "formation_member": "killed",
                    "reason": "gone_without_ending",
                    "record_kept": False,
                },
                {
                    "session_id": session(1),
                    "formation_member": "worker",
                    "reason": "gone_without_ending",
                    "record_kept": True,
                },
            ],
            "searched_roots": 1,
            "unreadable_roots": 0,
        }
    ]
    done = box.run("ps", "--verbose")
    assert done.stderr == (
        f"pruned: {session(1)} — no process holds pid {gone} (formation {FORMATION})\n"
    )
    lines = done.stdout.splitlines()
    assert lines[0].split()[-2:] == ["FORMATION", "URL"]
    assert [line.split()[0] for line in lines[1:4]] == [session(5), session(2), session(3)]
    assert lines[3].split()[-2:] == ["-", "-"]
    assert lines[4] == ""
    assert lines[5] == (
        f"formation {FORMATION}: 2 listed (2 running), 1 pruned now; "
        "not listed: 1 ended, 1 with no record"
    )


def test_a_formation_known_from_pruned_records_alone_is_summed_up_under_verbose(
    box: Box, records: Records
) -> None:
    pid = gone_pid()
    records.write(1, pid, formation_id=FORMATION)
    assert json.loads("".join(box.ok("ps", "--json")))["formations"] == []
    records.root.joinpath("w").mkdir(parents=True)
    assert box.run("ps", "--verbose").stdout.splitlines() == [
        "no running capsules",
        "",
        f"formation {FORMATION}: 0 listed, 1 pruned now; no other member found in 1 session root",
    ]
