"""Measuring what a session has written. spec/containment.md 20."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from murmur.sandbox import ceiling
from murmur.sandbox.ceiling import Ceiling, CeilingReached, measure

MIB = 1 << 20


def fill(path: Path, size: int = MIB) -> None:
    path.write_bytes(os.urandom(size))


def test_what_the_disk_holds_is_counted_once(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    fill(tmp_path / "deep" / "a")
    os.link(tmp_path / "deep" / "a", tmp_path / "b")
    (tmp_path / "link").symlink_to("/usr")
    os.truncate(tmp_path / "b", MIB)
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(1 << 40)
    assert MIB <= measure([str(tmp_path)], 1 << 50) < 2 * MIB


def test_the_latch_stays_tripped(tmp_path: Path) -> None:
    latch = Ceiling([str(tmp_path)], 2 * MIB)
    latch.check()
    for name in "abc":
        fill(tmp_path / name)
    latch.ended()
    with pytest.raises(CeilingReached, match=r"error\[E-RUN-013\]"):
        latch.check()
    for name in "abc":
        (tmp_path / name).unlink()
    with pytest.raises(CeilingReached):
        latch.check()


def test_an_expensive_measurement_is_made_every_ten_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    measured: list[float] = []

    def slow(*_: object) -> int:
        measured.append(clock[0])
        clock[0] += 1.0
        return 0

    monkeypatch.setattr(ceiling.time, "monotonic", lambda: clock[0])  # type: ignore[attr-defined]
    monkeypatch.setattr(ceiling, "measure", slow)
    latch = Ceiling([str(tmp_path)], MIB)
    for _ in range(30):
        latch.ended()
        latch.check()
        clock[0] += 1.0
    assert measured == [100.0, 111.0, 122.0], "ten seconds after the last one ended"


def test_a_tree_deeper_than_any_recursion_is_measured(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=here)
        deeper = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    bottom = os.open("data", os.O_WRONLY | os.O_CREAT, dir_fd=here)
    os.write(bottom, os.urandom(MIB))
    os.close(bottom)
    os.close(here)
    descriptors = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    assert measure([str(tmp_path)], 1 << 50) >= MIB
    if descriptors:
        assert len(os.listdir("/proc/self/fd")) == descriptors
    subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_a_folder_closed_to_its_owner_hides_nothing(tmp_path: Path) -> None:
    _closed_folder_is_counted(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0 or sys.platform != "linux", reason="becomes another user")
def test_a_folder_closed_to_its_owner_hides_nothing_from_an_ordinary_user(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            here = os.open(tmp_path, os.O_RDONLY)
            os.setresuid(65534, 65534, 65534)
            os.fchdir(here)
            _closed_folder_is_counted(Path("."))
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def _closed_folder_is_counted(place: Path) -> None:
    (place / "shut").mkdir()
    fill(place / "shut" / "a")
    (place / "shut").chmod(0)
    assert measure([str(place)], 1 << 50) >= MIB


def test_a_folder_inside_another_is_counted_once(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    fill(tmp_path / "below" / "a")
    Ceiling([str(tmp_path), str(tmp_path / "below")], MIB * 3 // 2).check()


def test_what_was_too_much_for_a_moment_is_seen_by_who_looks_meanwhile(tmp_path: Path) -> None:
    watched = Ceiling([str(tmp_path)], MIB // 2)
    watched.look()
    watched.check()
    fill(tmp_path / "a")
    watched.look()
    (tmp_path / "a").unlink()
    with pytest.raises(CeilingReached) as reached:
        watched.check()
    assert reached.value.refusal.code == "E-RUN-013"
