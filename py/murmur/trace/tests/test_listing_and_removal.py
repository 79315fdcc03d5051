"""`mur trace list` and `mur trace rm` below the command line."""

import os
from pathlib import Path

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.core.home import Home
from murmur.trace.listing import listed_sessions
from murmur.trace.removal import Removed, find_doomed, remove
from murmur.trace.tests import recording as rec

OLD, NEW = "ses_019f0193c7d871a5b2e30ff41a7c0ce1", "ses_019f0193c9a871a5b2e30ff41a7c0ce2"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home" / ".murmur")


def recorded(home: Home, root: Path, session: str, text: str | None = None) -> Path:
    records = home.records_group(root) / session
    if text is None:
        rec.record(records / "trace.jsonl", [rec.start(), *rec.task(1), rec.end()])
    else:
        records.mkdir(parents=True)
        (records / "trace.jsonl").write_text(text)
    return records


def test_sessions_come_newest_first_with_what_their_traces_tell(tmp_path: Path, home: Home) -> None:
    root = tmp_path / "w"
    recorded(home, root, OLD)
    recorded(home, root, NEW, "nope\n" + '{"event_type":"task_start","context_id":"ctx_1"}\n')
    newest, oldest = listed_sessions(home, root, {NEW})
    assert (newest.session_id, newest.running, newest.context_id) == (NEW, True, None)
    assert newest.started_at == "2026-06-26T01:38:10.472Z"
    assert (oldest.running, oldest.context_id) == (False, "ctx_1")
    assert oldest.records_dir == home.records_group(root) / OLD


def test_a_trace_that_cannot_be_read_is_refused(tmp_path: Path, home: Home) -> None:
    records = recorded(home, tmp_path / "w", OLD, "")
    (records / "trace.jsonl").unlink()
    assert listed_sessions(home, tmp_path / "w", ())[0].context_id is None
    (records / "trace.jsonl").symlink_to("/etc/passwd")
    with pytest.raises(MurmurError) as refused:
        listed_sessions(home, tmp_path / "w", ())
    assert refused.value.code == "E-IO-003"


def removed(home: Home, address: str, cwd: Path, *, named: Path | None = None) -> Removed:
    root = named or cwd / "workdir"
    doomed = find_doomed(address, home, root, cwd, named_root=named is not None)
    return remove(doomed, home, cwd, lambda: None)


def test_a_session_goes_with_its_own_work_folder(tmp_path: Path, home: Home) -> None:
    records = recorded(home, tmp_path / "workdir", OLD)
    work = tmp_path / "workdir" / OLD
    work.mkdir(parents=True)
    (work / "file").write_text("x")
    assert removed(home, OLD[-6:], tmp_path) == Removed(OLD, records, work)
    assert not records.exists() and not work.exists() and work.parent.exists()
    assert records.parent.exists()


def test_with_a_workdir_named_nothing_in_it_is_touched(tmp_path: Path, home: Home) -> None:
    root = tmp_path / "mine"
    records = recorded(home, root, OLD)
    (tmp_path / "workdir" / OLD).mkdir(parents=True)
    assert removed(home, "@1", tmp_path, named=root) == Removed(OLD, records, None)
    assert (tmp_path / "workdir" / OLD).exists()


def test_a_half_removed_session_is_named_by_its_full_id(tmp_path: Path, home: Home) -> None:
    work = tmp_path / "workdir" / OLD
    work.mkdir(parents=True)
    assert removed(home, OLD, tmp_path) == Removed(OLD, None, work)
    with pytest.raises(MurmurError) as refused:
        removed(home, OLD, tmp_path)
    assert refused.value.code == "E-TRC-002"


@pytest.mark.parametrize("address", ["./workdir/x", "", "@0", "abc"])
def test_what_names_no_session_is_refused(tmp_path: Path, home: Home, address: str) -> None:
    with pytest.raises(MurmurError) as refused:
        removed(home, address, tmp_path)
    assert refused.value.code == "E-TRC-002"


@pytest.mark.parametrize("what", ["workdir", "work folder", "records", "file"])
def test_a_link_on_the_way_is_refused_and_not_followed(
    tmp_path: Path, home: Home, what: str
) -> None:
    precious = tmp_path / "precious"
    (precious / OLD).mkdir(parents=True)
    (precious / OLD / "kept").write_text("x")
    if what == "records":
        group = home.records_group(tmp_path / "workdir")
        group.mkdir(parents=True)
        os.symlink(precious / OLD, group / OLD)
    elif what == "workdir":
        os.symlink(precious, tmp_path / "workdir")
    else:
        (tmp_path / "workdir").mkdir()
        if what == "file":
            (tmp_path / "workdir" / OLD).write_text("x")
        else:
            os.symlink(precious / OLD, tmp_path / "workdir" / OLD)
    with pytest.raises(MurmurError) as refused:
        removed(home, OLD, tmp_path)
    assert refused.value.code == "E-RUN-050"
    assert (precious / OLD / "kept").read_text() == "x"
