"""The figures of one session, added up from its lines in one pass.

spec/observability.md 8: what `session_end` and `task_end` recorded wins; for a session that no
`session_end` closed, `Counts` counts the lines as the writer would have.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from murmur.trace.counters import Counts
from murmur.trace.redundancy import ReadHistory
from murmur.trace.wording import number

PROVIDER_COUNTS: Final[Mapping[str, str]] = {
    "input_tokens_actual": "in",
    "output_tokens_actual": "out",
    "cached_tokens": "cached",
    "cache_write_tokens": "cache write",
    "thinking_tokens": "thinking",
}

_COUNTED: Final = ("input_tokens", "output_tokens")


@dataclass(slots=True)
class Calls:
    """Calls of one kind: how many there were, how many failed, and how long they took in all."""

    count: int = 0
    failed: int = 0
    total_ms: int = 0
    timed: int = 0

    def add(self, event: Mapping[str, Any], *, failed: bool) -> None:
        """One call with a duration."""
        self.count += 1
        self.failed += failed
        self.timed += 1
        self.total_ms += number(event, "duration_ms")

    @property
    def average_ms(self) -> float | None:
        """Mean latency; None without a timed call."""
        return self.total_ms / self.timed if self.timed else None

    @property
    def success(self) -> float | None:
        """Share of calls that succeeded, in percent; None without a call."""
        return 100 * (self.count - self.failed) / self.count if self.count else None


@dataclass(slots=True)
class Figures:
    """What `mur trace` compares and aggregates of one session; filled by `take`, line by line.

    `history` None leaves redundant calls to whoever lists them.
    """

    start: Mapping[str, Any] | None = None
    end: Mapping[str, Any] | None = None
    first_ms: int = 0
    last_ms: int = 0
    last_event: str = ""
    counted: Counts = field(default_factory=Counts)
    provider: dict[str, int] = field(default_factory=dict)
    tools: Calls = field(default_factory=Calls)
    skills: Calls = field(default_factory=Calls)
    shell: Calls = field(default_factory=Calls)
    exit_codes: dict[int, int] = field(default_factory=dict)
    redundant: int = 0
    compaction: Mapping[str, Any] | None = None
    history: ReadHistory | None = field(default_factory=ReadHistory)

    def take(self, event: Mapping[str, Any]) -> None:
        """One line, in file order."""
        kind = event.get("event_type")
        stamp = number(event, "timestamp")
        self.first_ms = self.first_ms or stamp
        self.last_ms = stamp or self.last_ms
        self.last_event = kind if isinstance(kind, str) else "?"
        if kind == "session_start":
            self.start = event
        elif kind == "session_end":
            self.end = event
        elif kind == "inference":
            self._inference(event)
        elif kind == "tool_call":
            self.counted.add(kind, event)
            self.tools.add(event, failed=event.get("status") != "ok")
            self._reads(event)
        elif kind == "plan_step":
            self._reads(event)
        elif kind == "skill_call":
            self.skills.add(event, failed=event.get("status") != "ok")
        elif kind in ("shell", "shell_detached", "shell_completed"):
            self._command(kind, event)
        elif kind == "compaction":
            self.compaction = event

    def _reads(self, event: Mapping[str, Any]) -> None:
        if self.history is not None:
            self.redundant += self.history.take(event) is not None

    def _inference(self, event: Mapping[str, Any]) -> None:
        counted = {key: number(event, key) for key in _COUNTED if key in event}
        origin = {"origin": event["origin"]} if "origin" in event else {}
        self.counted.add("inference", {"decision": event.get("decision"), **origin, **counted})
        for key in PROVIDER_COUNTS:
            if key in event:
                self.provider[key] = self.provider.get(key, 0) + number(event, key)

    def _command(self, kind: str, event: Mapping[str, Any]) -> None:
        if kind != "shell_completed":
            self.counted.add(kind, event)
            self.shell.count += 1
        if kind != "shell_detached":
            code = number(event, "exit_code")
            self.exit_codes[code] = self.exit_codes.get(code, 0) + 1
            self.shell.total_ms += number(event, "duration_ms")
            self.shell.timed += 1

    def total(self, name: str) -> int:
        """A total by its `task_end` name (`turns`, `input_tokens`, …): recorded, else counted."""
        if self.end is not None:
            return number(self.end, f"total_{name}")
        return int(getattr(self.counted, name))

    def per_turn(self, name: str) -> float:
        """That total over the turns; 0 without a turn."""
        turns = self.total("turns")
        return self.total(name) / turns if turns else 0.0

    @property
    def duration_ms(self) -> int:
        """Recorded, else from the first line to the last."""
        if self.end is not None:
            return number(self.end, "duration_ms")
        return self.last_ms - self.first_ms

    @property
    def status(self) -> str:
        """The session's exit status; empty for one that no `session_end` closed."""
        return str(self.end.get("exit_status", "")) if self.end is not None else ""
