"""Opening files below an exported root. spec/door.md 17."""

import os
from pathlib import Path

import pytest

from murmur.core.exported import ExportedRoot, ExportRefused
from murmur.core.safefs import open_root


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    (work / "out" / "deep").mkdir(parents=True)
    (work / "out" / "deep" / "report.txt").write_text("hello")
    (work / "secret.txt").write_text("secret")
    (tmp_path / "outside.txt").write_text("outside")
    return work


def _open(work: Path, path: str, *, links: bool = True, most: int | None = None) -> tuple[str, str]:
    with open_root(work) as held, ExportedRoot(held, str(work), "out") as root:
        opened = root.open(path, links=links, max_bytes=most)
        with os.fdopen(opened.descriptor, "rb") as stream:
            return opened.path, stream.read().decode()


def _refusal(work: Path, path: str, **more: bool) -> str:
    with pytest.raises(ExportRefused) as refused:
        _open(work, path, **more)
    return refused.value.code


def test_a_file_below_the_root_is_opened(work: Path) -> None:
    assert _open(work, "deep/report.txt") == ("deep/report.txt", "hello")


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "..", "../secret.txt", "deep/../../secret.txt", "./deep", "a//b",
             "deep/", "a\0b"]
)  # fmt: skip
def test_a_path_that_is_not_plain_is_outside(work: Path, path: str) -> None:
    assert _refusal(work, path) == "outside_root"


@pytest.mark.parametrize("target", ["../secret.txt", "../../outside.txt", "/etc/passwd"])
def test_a_link_out_of_the_root_is_outside_whatever_the_class(work: Path, target: str) -> None:
    (work / "out" / "link").symlink_to(target)
    assert _refusal(work, "link", links=True) == "outside_root"
    assert _refusal(work, "link", links=False) == "outside_root"


def test_a_link_inside_the_root_is_followed_or_refused_as_asked(work: Path) -> None:
    (work / "out" / "link").symlink_to("deep/../deep/report.txt")
    (work / "out" / "whole").symlink_to(work / "out" / "deep")
    assert _open(work, "link") == ("deep/report.txt", "hello")
    assert _open(work, "whole/report.txt") == ("deep/report.txt", "hello")
    assert _refusal(work, "link", links=False) == "symlink_refused"


def test_circles_missing_files_folders_and_fifos_have_their_words(work: Path) -> None:
    (work / "out" / "circle").symlink_to("circle")
    os.mkfifo(work / "out" / "fifo")
    assert _refusal(work, "circle") == "not_found"
    assert _refusal(work, "nothing") == "not_found"
    assert _refusal(work, "deep/report.txt/more") == "not_found"
    assert _refusal(work, "deep") == "not_a_regular_file"
    assert _refusal(work, "fifo") == "not_a_regular_file"


def test_a_file_above_the_ceiling_is_too_large(work: Path) -> None:
    with pytest.raises(ExportRefused) as refused:
        _open(work, "deep/report.txt", most=4)
    assert refused.value.code == "too_large"
    assert _open(work, "deep/report.txt", most=5)[1] == "hello"


def test_a_missing_root_and_one_that_became_a_link_out_are_refused(work: Path) -> None:
    with open_root(work) as held:
        with pytest.raises(ExportRefused) as refused:
            ExportedRoot(held, str(work), "nowhere")
        assert refused.value.code == "not_found"
        (work / "away").symlink_to(work.parent)
        with pytest.raises(ExportRefused) as refused:
            ExportedRoot(held, str(work), "away")
        assert refused.value.code == "outside_root"


def test_no_descriptor_is_left_open(work: Path) -> None:
    (work / "out" / "link").symlink_to("/etc/passwd")
    before = set(os.listdir("/proc/self/fd"))
    for path in ("deep/report.txt", "link", "nothing", "deep", "../x"):
        try:
            _open(work, path)
        except ExportRefused:
            continue
    assert set(os.listdir("/proc/self/fd")) == before
