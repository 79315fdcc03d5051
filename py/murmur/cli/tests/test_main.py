"""How a command ends: exit statuses and what the system's own failures are reported as."""

import errno
from typing import NoReturn

import click
import pytest

from murmur.cli import main as program
from murmur.core.diagnostics import error


def ending(failure: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit status of a command that raises `failure`."""

    @click.command("version")
    def command() -> NoReturn:
        raise failure

    monkeypatch.setattr(program, "_with_help", lambda _: command)
    return program.main(["version"])


@pytest.mark.parametrize(
    ("failure", "status", "said"),
    [
        (
            error("E-RUN-007", reason="just so"),
            1,
            "error[E-RUN-007]: the agent loop failed: just so\n",
        ),
        (
            PermissionError(errno.EACCES, "Permission denied", "/x/y"),
            1,
            "error[E-IO-002]: permission denied: /x/y: Permission denied\n",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device", "/x\x1b/y"),
            1,
            "error[E-IO-003]: /x\\x1b/y: No space left on device\n",
        ),
        (OSError("odd"), 1, "error[E-IO-003]: the system: OSError\n"),
        (click.UsageError("not so"), 2, "error: not so\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_failure_has_its_exit_status_and_words(
    failure: BaseException,
    status: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ending(failure, monkeypatch) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith(said)
    assert "Traceback" not in captured.err
