"""What a session tells and keeps. spec/diagnostics.md 1.3; CLI reference, *A closed stream*."""

import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest

from murmur.core.diagnostics import warning
from murmur.core.safefs import Root, open_root
from murmur.core.streams import keep_lost_lines
from murmur.session.notices import keep, lose, tell

LAUNCH = warning("W-SEC-035", reason="no controllers")
STAGING = warning("W-SEC-007", artifact="local/x", entry="https://a.example")


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Root]:
    (tmp_path / "logs").mkdir()
    with open_root(tmp_path) as root:
        yield root
    keep_lost_lines(None)


def _log(tmp_path: Path) -> str:
    path = tmp_path / "logs" / "bootstrap.log"
    return path.read_text() if path.exists() else ""


def test_a_warning_decided_at_launch_is_printed_and_kept(
    records: Root, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tell(records, LAUNCH)
    assert "warning[W-SEC-035]" in capsys.readouterr().err
    assert _log(tmp_path).count("warning[W-SEC-035]") == 1


def test_any_other_warning_is_printed_only(
    records: Root, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tell(records, STAGING)
    assert "warning[W-SEC-007]" in capsys.readouterr().err
    assert _log(tmp_path) == ""


def test_a_line_that_standard_error_did_not_take_is_kept_once(
    records: Root, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    keep_lost_lines(lambda line: keep(records, line))
    tell(records, LAUNCH)
    tell(records, STAGING)
    lose(records, "out/result.txt", OSError(28, "No space left on device"))
    lines = _log(tmp_path).splitlines()
    assert [line.split("]")[1].strip()[:20] for line in lines][:2] == [
        "warning[W-SEC-035",
        "warning[W-SEC-007",
    ]
    assert len(lines) == 3
    assert "out/result.txt cannot be written: No space left on device" in lines[2]


def test_a_log_that_cannot_be_written_ends_nothing(records: Root, tmp_path: Path) -> None:
    (tmp_path / "logs").rmdir()
    keep(records, "lost")
