"""`lifecycle.done_check`: the operator's command that judges an attempt.

It runs as the agent's own commands do, under the session's containment, and says nothing of what
to do next. spec/sessions.md 12; spec/formations-and-newer-manifest.md A13.
"""

import dataclasses
import threading
import time
from typing import Literal, Protocol

from murmur.core.words import split_words
from murmur.manifest.session import DoneCheck
from murmur.sandbox.results import CommandResult, NotAllowed, SetUpFailed
from murmur.session.shell_text import STREAM_LIMIT

Outcome = Literal["passed", "failed", "timed_out", "stopped", "not_started"]


class RunCheck(Protocol):
    """Runs a program with its arguments; it is killed at `timeout` seconds or on `cancel`.

    Raises NotAllowed or SetUpFailed when nothing was executed.
    """

    def __call__(
        self, argv: list[str], timeout: float, cancel: threading.Event
    ) -> CommandResult: ...


@dataclasses.dataclass(frozen=True, slots=True)
class Checked:
    """How one run of the check ended; `output` is what it printed, cut."""

    outcome: Outcome
    duration_ms: int
    exit_code: int | None = None
    resource_limit: str | None = None
    output: str = ""

    @property
    def failed(self) -> bool:
        """Whether the work is not done, as far as the check could say."""
        return self.outcome in ("failed", "timed_out")


def run_check(run: RunCheck | None, check: DoneCheck, cancel: threading.Event) -> Checked:
    """Runs the check once. Whatever the command does, this returns."""
    began = time.monotonic()
    try:
        if run is None:
            raise NotAllowed("this session runs no commands")
        done = run(split_words(check.command), check.timeout_secs, cancel)
    except (NotAllowed, SetUpFailed) as failure:
        return Checked("not_started", _since(began), output=str(failure))
    if done.set_up_failure is not None:
        return Checked("not_started", done.duration_ms, output=done.set_up_failure)
    output = _cut(done.stdout) + _cut(done.stderr)
    if done.timed_out or done.cancelled:
        outcome: Outcome = "timed_out" if done.timed_out else "stopped"
        return Checked(outcome, done.duration_ms, None, done.resource_limit, output)
    passed = done.exit_code == 0 and done.resource_limit is None
    return Checked(
        "passed" if passed else "failed",
        done.duration_ms,
        done.exit_code,
        done.resource_limit,
        output,
    )


def feedback_text(command: str, checked: Checked) -> str:
    """What a reopened attempt reads: the command, how it ended, what it printed."""
    if checked.outcome == "timed_out":
        ended = "Exit code: none, it ran out of time"
    else:
        ended = f"Exit code: {checked.exit_code}"
    if checked.resource_limit is not None:
        ended += f" (stopped by {checked.resource_limit})"
    return f"Command: {command}\n{ended}\nOutput:\n{checked.output}"


def _cut(data: bytes) -> str:
    return data[:STREAM_LIMIT].decode("utf-8", "replace")


def _since(began: float) -> int:
    return int((time.monotonic() - began) * 1000)
