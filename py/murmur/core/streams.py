"""Standard output and error that may close under us.

A closed reader never ends the work of a command; what could not be written is either dropped or
handed to a `lost` sink (a session's `logs/bootstrap.log`). spec/diagnostics.md 3.
"""

import errno
import os
import sys
from collections.abc import Callable
from typing import IO

from murmur.core.diagnostics import Diagnostic, render

LostSink = Callable[[str], None]

_lost: LostSink | None = None
_broken: list[IO[str]] = []
_failure: str | None = None


def keep_lost_lines(sink: LostSink | None) -> None:
    """From now on hand every line that a closed stream refused to `sink` (None: drop it)."""
    global _lost
    _lost = sink


def output_failure() -> str | None:
    """Why standard output took not every line, unless its reader just went away.

    A command that otherwise succeeded ends with E-IO-003 then (CLI reference, *Piped output*).
    """
    return _failure


def _write(stream: IO[str] | None, line: str, end: str = "\n") -> bool:
    """Whether the stream took the line."""
    if stream is not None and not any(stream is each for each in _broken):
        try:
            stream.write(_writable(stream, line) + end)
            stream.flush()
            return True
        except (OSError, ValueError) as failure:
            _give_up(stream, failure)
    if _lost is not None:
        _lost(line)
    return False


def _writable(stream: IO[str], line: str) -> str:
    """`line`, with what the stream's encoding cannot hold escaped: a path may be no text at all."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        line.encode(encoding)
    except UnicodeEncodeError:
        return line.encode(encoding, "backslashreplace").decode(encoding)
    return line


def _give_up(stream: IO[str], failure: OSError | ValueError) -> None:
    """Writes no more to a stream; its descriptor goes to /dev/null, so that no flush can fail."""
    global _failure
    _broken.append(stream)
    gone = isinstance(failure, ValueError) or failure.errno in (errno.EPIPE, errno.EBADF)
    if stream is sys.stdout and not gone:
        _failure = os.strerror(failure.errno or 0) if isinstance(failure, OSError) else ""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
    except (OSError, ValueError):
        pass


def emit(line: str) -> None:
    """Writes one line to standard output."""
    _write(sys.stdout, line)


def emit_bytes(data: bytes) -> None:
    """Writes bytes to standard output as they are, with no line's end added."""
    stream = sys.stdout
    if stream is None or any(stream is each for each in _broken):
        return
    try:
        stream.flush()
        stream.buffer.write(data)
        stream.buffer.flush()
    except (OSError, ValueError) as failure:
        _give_up(stream, failure)


def emit_piece(text: str) -> bool:
    """Writes text to standard output as it is, no line end added; whether that took it."""
    return _write(sys.stdout, text, end="")


def complain(line: str) -> bool:
    """Writes one line to standard error; whether that took it."""
    return _write(sys.stderr, line)


def report(diagnostic: Diagnostic) -> bool:
    """Writes a diagnostic to standard error; whether that took it."""
    return complain(render(diagnostic))
