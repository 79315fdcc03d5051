"""The runtime-provided tool `session-status`: where an agent session stands. spec/sessions.md 15.1.

Fed by what the trace counts and by what was decided at launch, and by nothing else.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from murmur.core.durations import rfc3339
from murmur.session.answers import Answer
from murmur.session.attempt import Attempt
from murmur.session.deadline import Deadline
from murmur.trace.writer import TraceWriter

NONE: Final = "none"
UNKNOWN: Final = "unknown"


@dataclasses.dataclass(frozen=True, slots=True)
class SessionStatus:
    """Answers with one JSON object. Limits that are not set are None here, and read `none`.

    `turns` and `tokens` are the running task's; `context` is the occupancy of the last call.
    """

    session_id: str
    trace: TraceWriter
    max_turns: int | None
    budget: int | None
    budget_basis: str
    session_limit: int | None = None
    machine_limit: int | None = None
    machine_used: Callable[[], int | None] = lambda: None
    deadline: Deadline | None = None

    def __call__(self, arguments: Mapping[str, object], attempt: Attempt, turn: int) -> Answer:
        counts = self.trace.task_counts
        totals = self.trace.session_counts
        shown: dict[str, Any] = {
            "session_id": self.session_id,
            "task_id": attempt.task_id or NONE,
            "turns": {
                "used": counts.turns,
                "max": _limit(self.max_turns),
                "left": NONE if self.max_turns is None else max(0, self.max_turns - counts.turns),
            },
            "tokens": {"input": counts.input_tokens, "output": counts.output_tokens},
            "context": {
                "occupancy": UNKNOWN if counts.occupancy is None else counts.occupancy,
                "budget": _limit(self.budget),
                "basis": self.budget_basis,
            },
            "spend": {
                "session": {
                    "used": totals.input_tokens + totals.output_tokens,
                    "limit": _limit(self.session_limit),
                },
                "machine_today": {
                    "used": _known(self.machine_used()),
                    "limit": _limit(self.machine_limit),
                },
            },
            "deadline": NONE if self.deadline is None else _left(self.deadline),
        }
        return Answer(json.dumps(shown, ensure_ascii=False))


def _left(deadline: Deadline) -> dict[str, object]:
    return {"at": rfc3339(deadline.wall), "left_secs": max(0, int(deadline.left()))}


def _limit(value: int | None) -> int | str:
    return NONE if value is None else value


def _known(value: int | None) -> int | str:
    return UNKNOWN if value is None else value
