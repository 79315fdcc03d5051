"""Running totals of a session and of its current task, counted from the lines as written.

spec/observability.md 8: `session_end` and `task_end` agree with the lines because they are
counted here and nowhere else.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Counts:
    """Calls and tokens; an absent token count adds nothing.

    `occupancy` is what the loop's last counted call put into the context and got back.
    """

    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    tool_calls: int = 0
    shell_calls: int = 0
    occupancy: int | None = None

    def add(self, event: str, payload: Mapping[str, Any]) -> None:
        """Counts one line."""
        if event == "inference" and _counts(payload):
            self.turns += 1
            self.input_tokens += payload.get("input_tokens", 0)
            self.output_tokens += payload.get("output_tokens", 0)
            if "origin" not in payload and "input_tokens" in payload:
                self.occupancy = payload["input_tokens"] + payload.get("output_tokens", 0)
        elif event == "tool_call":
            self.tool_calls += 1
        elif event in ("shell", "shell_detached"):
            self.shell_calls += 1

    def task_end(self) -> dict[str, int]:
        """The counter fields of `task_end`."""
        return {
            "turns": self.turns,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "tool_calls": self.tool_calls,
            "shell_calls": self.shell_calls,
        }

    def session_end(self) -> dict[str, int]:
        """The counter fields of `session_end`."""
        return {f"total_{name}": value for name, value in self.task_end().items()}


def _counts(payload: Mapping[str, Any]) -> bool:
    """Whether an `inference` line counts as a turn: a failed loop call with no tokens does not."""
    if payload["decision"] != "error" or "origin" in payload:
        return True
    return "input_tokens" in payload or "output_tokens" in payload
