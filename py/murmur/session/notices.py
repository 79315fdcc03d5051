"""What a session tells its operator, and what of that is kept in `logs/bootstrap.log`.

spec/diagnostics.md 1.3; CLI reference, *A closed stream*.
"""

import contextlib
from typing import Final

from murmur.core.diagnostics import Diagnostic, render
from murmur.core.safefs import Root
from murmur.core.streams import complain, report

BOOTSTRAP_LOG: Final = "logs/bootstrap.log"

# The warnings decided at launch, which the session's own log keeps too.
AT_LAUNCH: Final = frozenset(f"W-SEC-{number:03d}" for number in (1, 2, 3, 5, 10, 21, 22, 23, 35))


def keep(records: Root, line: str) -> None:
    """Adds a line to the session's own log; a log that cannot be written loses it."""
    with contextlib.suppress(OSError):
        records.append(BOOTSTRAP_LOG, line.encode("utf-8", "replace") + b"\n")


def tell(records: Root, found: Diagnostic) -> None:
    """Prints a warning of a live session; one that is decided at launch is kept as well.

    What standard error did not take is kept already: the lost lines of a session go there.
    """
    if report(found) and found.code in AT_LAUNCH:
        keep(records, render(found))


def lose(records: Root, what: str, failure: OSError) -> None:
    """Says that a file of the session could not be written, which ends nothing."""
    say(records, f"[capsule-runtime] warning: {what} cannot be written: {_reason(failure)}")


def say(records: Root, line: str) -> None:
    """Prints a line without a code and keeps it in the session's own log."""
    if complain(line):
        keep(records, line)


def _reason(failure: OSError) -> str:
    return failure.strerror or str(failure)
