"""`mur trace` as a user types it: addresses, refusals, exit statuses, and what `--json` prints."""

import json
import os
from pathlib import Path

import pytest

from murmur.cli.tests.box import Box
from murmur.core.home import Home
from murmur.running.processes import process_start
from murmur.trace.tests import recording as rec

OLD, NEW = "ses_019f0193c7d871a5b2e30ff41a7c0ce1", "ses_019f0193c9a871a5b2e30ff41a7c0ce2"


def recorded(box: Box, session: str, root: str = "workdir", tail: str = "") -> Path:
    """A session of two tasks below a workdir root of the box."""
    home = Home(box.home / ".murmur")
    events = [rec.start(), *rec.task(1), *rec.task(2), rec.end(total_turns=2)]
    events = [each | {"session_id": session} for each in events]
    trace = home.records_group(box.cwd / root) / session / "trace.jsonl"
    return rec.record(trace, events, tail=tail)


def running(box: Box, session: str, pid: int, started: str) -> Path:
    """A running record that names a process."""
    folder = box.home / ".murmur" / "running"
    folder.mkdir(parents=True, exist_ok=True)
    record = {
        "session_id": session,
        "url": None,
        "pid": pid,
        "process_start": started,
        "capsule_name": "c",
        "capsule_version": "1",
        "workdir": "/w",
        "records_dir": "/r",
        "outlives_launcher": False,
        "started_at": "2026-01-01T00:00:00.000Z",
    }
    path = folder / f"{session}.json"
    path.write_text(json.dumps(record))
    return path


def test_without_an_address_the_newest_session_is_shown(box: Box) -> None:
    recorded(box, OLD)
    recorded(box, NEW)
    assert box.ok("trace", "show")[1] == f"session:    {NEW}"
    assert box.ok("trace", "show", "@2")[1] == f"session:    {OLD}"
    assert box.ok("trace", "show", NEW[-4:])[1] == f"session:    {NEW}"
    assert box.ok("trace", "steps")[0] == f"Session {NEW}  (2 tasks, 0 turns)"


def test_a_path_is_read_without_a_home(box: Box) -> None:
    path = recorded(box, OLD)
    box.environment.pop("HOME")
    assert box.ok("trace", "show", str(path))[1] == f"session:    {OLD}"
    assert "HOME is not set" in box.refused("E-IO-004", "trace", "show")


def test_an_address_that_names_nothing_says_where_it_looked(box: Box) -> None:
    message = box.refused("E-TRC-002", "trace", "show")
    assert str(box.cwd / "workdir") in message and "records" in message
    recorded(box, OLD)
    recorded(box, NEW)
    both = recorded(box, f"{OLD[:-5]}f0ce2").parent.name
    message = box.refused("E-TRC-002", "trace", "steps", "0ce2")
    assert NEW in message and both in message


def test_reading_changes_nothing_below_the_home(box: Box) -> None:
    box.ok("trace", "list")
    assert not (box.home / ".murmur").exists()


def test_one_address_alone_is_no_comparison(box: Box) -> None:
    recorded(box, OLD)
    assert "name two sessions" in box.refused("E-TRC-002", "trace", "diff", "@1")
    recorded(box, NEW)
    assert box.ok("trace", "diff")[2].split() == ["turns", "2", "2", "="]


def test_what_was_not_ended_is_not_compared(box: Box) -> None:
    recorded(box, OLD)
    recorded(box, NEW, tail="{")
    assert "no JSON object" in box.refused("E-TRC-001", "trace", "diff")
    assert "no JSON object" in box.refused("E-TRC-001", "trace", "report")
    assert box.ok("trace", "show")[4].endswith("is not valid JSON and was skipped")


def test_a_report_counts_what_it_skipped(box: Box) -> None:
    recorded(box, OLD)
    recorded(box, NEW).write_text("")
    done = box.run("trace", "report")
    assert done.returncode == 0
    assert done.stderr == "note: skipped 1 incomplete session(s)\n"
    assert "Sessions: 1  (./workdir)" in done.stdout
    assert "Tasks: 2" in done.stdout


def test_a_report_is_limited_by_number_and_by_age(box: Box) -> None:
    recorded(box, OLD)
    recorded(box, NEW)
    assert "Sessions: 1  (./workdir)" in box.ok("trace", "report", "--last", "1")
    assert "Sessions: 2  (./workdir)" in box.ok("trace", "report", "--since", "9999d")
    box.refused("E-TRC-002", "trace", "report", "--since", "1m")
    for wrong in (["--last", "0"], ["--since", "soon"], ["@1", "--last", "1"]):
        box.usage("trace", "report", *wrong)


