"""The work folder's ceiling: `capabilities.resources.workdir_max_bytes`. spec/containment.md 20.

It latches: once the work folder and the session's records (its temporary folder, the commands' home
and their logs) were seen above it, every further command is refused until the session ends. A
running command is not killed by it.
"""

import os
import stat
import sys
import time
from collections.abc import Sequence
from typing import Final

from murmur.core.diagnostics import MurmurError, error, render
from murmur.sandbox.binaries import inside
from murmur.sandbox.results import CommandResult, SetUpFailed

_INTERVAL_S: Final = 10.0
_CHEAP_S: Final = 0.05
_BLOCK: Final = 512
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class CeilingReached(SetUpFailed):
    """The latch has tripped: `refusal` is E-RUN-013 with the observed size and the ceiling."""

    def __init__(self, refusal: MurmurError) -> None:
        super().__init__(render(refusal.diagnostic))
        self.refusal = refusal

    def result(self) -> CommandResult:
        return CommandResult(-1, b"", b"", 0, set_up_failure=self.detail)


class Ceiling:
    """Measures before a command starts, when a measurement is due: at the first, every ten seconds,
    and after each command as long as measuring takes next to no time."""

    def __init__(self, folders: Sequence[str], most_bytes: int) -> None:
        self._folders = tuple(
            each
            for each in folders
            if not inside(each, [other for other in folders if other != each])
        )
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
            raise CeilingReached(error("E-RUN-013", observed=self._observed, allowed=self._most))

    def look(self) -> None:
        """Measures now, whatever is due; for a thread that has time. It raises nothing."""
        if self._observed is None:
            size = measure(self._folders, self._most)
            if size > self._most:
                self._observed = size


def measure(folders: Sequence[str], enough: int) -> int:
    """Bytes that the disk holds for what lies below the folders; may stop above `enough`.

    A file with several names counts once; links are not followed; what vanishes meanwhile does not
    count. At most two folders are open at once, whatever the depth.
    """
    walk = _Walk(enough)
    for folder in folders:
        try:
            walk.tree(os.open(folder, _FOLDER))
        except OSError:
            continue
    return walk.total


class _Walk:
    def __init__(self, enough: int) -> None:
        self.total = 0
        self._enough = enough
        self._several: set[tuple[int, int]] = set()

    def tree(self, here: int) -> None:
        """Counts what lies below an open folder, which it closes.

        Goes down by name and up by `..`, and up no further where that is not where it came from:
        commands may be moving folders meanwhile.
        """
        above: list[tuple[tuple[int, int], list[str]]] = []
        try:
            waiting = self._entries(here)
            while self.total <= self._enough:
                if waiting:
                    below = _enter(here, waiting.pop())
                    if below is None:
                        continue
                    above.append((_identity(here), waiting))
                    os.close(here)
                    here = below
                    waiting = self._entries(here)
                    continue
                if not above:
                    return
                came_from, waiting = above.pop()
                parent = os.open("..", _FOLDER, dir_fd=here)
                os.close(here)
                here = parent
                if _identity(here) != came_from:
                    return
        finally:
            os.close(here)

    def _entries(self, folder: int) -> list[str]:
        """Counts the folder's entries; the names of those that are folders."""
        names: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except OSError:
                        continue
                    if stat.S_ISDIR(status.st_mode):
                        names.append(entry.name)
                    elif status.st_nlink > 1:
                        if (status.st_dev, status.st_ino) in self._several:
                            continue
                        self._several.add((status.st_dev, status.st_ino))
                    self.total += status.st_blocks * _BLOCK
        except OSError:
            pass
        return names


def _identity(folder: int) -> tuple[int, int]:
    status = os.fstat(folder)
    return status.st_dev, status.st_ino


def _enter(parent: int, name: str) -> int | None:
    """The folder, opened; None if it is gone. One of ours that was closed to us is opened again,
    since it would hide what it holds."""
    try:
        return os.open(name, _FOLDER, dir_fd=parent)
    except PermissionError:
        pass
    except OSError:
        return None
    if not sys.platform.startswith("linux"):
        return None
    try:
        held = os.open(name, _FOLDER | os.O_PATH, dir_fd=parent)
    except OSError:
        return None
    try:
        mode = stat.S_IMODE(os.fstat(held).st_mode)
        os.chmod(f"/proc/self/fd/{held}", mode | stat.S_IRWXU)
        return os.open(name, _FOLDER, dir_fd=parent)
    except OSError:
        return None
    finally:
        os.close(held)
