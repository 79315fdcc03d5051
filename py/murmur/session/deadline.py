"""The hard deadline of a session, and telling its agent once that it is near.

Counted on the monotonic clock from the moment `mur run` started; the wall moment is for display
and for passing down. CLI reference, *The deadline*; spec/sessions.md 13.
"""

import dataclasses
import math
import threading
import time
from collections.abc import Callable
from typing import Final, Literal

from murmur.core.durations import rfc3339

_LONGEST_NOTICE: Final = 300.0


@dataclasses.dataclass(frozen=True, slots=True)
class Deadline:
    """When a session ends. `moment` is monotonic, `wall` Unix seconds; `secs` as it was given.

    `span` is how many seconds the session had from its start, whoever set the deadline.
    """

    source: Literal["own", "inherited"]
    moment: float
    wall: float
    span: float
    secs: int | None = None

    def left(self, now: float | None = None) -> float:
        """Seconds until it falls, negative afterwards."""
        return self.moment - (time.monotonic() if now is None else now)

    def record(self) -> dict[str, object]:
        """`session_start.deadline`, and the fields of `deadline_reached`."""
        fields: dict[str, object] = {"source": self.source, "at": rfc3339(self.wall)}
        return fields if self.secs is None else {**fields, "secs": self.secs}


@dataclasses.dataclass(frozen=True, slots=True)
class UntilDeadline:
    """The `Clock` of a model call's retries: no wait is begun that the deadline would cut."""

    deadline: Deadline | None

    def remaining(self) -> float | None:
        """Seconds until the session ends; None when nothing ends it."""
        return None if self.deadline is None else self.deadline.left()

    def admitted(self) -> bool:
        """True: what may still be spent is the meter's to say."""
        return True


def earliest_deadline(
    own_secs: int | None, inherited_ms: int | None, started: float
) -> Deadline | None:
    """The deadline that binds: its own `--deadline`, or the one passed down (Unix milliseconds).

    `started` is the monotonic moment at which the command began.
    """
    began_wall = time.time() - (time.monotonic() - started)
    found = []
    if own_secs is not None:
        found.append(Deadline("own", started + own_secs, began_wall + own_secs, own_secs, own_secs))
    if inherited_ms is not None:
        wall = inherited_ms / 1000
        span = wall - began_wall
        found.append(Deadline("inherited", started + span, wall, max(0.0, span)))
    return min(found, key=lambda each: each.moment, default=None)


class Notice:
    """Says once, on a tool result, that the deadline is near."""

    def __init__(self, deadline: Deadline | None, declared_secs: int | None) -> None:
        """`declared_secs` is `lifecycle.deadline_notice_secs`; None takes its default."""
        self._deadline = deadline
        self._margin = 0.0
        if deadline is not None:
            default = min(_LONGEST_NOTICE, deadline.span / 10)
            self._margin = float(declared_secs) if declared_secs is not None else default

    def take(self) -> str | None:
        """The notice, the first time that it is due; None before and after."""
        if self._deadline is None:
            return None
        left = self._deadline.left()
        if left > self._margin:
            return None
        seconds = max(0, math.ceil(left))
        self._deadline = None
        return (
            f"[murmur] The session ends in {seconds} seconds, whatever it is doing then. "
            "Bring your work to a state that can be left, and say what is done."
        )


class Overdue:
    """Whether the deadline has fallen. Set by the event loop, read by the session's worker.

    `kept` is the task, if any, that has an answer already and is only worked on further: it is
    interrupted and ends with that answer, where any other is cancelled.
    """

    def __init__(self) -> None:
        self._fallen = threading.Event()
        self._ending = threading.Lock()
        self.kept: str | None = None

    def __bool__(self) -> bool:
        return self._fallen.is_set()

    def fall(self, stopping: threading.Event, announce: Callable[[], object]) -> bool:
        """The deadline falls, unless the session is ending already; whether it did.

        `announce` comes before anybody can act on it.
        """
        with self._ending:
            if stopping.is_set():
                return False
            announce()
            self._fallen.set()
            return True

    def too_late(self, stopping: threading.Event) -> None:
        """The session ends by itself: from now on no deadline changes how."""
        with self._ending:
            stopping.set()
