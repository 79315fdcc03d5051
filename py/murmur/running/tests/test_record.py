"""Running records. spec/sessions.md 21; CLI reference, *Running-capsule records*."""

import json
import os
import stat
from pathlib import Path

from murmur.core.home import Home, open_home
from murmur.running.processes import process_start
from murmur.running.record import compact, own_record, remove_record, write_record


def _write(home: Home, workdir: Path = Path("/w")) -> Path:
    record = own_record(
        session_id="ses_1",
        url="localhost:1",
        capsule_name="demo",
        capsule_version="0.1.0",
        workdir=workdir,
        records_dir=Path("/r"),
        started_at="2026-01-01T00:00:00Z",
        door_token="secret",
    )
    write_record(home, record)
    return home.running / "ses_1.json"


def test_a_record_is_owner_only_and_names_this_process(tmp_path: Path) -> None:
    home = open_home({"HOME": str(tmp_path)})
    home.running.mkdir(mode=0o755)
    path = _write(home)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.running.stat().st_mode) == 0o700
    record = json.loads(path.read_text())
    assert record["pid"] == os.getpid()
    assert record["process_start"] == process_start(os.getpid())
    assert isinstance(record["outlives_launcher"], bool)
    assert record["door_token"] == "secret"
    assert [entry.name for entry in home.running.iterdir()] == ["ses_1.json"]


def test_a_path_that_is_no_utf_8_is_recorded_and_read_back(tmp_path: Path) -> None:
    home = open_home({"HOME": str(tmp_path)})
    path = _write(home, Path(os.fsdecode(b"/w/\xff")))
    assert os.fsencode(json.loads(path.read_text())["workdir"]) == b"/w/\xff"


def test_compact_json_keeps_text_raw_where_it_can() -> None:
    assert compact({"a": "é", "b": [1]}) == '{"a":"é","b":[1]}'


def test_removing_a_record_ends_nothing_whatever_is_there(tmp_path: Path) -> None:
    home = open_home({"HOME": str(tmp_path)})
    remove_record(home, "ses_1")
    path = _write(home)
    remove_record(home, "ses_1")
    assert not path.exists()
    path.mkdir()
    remove_record(home, "ses_1")
