"""Measuring what a session has written. spec/containment.md 20."""

import os
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
