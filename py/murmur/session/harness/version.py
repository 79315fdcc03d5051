"""Which version of a harness is installed, and whether its driver was tested with it (W-RUN-002).

spec/diagnostics.md, W-RUN-002; spec/artifacts.md 13.1 and 13.2.
"""

import dataclasses
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from murmur.core.diagnostics import Diagnostic, warning
from murmur.sandbox.results import CommandResult
from murmur.session.harness.contract import Description

PROBE_SECONDS: Final = 10.0

_NUMBER: Final = re.compile(r"\d+(?:\.\d+)+[0-9A-Za-z.+-]*")
_LONGEST: Final = 200

Run = Callable[[Sequence[str], Mapping[str, str], float], CommandResult]
"""Runs an argv with an environment for at most so many seconds, contained as the harness is."""


@dataclasses.dataclass(frozen=True, slots=True)
class Probed:
    """`version` is None where it could not be read; then `reason` says why."""

    version: str | None
    tested: bool
    reason: str

    def warning(self, description: Description) -> Diagnostic | None:
        """W-RUN-002, where there is something to warn of."""
        if self.tested:
            return None
        tested = ", ".join(description.tested_versions) or "no version"
        return warning("W-RUN-002", harness=description.harness, reason=self.reason, tested=tested)


def probe_version(
    description: Description, binary: str, env: Mapping[str, str], run: Run
) -> Probed:
    """Asks the harness."""
    done = run([binary, *description.version_args], env, PROBE_SECONDS)
    if done.timed_out:
        return _unread(f"no answer came in {PROBE_SECONDS:g} s")
    if done.set_up_failure is not None:
        return _unread(f"it could not be run: {done.set_up_failure}")
    if done.exit_code != 0:
        return _unread(f"it exited with {done.exit_code}")
    lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
    if not lines:
        return _unread("it printed nothing")
    return judge(lines[0].strip()[:_LONGEST], description.tested_versions)


def judge(line: str, tested: Sequence[str]) -> Probed:
    """A harness's own word: its number where it has one, else the whole line."""
    found = _NUMBER.search(line)
    version = found[0] if found is not None else line
    known = version in tested or line in tested
    return Probed(version, known, "" if known else f"it reports version {version}")


def _unread(why: str) -> Probed:
    return Probed(None, False, f"its version cannot be read, {why}")


def stamp(binary: str) -> tuple[int, ...]:
    """What changes when the program does; empty for one that is gone."""
    try:
        status = os.stat(binary)
    except OSError:
        return ()
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
