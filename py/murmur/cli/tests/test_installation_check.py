"""After commands below the Full tier, `mur run` looks at its own files: design/decisions.md 13."""

import hashlib
from pathlib import Path

import pytest

from murmur.cli.launching import _check_installation
from murmur.core.installation import Installation


def _installed(folder: Path) -> Installation:
    folder.mkdir()
    (folder / "a.py").write_bytes(b"code")
    return Installation(folder, {"a.py": hashlib.sha256(b"code").hexdigest()})


def test_untouched_files_are_not_mentioned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    installed = _installed(tmp_path / "payload")
    _check_installation(installed)
    assert capsys.readouterr().err == ""
    assert (installed.folder / "a.py").exists()


def test_changed_files_are_named_and_go_so_that_the_next_start_unpacks_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    installed = _installed(tmp_path / "payload")
    (installed.folder / "a.py").write_bytes(b"evil")
    _check_installation(installed)
    said = capsys.readouterr().err
    assert "files of mur itself were changed while commands ran: a.py" in said
    assert not installed.folder.exists()