def test_a_list_is_a_table_or_one_object(box: Box) -> None:
    group = Home(box.home / ".murmur").records_group(box.cwd / "workdir")
    assert box.ok("trace", "list") == [
        f"no sessions in workdir at {box.cwd / 'workdir'} (records in {group})"
    ]
    recorded(box, OLD)
    recorded(box, NEW)
    running(box, NEW, os.getpid(), process_start(os.getpid()))
    head, newest, oldest, place = box.ok("trace", "list")
    assert head.split() == ["SESSION", "STARTED", "STATUS", "CONTEXT"]
    assert newest.split() == [NEW, "2026-06-26T01:38:10.472Z", "running", "ctx_1"]
    assert oldest.split()[2] == "ended"
    assert place == f"records: {group}"
    printed = json.loads("\n".join(box.ok("trace", "list", "--json")))
    assert list(printed) == ["workdir_root", "records_group", "sessions"]
    assert printed["sessions"][1] == {
        "session_id": OLD,
        "records_dir": str(group / OLD),
        "started_at": "2026-06-26T01:38:10.008Z",
        "context_id": "ctx_1",
        "running": False,
    }


def test_an_ended_session_is_removed_with_its_stale_record(box: Box) -> None:
    records = recorded(box, OLD).parent
    work = box.cwd / "workdir" / OLD
    work.mkdir(parents=True)
    record = running(box, OLD, os.getpid(), "1")
    assert box.ok("trace", "rm", "@1") == [
        f"removed work folder {work}",
        f"removed records {records}",
        f"removed running record {record}",
    ]
    assert not work.exists() and not records.exists() and not record.exists()


def test_a_removal_as_json_names_what_went(box: Box) -> None:
    records = recorded(box, OLD, "mine").parent
    printed = json.loads("\n".join(box.ok("trace", "rm", OLD, "--workdir", "mine", "--json")))
    assert printed == {
        "session_id": OLD,
        "records_dir": str(records),
        "session_dir": None,
        "running_record": None,
    }


def test_a_running_session_is_not_removed(box: Box) -> None:
    records = recorded(box, OLD).parent
    running(box, OLD, os.getpid(), process_start(os.getpid()))
    assert f"mur stop {OLD}" in box.refused("E-RUN-024", "trace", "rm", OLD)
    assert records.exists()


def test_a_link_in_the_way_of_a_removal_is_refused(box: Box) -> None:
    recorded(box, OLD)
    (box.cwd / "elsewhere").mkdir()
    (box.cwd / "elsewhere" / "kept").touch()
    (box.cwd / "workdir").mkdir()
    (box.cwd / "workdir" / OLD).symlink_to(box.cwd / "elsewhere")
    assert OLD in box.refused("E-RUN-050", "trace", "rm", OLD)
    assert (box.cwd / "elsewhere" / "kept").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("show", "frm_1"), "E-TRC-002", "'frm_1' is not a formation id"),
        (("show", "frm_" + "0" * 32), "E-TRC-002", "belongs to formation"),
        (("show", "frm_" + "0" * 32, "--body", "system"), "E-TRC-001", "not of a formation"),
        (("steps", "frm_" + "0" * 32), "E-TRC-001", "a formation has no steps"),
        (("show", "--turn", "1"), "E-TRC-001", "--turn has no meaning without --body"),
        (("rm", "./x"), "E-TRC-002", "a path is not taken here"),
    ],
)
def test_an_argument_out_of_place_is_refused(
    box: Box, arguments: tuple[str, ...], code: str, text: str
) -> None:
    assert text in box.refused(code, "trace", *arguments)


def test_a_page_is_written_whole_or_not_at_all(box: Box) -> None:
    recorded(box, OLD)
    assert box.ok("trace", "show", "--html", "page.html") == ["wrote page.html"]
    assert (box.cwd / "page.html").read_text().startswith("<!doctype html>")
    box.refused("E-IO-003", "trace", "show", "--html", "no/page.html")
    box.usage("trace", "show", "--html", "x", "--body", "system")


def test_a_body_is_printed_as_it_was_stored(box: Box) -> None:
    path = recorded(box, OLD)
    digest = "cf07194ee232" + "0" * 52
    (path.parent / "blobs").mkdir()
    (path.parent / "blobs" / digest).write_bytes(b"no newline")
    assert box.run("trace", "show", "--body", digest[:8]).stdout == "no newline"
