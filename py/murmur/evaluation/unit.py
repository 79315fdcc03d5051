"""One run of one case as a unit of work that can be sent anywhere, and its answer.

A unit is JSON on its way out and a `Run` on its way back; whoever carries it out needs `mur` and
the files that it names. CLI reference, *mur eval run*, *What happens per run*.
"""

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from murmur.core.dotenv import with_dotenv
from murmur.evaluation.dataset import Case, CaseCheck
from murmur.evaluation.record import Check, Run, parse_run

_CASE_VARIABLE: Final = "MURMUR_CASE_ID"

# The processes of units in flight, whichever thread waits for them.
_running: Final[set["subprocess.Popen[bytes]"]] = set()


@dataclass(frozen=True, slots=True)
class Unit:
    """One case on one arm, the `repeat`-th time. Paths are absolute.

    `env_folder` is the baseline's, whose `.env` wins; only the baseline `writes_lock`.
    """

    case: Case
    arm: str
    repeat: int
    manifest: Path
    env_folder: Path
    writes_lock: bool

    def as_json(self) -> dict[str, Any]:
        """The unit as JSON values."""
        check = self.case.check
        return {
            "case_id": self.case.case_id,
            "task_path": str(self.case.task_path),
            "start": None if self.case.start is None else str(self.case.start),
            "check": None
            if check is None
            else {
                "command": check.command,
                "files": None if check.files is None else str(check.files),
                "timeout_secs": check.timeout_secs,
            },
            "arm": self.arm,
            "repeat": self.repeat,
            "manifest": str(self.manifest),
            "env_folder": str(self.env_folder),
            "writes_lock": self.writes_lock,
        }

    def unfinished(self, status: str, *warnings: str, message: str = "") -> Run:
        """The run of a unit that never reached its check."""
        missing = Check("not_run", message=message) if self.case.check is not None else None
        return parse_run(
            {
                "case_id": self.case.case_id,
                "arm": self.arm,
                "repeat": self.repeat,
                "status": status,
                "warnings": warnings,
                "check": None if missing is None else dataclasses.asdict(missing),
            }
        )


def parse_unit(value: Mapping[str, Any]) -> Unit:
    """A unit from its JSON values. Raises KeyError or TypeError for another shape."""
    start, check = value["start"], value["check"]
    return Unit(
        Case(
            value["case_id"],
            Path(value["task_path"]),
            None if start is None else Path(start),
            None
            if check is None
            else CaseCheck(
                check["command"],
                None if check["files"] is None else Path(check["files"]),
                check["timeout_secs"],
            ),
        ),
        value["arm"],
        value["repeat"],
        Path(value["manifest"]),
        Path(value["env_folder"]),
        value["writes_lock"],
    )


class Interrupted(Exception):
    """The process of a unit was ended by a signal before it had an answer."""


def carry_out(unit: Unit) -> Run:
    """Runs the unit in a process of its own and waits for it.

    A launch is a program: its signals, its event loop and what it registers are a process's.
    Variables are read where the unit runs, so that no key travels with it. Raises E-IO-003 for a
    `.env` that cannot be read, Interrupted when the process was ended from outside.
    """
    environ = with_dotenv(os.environ, unit.env_folder)
    process = subprocess.Popen(
        [*program(), "eval", "case"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**environ, _CASE_VARIABLE: unit.case.case_id},
    )
    _running.add(process)
    try:
        answer, _ = process.communicate(json.dumps(unit.as_json()).encode())
    finally:
        _running.discard(process)
    try:
        return parse_run(json.loads(answer))
    except (ValueError, KeyError, TypeError):
        status = process.returncode
        if status < 0 or status > 128:
            raise Interrupted(f"exit status {status}") from None
        return unit.unfinished("stage_failed", message=f"mur ended with status {status}")


def interrupt_all() -> None:
    """Sends SIGINT to every unit in flight: each ends its session as Ctrl-C ends `mur run`."""
    for process in list(_running):
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)


def program() -> list[str]:
    """This `mur`, as a command line: the zipapp's own file, or the module."""
    started = os.path.abspath(sys.argv[0]) if sys.argv else ""
    if os.path.basename(started) == "mur" and os.access(started, os.X_OK):
        return [started]
    return [sys.executable, "-m", "murmur.cli"]
