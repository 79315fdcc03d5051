"""The directories of a session. spec/sessions.md 2; spec/diagnostics.md 6.3."""

import fcntl
import os
import stat
import threading
from pathlib import Path

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.core.home import Home, open_home
from murmur.core.ids import new_id
from murmur.session.directories import (
    Directories,
    abandon,
    check_workdir,
    create_directories,
    one_line,
    remove_runtime_directory,
    sweep_dead_sessions,
    work_place,
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "home").mkdir()
    return open_home({"HOME": str(tmp_path / "home")})


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _close(made: Directories) -> None:
    made.records_root.close()
    made.work_root.close()
    made.runtime_root.close()
    made.runtime_lock.close()


def _create(home: Home, project: Path) -> tuple[str, Directories]:
    session = new_id("ses")
    return session, create_directories(home, work_place(None, project), session)


def test_records_lie_below_the_workdir_root_without_its_leading_slash(
    home: Home, tmp_path: Path
) -> None:
    session, made = _create(home, tmp_path)
    root = tmp_path.resolve() / "workdir"
    assert made.work == root / session
    assert made.records == home.root / "records" / str(root).lstrip("/") / session
    assert made.runtime == home.root / "sessions" / session
    level = made.records
    while level != home.root:
        assert _mode(level) == 0o700
        level = level.parent
    assert sorted(path.name for path in made.records.iterdir()) == ["home", "logs", "out", "tmp"]
    assert _mode(made.runtime) == 0o700
    assert list(made.work.iterdir()) == []
    _close(made)


def test_a_linked_workdir_has_the_records_of_the_folder_it_names(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert work_place(tmp_path / "link", tmp_path) == work_place(tmp_path / "real", tmp_path)
    assert work_place(None, tmp_path / "link") == work_place(None, tmp_path / "real")


def test_the_root_folder_can_be_the_workdir(home: Home) -> None:
    session = new_id("ses")
    made = create_directories(home, work_place(Path("/"), Path("/")), session)
    assert made.work == Path("/")
    assert made.records == home.root / "records" / session
    abandon(home, work_place(Path("/"), Path("/")), session, made)
    assert not made.records.exists()


@pytest.mark.parametrize("name", ["a b", "new\nline", "é", "-x", "..."])
def test_odd_names_are_only_names(home: Home, tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    session = new_id("ses")
    made = create_directories(home, work_place(folder, tmp_path), session)
    assert made.work == folder.resolve()
    assert made.records.parent.name == name
    assert "\n" not in one_line(made.work)
    _close(made)


def test_a_workdir_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name, found in (("nowhere", "does not exist"), ("file", "not a directory")):
        with pytest.raises(MurmurError) as caught:
            check_workdir(work_place(tmp_path / name, tmp_path))
        assert caught.value.code == "E-IO-003"
        assert f"--workdir {tmp_path.resolve() / name}" in caught.value.message
        assert found in caught.value.message
    check_workdir(work_place(tmp_path, tmp_path))
    check_workdir(work_place(None, tmp_path / "nowhere"))


def test_what_was_made_before_a_refusal_is_gone_after_it(home: Home, tmp_path: Path) -> None:
    (home.root / "sessions").write_text("in the way")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(MurmurError) as caught:
        _create(home, tmp_path)
    assert caught.value.code == "E-IO-003"
    assert not (tmp_path / "workdir").exists()
    assert list(home.root.rglob("ses_*")) == []
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_link_in_the_place_of_the_records_is_not_followed(home: Home, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (home.root / "records").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(MurmurError, match="E-IO-003"):
        _create(home, tmp_path)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_session_that_never_began_leaves_nothing(home: Home, tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    session, made = _create(home, tmp_path)
    abandon(home, work_place(None, tmp_path), session, made)
    assert not made.work.exists()
    assert list(home.root.rglob("ses_*")) == []
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_work_folder_that_holds_something_outlives_a_session_that_never_began(
    home: Home, tmp_path: Path
) -> None:
    session, made = _create(home, tmp_path)
    (made.work / "kept").touch()
    abandon(home, work_place(None, tmp_path), session, made)
    assert (made.work / "kept").exists()


def test_removing_the_runtime_directory_twice_does_nothing(home: Home, tmp_path: Path) -> None:
    session, made = _create(home, tmp_path)
    remove_runtime_directory(home, session, made)
    assert not made.runtime.exists() and made.records.exists()
    unrelated = os.open("/", os.O_RDONLY)
    remove_runtime_directory(home, session, made)
    os.fstat(unrelated)
    os.close(unrelated)


def test_a_sweep_takes_the_dead_and_leaves_the_living(home: Home, tmp_path: Path) -> None:
    _, living = _create(home, tmp_path)
    _, dead = _create(home, tmp_path)
    dead.runtime_lock.close()
    sweep_dead_sessions(home)
    assert living.runtime.is_dir() and not dead.runtime.exists()
    _close(living)


def test_a_sweep_follows_no_link(home: Home, tmp_path: Path) -> None:
    sessions = home.root / "sessions"
    sessions.mkdir()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / ".lock").touch()
    (sessions / new_id("ses")).symlink_to(outside)
    sweep_dead_sessions(home)
    assert (outside / ".lock").exists()


def test_sessions_that_begin_together_do_not_sweep_each_other(home: Home, tmp_path: Path) -> None:
    failures: list[BaseException] = []

    def begin() -> None:
        try:
            for _ in range(30):
                sweep_dead_sessions(home)
                session, made = _create(home, tmp_path)
                assert (made.runtime / "runtime" / "tools").is_dir()
                probe = os.open(made.runtime / ".lock", os.O_RDWR)
                with pytest.raises(BlockingIOError):
                    fcntl.flock(probe, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.close(probe)
                abandon(home, work_place(None, tmp_path), session, made)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=begin) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert list((home.root / "sessions").iterdir()) == []


def test_a_directory_that_never_got_its_name_is_swept_once_it_is_old(home: Home) -> None:
    sessions = home.root / "sessions"
    sessions.mkdir()
    fresh = sessions / f".new-{new_id('ses')}"
    old = sessions / ".new-ses_019000000000700080000000000000aa"
    fresh.mkdir()
    old.mkdir()
    sweep_dead_sessions(home)
    assert fresh.exists() and not old.exists()
