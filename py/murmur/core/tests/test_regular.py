"""Files of a project that a launch reads. spec/sessions.md 4."""

import os
from pathlib import Path

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.core.dotenv import with_dotenv
from murmur.core.regular import read_regular, read_regular_text
from murmur.core.safefs import TooLarge


def test_a_file_is_read_whole_and_a_link_to_one_is_followed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"one\r\ntwo\rthree\n")
    (tmp_path / "link").symlink_to("file")
    assert read_regular(tmp_path / "link", 100) == b"one\r\ntwo\rthree\n"
    assert read_regular_text(tmp_path / "file", 100) == "one\ntwo\nthree\n"


def test_a_pipe_holds_nobody_up_and_a_device_does_not_fill_the_memory(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "endless").symlink_to("/dev/zero")
    for name in ("pipe", "endless"):
        with pytest.raises(OSError, match="it is no regular file"):
            read_regular(tmp_path / name, 100)
    with pytest.raises(IsADirectoryError):
        read_regular(tmp_path, 100)


def test_a_file_beyond_the_limit_is_refused_without_reading_it_all(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(11))
    assert len(read_regular(tmp_path / "file", 11)) == 11
    os.truncate(tmp_path / "file", 1 << 40)
    with pytest.raises(TooLarge):
        read_regular(tmp_path / "file", 10)


def test_an_env_file_that_is_a_pipe_is_e_io_003(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".env")
    with pytest.raises(MurmurError) as refused:
        with_dotenv({}, tmp_path)
    assert refused.value.code == "E-IO-003"
    assert "it is no regular file" in refused.value.message
