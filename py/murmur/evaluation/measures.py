"""What a session's trace says of a run. spec/observability.md 11.5."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from murmur.core.diagnostics import MurmurError
from murmur.trace.counters import Counts
from murmur.trace.lines import TraceLines
from murmur.trace.wording import number

_COUNTS: Final = {
    "input_tokens": ("input_tokens_actual", "input_tokens"),
    "output_tokens": ("output_tokens_actual", "output_tokens"),
    "cached_tokens": ("cached_tokens",),
    "cache_write_tokens": ("cache_write_tokens",),
}


@dataclass(slots=True)
class Measures:
    """A run's figures; a token count that no call reported stays None."""

    turns: int = 0
    agent_ms: int = 0
    exit_status: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


def measure(trace: Path) -> Measures:
    """Reads one trace, ended or not; what cannot be read of it is not counted."""
    measures, counted = Measures(), Counts()
    process = False
    try:
        for event in TraceLines(trace):
            kind = event.get("event_type")
            if kind == "harness_start":
                process = True
            elif kind == "task_end":
                measures.agent_ms += number(event, "duration_ms")
            elif kind == "session_end":
                measures.exit_status = str(event.get("exit_status"))
                measures.turns = number(event, "total_turns")
            elif kind == "inference":
                counted.add("inference", {"decision": event.get("decision"), **_own_counts(event)})
                for name, keys in _COUNTS.items():
                    key = keys[-1] if process else keys[0]
                    if key in event:
                        total = (getattr(measures, name) or 0) + number(event, key)
                        setattr(measures, name, total)
    except MurmurError:
        pass
    if measures.exit_status is None:
        measures.turns = counted.turns
    return measures


def _own_counts(event: object) -> dict[str, int]:
    keys = ("input_tokens", "output_tokens")
    return {key: number(event, key) for key in keys if isinstance(event, dict) and key in event}
