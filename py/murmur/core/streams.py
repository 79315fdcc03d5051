"""Standard output and error that may close under us.

A closed reader never ends the work of a command; what could not be written is either dropped or
handed to a `lost` sink (a session's `logs/bootstrap.log`). spec/diagnostics.md 3.
"""

import os
import sys
from collections.abc import Callable
from typing import IO

from murmur.core.diagnostics import Diagnostic, render

LostSink = Callable[[str], None]

_lost: LostSink | None = None


def keep_lost_lines(sink: LostSink | None) -> None:
    """From now on hand every line that a closed stream refused to `sink` (None: drop it)."""
    global _lost
    _lost = sink


def _write(stream: IO[str] | None, line: str) -> None:
    if stream is not None:
        try:
            stream.write(line + "\n")
            stream.flush()
            return
        except (OSError, ValueError):
            _silence(stream)
    if _lost is not None:
        _lost(line)


def _silence(stream: IO[str]) -> None:
    """Points a broken stream's descriptor at /dev/null so that later writes cannot fail."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
    except (OSError, ValueError):
        pass


def emit(line: str) -> None:
    """Writes one line to standard output."""
    _write(sys.stdout, line)


def complain(line: str) -> None:
    """Writes one line to standard error."""
    _write(sys.stderr, line)


def report(diagnostic: Diagnostic) -> None:
    """Writes a diagnostic to standard error."""
    complain(render(diagnostic))
