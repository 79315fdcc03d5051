"""How downloads and compiling go, on one line of a terminal that is gone when they are done.

Written to standard error, and only when that is a terminal: a log or a pipe gets no line of it.
"""

import os
import shutil
import sys
import threading
import time
from typing import Final

from murmur.core.diagnostics import printable

_EVERY_S: Final = 0.1
_CLEAR: Final = "\r\x1b[K"


class _Line:
    """The line. What draws it holds `_lock`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._drawn = 0.0

    def close(self) -> None:
        """Takes the line away."""
        with self._lock:
            if self._drawn:
                _write(_CLEAR)
            self._drawn = 0.0

    def _show(self, line: str, now: float) -> None:
        self._drawn = now
        columns = shutil.get_terminal_size().columns
        _write(_CLEAR + line[: max(columns - 1, 20)])


class Display(_Line):
    """A line such as `Fetching 2 of 5: 3.1 of 12.4 MB  murmur/tool-git@0.6.0`."""

    def __init__(self) -> None:
        super().__init__()
        self._sizes: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        self._ended: set[str] = set()
        self._total = 0

    def expects(self, count: int) -> None:
        """How many downloads there will be."""
        self._total = count

    def begins(self, name: str, size: int) -> None:
        with self._lock:
            self._sizes[name] = size
            self._draw(time.monotonic())

    def has(self, name: str, count: int) -> None:
        with self._lock:
            self._counts[name] = count
            now = time.monotonic()
            if now - self._drawn >= _EVERY_S:
                self._draw(now)

    def ends(self, name: str) -> None:
        with self._lock:
            self._ended.add(name)
            self._draw(time.monotonic())

    def _draw(self, now: float) -> None:
        running = [name for name in self._sizes if name not in self._ended]
        total = max(self._total, len(self._sizes))
        known = sum(max(size, self._counts.get(name, 0)) for name, size in self._sizes.items())
        line = f"Fetching {len(self._ended)} of {total}: "
        line += f"{sum(self._counts.values()) / 1e6:.1f} of {known / 1e6:.1f} MB"
        line += f"  {printable(running[0])}" if running else ""
        self._show(line, now)


class CompilingDisplay(_Line):
    """A line such as `Compiling for this machine, 1 of 3 done: tool-git@0.6.0`."""

    def __init__(self, total: int) -> None:
        super().__init__()
        self._total = total
        self._done = 0
        self._running: list[str] = []

    def begins(self, name: str) -> None:
        with self._lock:
            self._running.append(name)
            self._draw()

    def ends(self, name: str) -> None:
        with self._lock:
            self._running.remove(name)
            self._done += 1
            self._draw()

    def _draw(self) -> None:
        line = f"Compiling for this machine, {self._done} of {self._total} done"
        line += f": {printable(', '.join(self._running))}" if self._running else ""
        self._show(line, time.monotonic())


def terminal_display() -> Display | None:
    """A display of downloads, when standard error is a terminal that can take a line back."""
    return Display() if _is_shown() else None


def compiling_display(total: int) -> CompilingDisplay | None:
    """A display of `total` compiles, where `terminal_display` would give one."""
    return CompilingDisplay(total) if _is_shown() else None


def _is_shown() -> bool:
    try:
        return sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    except (AttributeError, ValueError):
        return False


def _write(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        pass  # the terminal went away; the install goes on
