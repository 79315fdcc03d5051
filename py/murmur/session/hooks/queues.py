"""Async hooks: a queue and a worker thread each. spec/artifacts.md 15.3.

A third kind of thread beside the loop's and the task worker's: a hook that is slow must delay
neither, and calls of one hook must not overtake each other.
"""

import collections
import threading
import time
from collections.abc import Callable, Iterable
from typing import Final, Literal

QUEUE_DEPTH: Final = 1024
DRAIN_SECONDS: Final = 15.0

Job = Callable[[], object]


class HookQueue:
    """Runs one hook's jobs in order. A job must not raise."""

    def __init__(
        self, name: str, on_overflow: Literal["drop", "block"], depth: int = QUEUE_DEPTH
    ) -> None:
        self.name = name
        self._blocks = on_overflow == "block"
        self._depth = depth
        self._changed = threading.Condition()
        self._jobs: collections.deque[Job] = collections.deque()
        self._busy = False
        self._closed = False
        self.dropped = 0
        self._thread = threading.Thread(target=self._work, name=f"hook-{name}", daemon=True)
        self._thread.start()

    def put(self, job: Job) -> bool:
        """Queues a job; where there is no room it waits, or drops the job, counts it and is false.

        After the drain nothing is taken, and that is no overflow.
        """
        with self._changed:
            while len(self._jobs) >= self._depth and self._blocks and not self._closed:
                self._changed.wait()
            if not self._closed and len(self._jobs) >= self._depth:
                self.dropped += 1
                return False
            if not self._closed:
                self._jobs.append(job)
                self._changed.notify_all()
            return True

    def drain(self, until: float) -> int:
        """Waits until everything is done or the monotonic moment comes; jobs left, then abandoned.

        Nothing is taken afterwards.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._jobs and not self._busy, until - _now())
            left = len(self._jobs) + self._busy
            self._jobs.clear()
            self._closed = True
            self._changed.notify_all()
        return left

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._jobs or self._closed)
                if not self._jobs:
                    return
                job = self._jobs.popleft()
                self._busy = True
                self._changed.notify_all()
            try:
                job()
            finally:
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()


def drain_all(queues: Iterable[HookQueue], seconds: float = DRAIN_SECONDS) -> dict[str, int]:
    """Drains queues within a time that they share; the jobs left of each that has some."""
    until = _now() + seconds
    left = {queue.name: queue.drain(until) for queue in queues}
    return {name: count for name, count in left.items() if count}


def _now() -> float:
    return time.monotonic()
