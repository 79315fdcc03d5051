"""The frames of a session in the order they were written, and who is watching them.

Numbered frames share one sequence from 1 and one replay buffer; every watch has a short live queue
of its own, and one that reads too slowly loses the oldest. spec/door.md 16.2.

Nothing here locks: the board calls it under its own lock and hands that lock to the watches.
"""

import threading
import time
from collections import deque
from typing import Final

from murmur.core.tasks import (
    Event,
    GapFrame,
    LaggedFrame,
    Notify,
    StatusFrame,
    Task,
    TaskFrame,
    TaskState,
)

REPLAY_FRAMES: Final = 512
LIVE_FRAMES: Final = 128
# Of frames that hold whole tool results, fewer: the oldest go, told as a gap or as missed frames.
REPLAY_BYTES: Final = 16 << 20
LIVE_BYTES: Final = 16 << 20


def now_ms() -> int:
    """Wall-clock Unix milliseconds."""
    return time.time_ns() // 1_000_000


class EventWatch:
    """One stream's events: a replay first, then what is written from now on."""

    def __init__(
        self,
        lock: threading.RLock,
        log: "EventLog",
        task: Task | None,
        notify: Notify,
        replay: tuple[Event, ...],
    ) -> None:
        self._lock = lock
        self._log = log
        self._task = task
        self._notify: Notify | None = notify
        self._replay = replay
        self._live: deque[Event] = deque()
        self._live_bytes = 0
        self._missed = 0
        self._closed = False
        # What a `lagged` frame says about the task followed.
        self._state = task.state if task is not None else None

    @property
    def task(self) -> Task | None:
        return self._task

    @property
    def closed(self) -> bool:
        with self._lock:
            return self._closed

    def take(self) -> tuple[Event, ...]:
        with self._lock:
            events = list(self._replay)
            self._replay = ()
            if self._missed:
                events.append(self._outside_numbering(LaggedFrame(self._missed)))
                self._missed = 0
            events += self._live
            self._live.clear()
            self._live_bytes = 0
            return tuple(events)

    def close(self) -> None:
        with self._lock:
            self._log.forget(self)
            self._notify = None
            self._closed = True

    def _outside_numbering(self, frame: LaggedFrame) -> Event:
        task = self._task
        if task is None:
            return Event(None, None, None, None, now_ms(), frame)
        return Event(None, task.id, task.context_id, self._state, now_ms(), frame)

    def deliver(self, event: Event) -> None:
        """Queues a live event; called under the lock."""
        self._live.append(event)
        self._live_bytes += _size(event)
        while len(self._live) > LIVE_FRAMES or (
            self._live_bytes > LIVE_BYTES and len(self._live) > 1
        ):
            self._live_bytes -= _size(self._live.popleft())
            self._missed += 1
        self._state = event.state
        self._wake()

    def end(self) -> None:
        """No event will follow; called under the lock."""
        self._closed = True
        self._wake()

    def follows(self, task_id: str | None) -> bool:
        return self._task is not None and self._task.id == task_id

    def _wake(self) -> None:
        if self._notify is not None:
            self._notify()


class EventLog:
    """The numbered sequence, its newest 512 events, and the watches. Call it under `lock`."""

    def __init__(self, lock: threading.RLock) -> None:
        self._lock = lock
        self._next_id = 1
        self._newest: deque[Event] = deque()
        self._bytes = 0
        self._watches: set[EventWatch] = set()
        self._ended = False

    def write(self, task: Task, frame: TaskFrame) -> None:
        """Numbers a frame of `task`, keeps it for replay and hands it to every watch of it.

        A `rejected` status is not numbered, not kept, and goes only to those who follow that task.
        """
        rejected = isinstance(frame, StatusFrame) and frame.state is TaskState.REJECTED
        number = None if rejected else self._next_id
        event = Event(number, task.id, task.context_id, task.state, now_ms(), frame)
        if number is not None:
            self._next_id += 1
            self._keep(event)
        for watch in tuple(self._watches):
            if watch.follows(task.id) or (watch.task is None and not rejected):
                watch.deliver(event)

    def _keep(self, event: Event) -> None:
        self._newest.append(event)
        self._bytes += _size(event)
        while len(self._newest) > REPLAY_FRAMES or self._bytes > REPLAY_BYTES:
            self._bytes -= _size(self._newest.popleft())

    def watch(self, task: Task | None, notify: Notify, after: int | None) -> EventWatch:
        """A new watch of one task or of the session, replaying what came after event `after`."""
        replay = () if after is None else self._replay(task, after)
        watch = EventWatch(self._lock, self, task, notify, replay)
        if self._ended:
            watch.end()
        else:
            self._watches.add(watch)
        return watch

    def _replay(self, task: Task | None, after: int) -> tuple[Event, ...]:
        """A `gap` first when `after` was never issued or events since it are gone."""
        if self._next_id == 1:
            return ()
        oldest = (self._newest[0].id or 0) if self._newest else self._next_id
        mine = [event for event in self._newest if task is None or event.task_id == task.id]
        if oldest - 1 <= after < self._next_id:
            return tuple(event for event in mine if (event.id or 0) > after)
        gap = Event(
            None,
            task.id if task is not None else None,
            task.context_id if task is not None else None,
            task.state if task is not None else None,
            now_ms(),
            GapFrame(oldest),
        )
        return (gap, *mine)

    def forget(self, watch: EventWatch) -> None:
        self._watches.discard(watch)

    def end(self) -> None:
        """Ends every watch, later ones too."""
        self._ended = True
        for watch in self._watches:
            watch.end()
        self._watches.clear()


def _size(event: Event) -> int:
    """The characters of the texts that a frame holds: what its memory mostly is."""
    frame = event.frame
    texts = (getattr(frame, name, None) for name in ("content", "text", "response"))
    return sum(len(each) for each in texts if each is not None)
