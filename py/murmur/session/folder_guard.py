"""Watching the size of a session's folders while its commands run. spec/containment.md 20.

A thread of its own: the walk may take long, and neither the agent nor the event loop may wait.
"""

import threading
from collections.abc import Callable
from typing import Final

INTERVAL_S: Final = 10.0


class FolderGuard:
    """Calls `look` every `interval` seconds until it is closed."""

    def __init__(self, look: Callable[[], None], interval: float = INTERVAL_S) -> None:
        self._look = look
        self._interval = interval
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._work, name="murmur-guard", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while not self._closing.wait(self._interval):
            self._look()

    def close(self) -> None:
        """Doing it again does nothing. A walk under way is not waited for."""
        self._closing.set()
