"""The work folder's ceiling: `capabilities.resources.workdir_max_bytes`. spec/containment.md 20.

It latches: once the work folder and the session's temporary folder were seen above it, every
further command is refused until the session ends. A running command is not killed by it.
"""

import os
import time
from collections.abc import Sequence
from typing import Final

from murmur.core.diagnostics import error, render
from murmur.sandbox.results import CommandResult, SetUpFailed

_INTERVAL_S: Final = 10.0
_CHEAP_S: Final = 0.05
_BLOCK: Final = 512


class CeilingReached(SetUpFailed):
    """The latch has tripped: E-RUN-013 with the observed size and the ceiling."""

    def result(self) -> CommandResult:
        return CommandResult(-1, b"", b"", 0, set_up_failure=self.detail)


class Ceiling:
    """Measures before a command starts, when a measurement is due: at the first, every ten seconds,
    and after each command as long as measuring takes next to no time."""

    def __init__(self, folders: Sequence[str], most_bytes: int) -> None:
        self._folders = tuple(folders)
        self._most = most_bytes
        self._observed: int | None = None
        self._measured_at = -_INTERVAL_S
        self._took = 0.0
        self._changed = True

    def ended(self) -> None:
        """A command has ended, so the folders may have grown."""
        self._changed = True

    def check(self) -> None:
        """Raises CeilingReached once the latch has tripped, now or before."""
        now = time.monotonic()
        due = now - self._measured_at >= _INTERVAL_S or (self._changed and self._took < _CHEAP_S)
        if self._observed is None and due:
            size = measure(self._folders, self._most)
            self._measured_at, self._changed = time.monotonic(), False
            self._took = self._measured_at - now
            if size > self._most:
                self._observed = size
        if self._observed is not None:
            raise CeilingReached(
                render(error("E-RUN-013", observed=self._observed, allowed=self._most).diagnostic)
            )


def measure(folders: Sequence[str], enough: int) -> int:
    """Bytes that the disk holds for what lies below the folders; may stop above `enough`.

    A file with several names counts once; links are not followed; what vanishes meanwhile does not
    count.
    """
    total = 0
    several: set[tuple[int, int]] = set()
    for folder in folders:
        for _, names, files, descriptor in os.fwalk(folder, follow_symlinks=False):
            for name in (*names, *files):
                try:
                    status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                except OSError:
                    continue
                if status.st_nlink > 1 and name in files:
                    if (status.st_dev, status.st_ino) in several:
                        continue
                    several.add((status.st_dev, status.st_ino))
                total += status.st_blocks * _BLOCK
            if total > enough:
                return total
    return total
