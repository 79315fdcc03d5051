"""Files below a root are reached through held descriptors, no link followed."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.core.safefs import Root, TooLarge, UnsafePath, open_root, split


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    return tmp_path


@pytest.fixture
def root(place: Path) -> Root:
    return open_root(place / "root")


@pytest.mark.parametrize("path", ["", "/etc/passwd", "a//b", "./a", "../a", "a/..", "a/.", "a\0"])
def test_an_empty_dot_or_climbing_segment_is_refused_before_any_system_call(path: str) -> None:
    with pytest.raises(UnsafePath):
        split(path)


@given(st.lists(st.text(st.characters(exclude_characters="/\0"), min_size=1), min_size=1))
def test_every_other_relative_path_splits_into_its_segments(segments: list[str]) -> None:
    if any(segment in (".", "..") for segment in segments):
        with pytest.raises(UnsafePath):
            split("/".join(segments))
    else:
        assert split("/".join(segments)) == segments


def test_a_link_on_the_way_is_named_and_not_followed(place: Path, root: Root) -> None:
    (place / "root" / "door").symlink_to(place / "outside")
    with pytest.raises(UnsafePath, match="symbolic link"):
        root.read_bytes("door/secret")
    with pytest.raises(UnsafePath, match="symbolic link"):
        root.write_atomic("door/new", b"x")
    assert os.listdir(place / "outside") == ["secret"]


def test_a_link_at_the_end_is_neither_read_nor_written_through(place: Path, root: Root) -> None:
    (place / "root" / "note").symlink_to(place / "outside" / "secret")
    with pytest.raises(UnsafePath):
        root.read_bytes("note")
    with pytest.raises(UnsafePath):
        root.append("note", b"more")
    root.write_atomic("note", b"new")
    assert (place / "outside" / "secret").read_text() == "secret"
    assert root.read_bytes("note") == b"new"


def test_a_fifo_is_refused_without_waiting_for_its_other_end(place: Path, root: Root) -> None:
    os.mkfifo(place / "root" / "pipe")
    with pytest.raises(UnsafePath, match="regular file"):
        root.read_bytes("pipe")


def test_a_swapped_folder_does_not_move_a_held_root(place: Path, root: Root) -> None:
    root.sub("a", create=True).close()
    held = root.sub("a")
    (place / "root" / "a").rename(place / "root" / "moved")
    (place / "root" / "a").symlink_to(place / "outside")
    held.write_atomic("new", b"x")
    assert (place / "root" / "moved" / "new").read_bytes() == b"x"
    assert os.listdir(place / "outside") == ["secret"]


def test_removing_a_tree_leaves_what_its_links_point_at(place: Path, root: Root) -> None:
    root.sub("a/b", create=True).close()
    (place / "root" / "a" / "b" / "link").symlink_to(place / "outside")
    root.remove_tree("a")
    assert root.list() == []
    assert (place / "outside" / "secret").exists()


def test_a_link_where_a_tree_belongs_is_refused(place: Path, root: Root) -> None:
    (place / "root" / "a").symlink_to(place / "outside")
    with pytest.raises(UnsafePath):
        root.remove_tree("a")
    assert (place / "outside" / "secret").exists()


def test_modes_are_exact_whatever_the_umask(place: Path, root: Root) -> None:
    before = os.umask(0o777)
    try:
        root.write_exclusive("a", b"", 0o640)
        root.write_atomic("b", b"", 0o600)
    finally:
        os.umask(before)
    assert (place / "root" / "a").stat().st_mode & 0o777 == 0o640
    assert (place / "root" / "b").stat().st_mode & 0o777 == 0o600


def test_a_read_stops_at_its_limit(root: Root) -> None:
    root.write_exclusive("big", b"x" * 100_000)
    assert len(root.read_bytes("big", limit=100_000)) == 100_000
    with pytest.raises(TooLarge):
        root.read_bytes("big", limit=99_999)


def test_a_failed_atomic_write_leaves_no_temporary_file(root: Root) -> None:
    root.make_directory("taken")
    with pytest.raises(OSError):
        root.write_atomic("taken", b"x")
    assert root.list() == ["taken"]


def test_a_tree_of_any_depth_is_removed(place: Path, root: Root) -> None:
    here = os.open(place / "root", os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=here)
        deeper = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.symlink("/etc", "link", dir_fd=here)
    os.close(here)
    root.remove_tree("d")
    assert root.list() == []
    assert Path("/etc/passwd").exists()


def test_directories_closed_to_their_owner_are_removed(place: Path, root: Root) -> None:
    (place / "root" / "a" / "shut" / "deeper").mkdir(parents=True)
    (place / "root" / "a" / "shut" / "file").touch()
    (place / "root" / "a" / "shut" / "deeper").chmod(0o500)
    (place / "root" / "a" / "shut").chmod(0)
    (place / "root" / "a").chmod(0o500)
    if os.geteuid() != 0:
        root.remove_tree("a")
    else:
        for path in (place, place / "root", *(place / "root").rglob("*")):
            os.lchown(path, 65534, 65534)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.setresuid(65534, 65534, 65534)
                root.remove_tree("a")
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
    assert root.list() == []
