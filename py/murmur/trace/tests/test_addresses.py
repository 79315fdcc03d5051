"""Which recorded session an address names. CLI reference, *Session addresses*."""

from pathlib import Path

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.core.home import Home
from murmur.trace.addresses import find_all_recorded, find_recorded, recorded_sessions

OLD = "ses_019f01a940ce7761854e768ecbe3d399"
NEW = "ses_019f01b940ce7761854e768ecbe3d3aa"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home" / ".murmur")


@pytest.fixture
def root(tmp_path: Path, home: Home) -> Path:
    """A workdir root with two recorded sessions, and beside them what is none."""
    work = tmp_path / "work"
    group = home.records_group(work)
    for name in (OLD, NEW, "notes", "ses_short"):
        (group / name).mkdir(parents=True)
    (group / OLD.replace("d399", "0000")).write_text("a file")
    (group / OLD.replace("d399", "1111")).symlink_to(group / OLD)
    return work


def test_the_group_lists_records_directories_newest_first(home: Home, root: Path) -> None:
    assert recorded_sessions(home.records_group(root)) == (NEW, OLD)


def test_a_root_without_a_group_has_no_sessions(home: Home, tmp_path: Path) -> None:
    assert recorded_sessions(home.records_group(tmp_path / "elsewhere")) == ()


def test_a_link_to_the_root_is_the_same_root(home: Home, root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    root.mkdir()
    assert find_recorded("@1", home, tmp_path / "link").session_id == NEW


@pytest.mark.parametrize(("address", "found"), [("@1", NEW), ("@2", OLD), ("d399", OLD)])
def test_an_address_finds_its_records(home: Home, root: Path, address: str, found: str) -> None:
    recorded = find_recorded(address, home, root)
    assert recorded.records == home.records_group(root) / found
    assert recorded.file() == recorded.records / "trace.jsonl"
    assert recorded.session_id == found


def test_a_path_is_taken_verbatim_and_needs_no_home(tmp_path: Path) -> None:
    given = str(tmp_path / "copy" / "trace.jsonl")
    recorded = find_recorded(given, None, tmp_path)
    assert recorded.file("eval.jsonl") == Path(given)
    assert recorded.session_id is None


def test_two_addresses_are_looked_up_at_once(home: Home, root: Path) -> None:
    before, after = find_all_recorded(("@2", "@1"), home, root)
    assert (before.session_id, after.session_id) == (OLD, NEW)


@pytest.mark.parametrize("code", ["E-TRC-002", "E-EVAL-002"])
def test_an_address_that_names_none_is_refused_by_the_command_s_code(
    home: Home, root: Path, code: str
) -> None:
    with pytest.raises(MurmurError) as refused:
        find_recorded("@3", home, root, code=code)
    assert refused.value.code == code
    assert "@3" in refused.value.message and str(root) in refused.value.message
