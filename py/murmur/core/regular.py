"""Files of a project by name: whole, bounded, and never a pipe that somebody would have to fill.

A capsule's commands may write in the project's folder, so that what a launch reads there can be a
named pipe or a link to a device. spec/sessions.md 4.
"""

import errno
import os
import stat
from pathlib import Path

from murmur.core.safefs import TooLarge


def read_regular(path: str | Path, limit: int) -> bytes:
    """The whole file; links are followed. Raises OSError for what is no regular file or is longer
    than `limit` bytes, beside what opening raises."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb", closefd=True) as file:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        data = file.read(limit + 1)
    if len(data) > limit:
        raise TooLarge(str(path), limit)
    return data


def read_regular_text(path: str | Path, limit: int) -> str:
    """As `read_regular`, as UTF-8 text with every line end a newline. Raises UnicodeDecodeError."""
    text = read_regular(path, limit).decode("utf-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")
