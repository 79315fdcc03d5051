"""Shell tools: arguments and results. spec/sessions.md 14.1 and 14.3."""

from pathlib import Path
from typing import Any

import pytest

from murmur.core.safefs import open_root
from murmur.session.shell_text import BadCommand, ShellCommand, ShellText, read_command, result_text

LS = ShellCommand("ls", ("ls", "-l"), "ls -l", "-l")


def _result(folder: Path, out: bytes, err: bytes = b"", code: int = 0) -> ShellText:
    with open_root(folder) as records:
        return result_text(
            LS, code, out, err, records=records, records_path=str(folder), now_ms=1000
        )


def test_an_interpreter_takes_the_whole_line() -> None:
    command = read_command("bash", {"command": "  echo 'a b' | cat  "})
    assert command.argv == ("bash", "-c", "echo 'a b' | cat")
    assert command.shown == command.line == "echo 'a b' | cat"


def test_any_other_binary_takes_its_arguments_alone() -> None:
    command = read_command("git", {"command": "commit -m 'two words'"})
    assert command.argv == ("git", "commit", "-m", "two words")
    assert command.shown == "git commit -m 'two words'"


@pytest.mark.parametrize(
    "arguments",
    [None, [], {}, {"command": None}, {"command": 1}, {"command": " \n"}, {"command": "a\0b"}],
)
def test_a_missing_blank_or_impossible_command_is_refused(arguments: Any) -> None:
    with pytest.raises(BadCommand):
        read_command("bash", arguments)


def test_the_result_has_four_parts_and_a_code_is_data(tmp_path: Path) -> None:
    shown = _result(tmp_path, b"out\n", b"err\n", 3)
    assert shown.data == "$ ls -l\nExit code: 3\nStdout:\nout\n\nStderr:\nerr\n"
    assert shown.summary == "Shell command exited with code 3"
    assert not shown.truncated and shown.log is None


def test_bytes_that_are_no_utf_8_are_replaced(tmp_path: Path) -> None:
    assert "a\ufffdb" in _result(tmp_path, b"a\xffb").data


def test_output_at_the_limit_is_whole_and_one_byte_more_is_cut_and_logged(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    assert not _result(tmp_path, b"x" * 16384, b"y" * 16384).truncated
    shown = _result(tmp_path, b"Z" * 16385, b"err")
    assert shown.truncated
    assert shown.data.count("Z") == 16384
    assert shown.log == f"{tmp_path}/logs/shell-1000.log"
    assert shown.data.splitlines()[-1].endswith(shown.log)
    log = Path(shown.log).read_bytes()
    assert log.startswith(b"$ ls -l\nExit code: 0\n")
    assert b"Z" * 16385 in log and log.endswith(b"err\n")


def test_two_logs_of_one_millisecond_have_two_names(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    names = [_result(tmp_path, b"x" * 20000).log for _ in range(2)]
    assert names == [f"{tmp_path}/logs/shell-{ms}.log" for ms in (1000, 1001)]


def test_a_log_that_cannot_be_written_is_said_and_ends_nothing(tmp_path: Path) -> None:
    shown = _result(tmp_path, b"x" * 20000)
    assert shown.truncated and shown.log is None
    assert "the rest is lost" in shown.data.splitlines()[-1]
