"""Reading records and processes. The rows of the CLI reference are tested on `mur ps` itself."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.core.home import Home
from murmur.running.processes import Standing, held, process_start, standing
from murmur.running.reading import read_running
from murmur.running.record import (
    OlderRecord,
    Unreadable,
    own_record,
    parse_record,
    read_control_token,
    remove_record,
    write_control_token,
    write_record,
)

SESSION = "ses_019f01a940ce7761854e768ecbe3d399"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / ".murmur").mkdir(0o700)
    return Home(tmp_path / ".murmur")


def wrote(home: Home) -> None:
    record = own_record(
        session_id=SESSION,
        url="localhost:1",
        capsule_name="demo",
        capsule_version="0.1.0",
        workdir=Path("/w"),
        records_dir=Path("/r"),
        started_at="2026-01-01T00:00:00Z",
        door_token="mdt1.a.b",
        credentials={"reader": "mdt1.c.d"},
    )
    write_record(home, record)


def test_what_was_written_is_read_back_and_its_tokens_are_not_shown(home: Home) -> None:
    wrote(home)
    (found,) = read_running(home, sweep=True).alive
    assert found.standing is Standing.RUNS
    record = found.record
    assert (record.session_id, record.pid, record.door_token) == (SESSION, os.getpid(), "mdt1.a.b")
    assert record.credentials == {"reader": "mdt1.c.d"}
    assert "mdt1" not in repr(record)
    remove_record(home, SESSION)
    assert read_running(home, sweep=False).found == ()


def test_keys_that_do_not_apply_are_not_written(home: Home) -> None:
    wrote(home)
    written = (home.running / f"{SESSION}.json").read_text()
    assert "formation" not in written and "spawned_by" not in written


def test_an_older_record_and_a_file_that_is_none_are_told_apart() -> None:
    with pytest.raises(OlderRecord):
        parse_record(b'{"session_id":"ses_1","pid":1}', "ses_1.json")
    for data in (b"", b"{}", b'{"session_id":1}', b"\xff", b"[" * 100_000):
        with pytest.raises(Unreadable):
            parse_record(data, "x.json")


def test_a_directory_that_is_none_is_e_run_028_and_nothing_goes(home: Home) -> None:
    home.running.write_text("mine")
    with pytest.raises(MurmurError) as refusal:
        read_running(home, sweep=True)
    assert refusal.value.code == "E-RUN-028"
    assert home.running.read_text() == "mine"


def test_the_control_token_goes_with_its_record(home: Home) -> None:
    write_control_token(home, SESSION, "ctl1.a.b")
    wrote(home)
    assert read_control_token(home, SESSION) == "ctl1.a.b"
    assert (home.running / f"{SESSION}.control").stat().st_mode & 0o777 == 0o600
    remove_record(home, SESSION)
    assert read_control_token(home, SESSION) is None
    assert list(home.running.iterdir()) == []


def test_a_process_that_ended_holds_its_id_no_longer_though_nobody_reaped_it() -> None:
    child = subprocess.Popen(["/bin/true"])
    started = process_start(child.pid)
    end = time.monotonic() + 10
    while standing(child.pid, started) is not Standing.GONE:
        assert time.monotonic() < end
        time.sleep(0.01)
    child.wait()
    assert standing(child.pid, started) is Standing.GONE
    assert standing(os.getpid(), "1") is Standing.REUSED


def test_a_held_process_is_signalled_and_waited_for() -> None:
    child = subprocess.Popen(["/bin/sleep", "300"])
    with held(child.pid, process_start(child.pid)) as (found, process):
        assert found is Standing.RUNS and process is not None
        assert not process.gone_within(0)
        process.send(signal.SIGTERM)
        assert process.gone_within(10)
        process.send(signal.SIGKILL)
    child.wait()
    with held(os.getpid(), "1") as (found, process):
        assert (found, process) == (Standing.REUSED, None)
