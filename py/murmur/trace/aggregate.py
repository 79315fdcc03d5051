"""`mur trace report`: figures of many sessions, their mean, spread and extremes.

CLI reference, *mur trace report*. One trace is read at a time; what is kept of it is a handful of
numbers.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from murmur.core.diagnostics import MurmurError, printable
from murmur.core.ids import id_time_ms
from murmur.trace.comparing import read_ended
from murmur.trace.figures import Figures
from murmur.trace.lines import TraceLines
from murmur.trace.wording import duration, number, plural, text, thousands

_LABEL: Final = 22
_CELL: Final = 14


@dataclass(slots=True)
class Spread:
    """Count, mean, population deviation and extremes of a stream of numbers (Welford)."""

    count: int = 0
    mean: float = 0.0
    least: float = math.inf
    most: float = -math.inf
    _squares: float = 0.0

    def add(self, value: float) -> None:
        """One more number."""
        self.count += 1
        step = value - self.mean
        self.mean += step / self.count
        self._squares += step * (value - self.mean)
        self.least, self.most = min(self.least, value), max(self.most, value)

    @property
    def deviation(self) -> float:
        """Population standard deviation; 0 of a single number."""
        return math.sqrt(self._squares / self.count) if self.count else 0.0


class _TaskEnds:
    """The `task_end` lines of one session, summed up as they come; kept when there are several."""

    def __init__(self) -> None:
        self.ends: list[tuple[int, int, int, int]] = []

    def take(self, event: Mapping[str, Any]) -> None:
        if event.get("event_type") == "task_end":
            keys = ("turns", "input_tokens", "output_tokens", "duration_ms")
            turns, given, made, took = (number(event, key) for key in keys)
            self.ends.append((turns, given, made, took))


_SESSION_ROWS: Final[Mapping[str, tuple[Callable[[Figures], float | None], bool]]] = {
    "turns": (lambda f: f.total("turns"), False),
    "duration (ms)": (lambda f: f.duration_ms, True),
    "input tokens": (lambda f: f.total("input_tokens"), True),
    "output tokens": (lambda f: f.total("output_tokens"), True),
    "tool calls": (lambda f: f.total("tool_calls"), False),
    "tool success (%)": (lambda f: f.tools.success, False),
    "shell calls": (lambda f: f.total("shell_calls"), False),
    "redundant calls": (lambda f: f.redundant, False),
}
_TASK_ROWS: Final = (
    ("task turns", False),
    ("task input tokens", True),
    ("task output tokens", True),
    ("task duration (ms)", True),
)


@dataclass(slots=True)
class Report:
    """The aggregate over the sessions added so far; `skipped` had no event at all."""

    sessions: int = 0
    skipped: int = 0
    tasks: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    _rows: dict[str, Spread] = field(default_factory=lambda: {n: Spread() for n in _SESSION_ROWS})
    _task_rows: list[Spread] = field(default_factory=lambda: [Spread() for _ in _TASK_ROWS])

    def add(self, path: Path) -> list[str]:
        """Reads one session's trace; its block of lines, empty for a trace without an event.

        Raises E-TRC-001 as `read_ended` for any other trace that has no recorded totals.
        """
        tasks = _TaskEnds()
        try:
            figures = read_ended(path, tasks)
        except MurmurError:
            if not _is_empty(path):
                raise
            self.skipped += 1
            return []
        self.sessions += 1
        self.statuses[figures.status] += 1
        for name, (measure, _) in _SESSION_ROWS.items():
            value = measure(figures)
            if value is not None:
                self._rows[name].add(value)
        if len(tasks.ends) > 1:
            self.tasks += len(tasks.ends)
            for end in tasks.ends:
                for spread, value in zip(self._task_rows, end, strict=True):
                    spread.add(value)
        return _block(figures)

    def lines(self, root: str) -> Iterator[str]:
        """The aggregate, headed by the number of sessions and the root they were read from."""
        yield printable(f"Sessions: {self.sessions}  ({root})")
        yield ""
        yield from _table((n, self._rows[n], grouped) for n, (_, grouped) in _SESSION_ROWS.items())
        yield ""
        yield "Exit status:"
        for status in sorted(self.statuses):
            count = self.statuses[status]
            share = f"({100 * count / self.sessions:.1f}%)"
            yield printable(f"  {status:<24} {count}  {share}")
        if self.tasks:
            yield ""
            yield "── Per-task averages (multi-task sessions only) ".ljust(62, "─")
            rows = zip(_TASK_ROWS, self._task_rows, strict=True)
            yield from _table((name, spread, grouped) for (name, grouped), spread in rows)
            yield f"Tasks: {self.tasks}"


def _is_empty(path: Path) -> bool:
    """Whether a trace holds no event at all; a torn single line is no event, but is refused."""
    lines = TraceLines(path)
    return next(iter(lines), None) is None and not lines.torn


def _block(figures: Figures) -> list[str]:
    """What the report says of one session."""
    start = figures.start or {}
    capsule = f"{text(start, 'capsule_name')} v{text(start, 'capsule_version')}"
    tokens = figures.total("input_tokens"), figures.total("output_tokens")
    lines = [
        f"{text(start, 'session_id')}  {capsule}  {figures.status}",
        f"  {plural(figures.total('turns'), 'turn')}  {duration(figures.duration_ms)}  "
        f"in {thousands(tokens[0])}  out {thousands(tokens[1])}  "
        f"tool calls {figures.total('tool_calls')}  shell calls {figures.total('shell_calls')}",
    ]
    return [printable(line) for line in lines]


def _table(rows: Iterable[tuple[str, Spread, bool]]) -> Iterator[str]:
    yield _row("Metric", "Mean", "StdDev", "Min", "Max")
    yield " ".join("─" * width for width in (_LABEL, *[_CELL] * 4))
    for label, spread, grouped in rows:
        if not spread.count:
            yield _row(label, *["—"] * 4)
            continue
        values = spread.mean, spread.deviation, spread.least, spread.most
        # The reference prints whole figures without their fraction: 3,996.9 is 3,996.
        yield _row(label, *(thousands(int(v)) if grouped else f"{v:.1f}" for v in values))


def _row(label: str, *cells: str) -> str:
    return f"{label:<{_LABEL}} " + " ".join(f"{cell:<{_CELL}}" for cell in cells).rstrip()


def made_since(session_ids: Iterable[str], seconds: int) -> tuple[str, ...]:
    """Those that were staged within the last `seconds`, by the moment in their ids."""
    earliest = time.time_ns() // 1_000_000 - seconds * 1000
    return tuple(each for each in session_ids if id_time_ms(each) >= earliest)
