"""`mur trace diff`: the figures of two sessions side by side, and where their requests parted.

CLI reference, *mur trace diff* and *Prefix divergence*; spec/observability.md 6 and 10.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from murmur.core.diagnostics import printable
from murmur.trace.figures import Figures
from murmur.trace.lines import TraceLines, started
from murmur.trace.show.section import heading
from murmur.trace.wording import duration, names, number, short_hash, text, thousands

_WIDTHS: Final = (22, 16, 16, 26)
_EQUAL: Final = 0.05
_NONE: Final = "—"


@dataclass(slots=True)
class Requests:
    """The first system and tools hashes of one run's agent loop, and where the prompt changed."""

    system: str = ""
    tools: str = ""
    changed: list[int] = field(default_factory=list)
    _newest: str = ""

    def take(self, event: Mapping[str, Any]) -> None:
        """One line; only those of the loop that carry hashes matter."""
        if not _sent(event):
            return
        system = text(event, "system_sha")
        if not self._newest:
            self.system, self.tools = system, text(event, "tools_sha")
        elif system != self._newest:
            self.changed.append(number(event, "turn"))
        self._newest = system


def _sent(event: Mapping[str, Any]) -> bool:
    """Whether a line is a turn of the loop whose request was hashed."""
    return (
        event.get("event_type") == "inference" and "origin" not in event and "system_sha" in event
    )


def read_ended(path: Path, *takers: Any) -> Figures:
    """The figures of an ended session; each taker sees every line too.

    Raises E-TRC-001 for what `started` refuses, for a torn line and for a missing `session_end`.
    """
    figures = Figures()
    lines = TraceLines(path)
    for event in started(lines):
        figures.take(event)
        for taker in takers:
            taker.take(event)
    if lines.torn:
        raise lines.refusal(f"line {lines.torn}, the last, is no JSON object")
    if figures.end is None:
        raise lines.refusal("it has no session_end, and recorded totals are compared")
    return figures


def compare(before: Path, after: Path) -> Iterator[str]:
    """The table, then the prefix divergence. Raises E-TRC-001 as `read_ended`."""
    requests = Requests(), Requests()
    a = read_ended(before, requests[0])
    b = read_ended(after, requests[1])
    yield _row("Metric", "Run A", "Run B", "Delta")
    yield " ".join("─" * width for width in _WIDTHS)
    yield from _rows(a, b)
    yield ""
    yield heading("Prefix divergence")
    for line in _divergence(*requests, before, after):
        yield printable(line)


def _row(*cells: str) -> str:
    return " ".join(
        f"{printable(cell):<{width}}" for cell, width in zip(cells, _WIDTHS, strict=True)
    ).rstrip()


def _rows(a: Figures, b: Figures) -> Iterator[str]:
    yield _count("turns", a.total("turns"), b.total("turns"), str)
    yield _time("duration", a.duration_ms, b.duration_ms)
    for name in ("input", "output"):
        key = f"{name}_tokens"
        yield _count(f"{name} tokens", a.total(key), b.total(key), thousands)
    for name in ("input", "output"):
        key = f"{name}_tokens"
        yield _average(f"{name}/turn (avg)", a.per_turn(key), b.per_turn(key))
    yield _count("tool calls", a.total("tool_calls"), b.total("tool_calls"), str)
    yield _success(a.tools.success, b.tools.success)
    yield _latency("avg tool latency", a.tools.average_ms, b.tools.average_ms)
    yield _count("shell calls", a.total("shell_calls"), b.total("shell_calls"), str)
    yield _latency("avg shell latency", a.shell.average_ms, b.shell.average_ms)
    yield _row("compaction", _compacted(a), _compacted(b), _NONE)
    yield _row("exit status", a.status, b.status, _NONE)


def _better(delta: float, *, lower: bool = True) -> str:
    return "(A better)" if (delta > 0) is lower else "(B better)"


def _count(label: str, a: int, b: int, shown: Any) -> str:
    delta = b - a
    return _row(label, shown(a), shown(b), f"{delta:+d} {_better(delta)}" if delta else "=")


def _time(label: str, a: float, b: float) -> str:
    delta = b - a
    sign = "+" if delta > 0 else "-"
    change = f"{sign}{duration(abs(delta))} {_better(delta)}" if round(delta) else "="
    return _row(label, duration(a), duration(b), change)


def _latency(label: str, a: float | None, b: float | None) -> str:
    if a is None or b is None:
        shown = (_NONE if each is None else duration(each) for each in (a, b))
        return _row(label, *shown, _NONE)
    return _time(label, a, b)


def _average(label: str, a: float, b: float) -> str:
    delta = b - a
    change = f"{delta:+.1f} {_better(delta)}" if abs(delta) >= _EQUAL else "="
    return _row(label, f"{a:.0f}", f"{b:.0f}", change)


def _success(a: float | None, b: float | None) -> str:
    label = "tool success rate"
    shown = [_NONE if each is None else f"{each:.1f}%" for each in (a, b)]
    if a is None or b is None:
        return _row(label, *shown, _NONE)
    delta = b - a
    change = f"{delta:+.1f} {_better(delta, lower=False)}" if abs(delta) >= _EQUAL else "="
    return _row(label, *shown, change)


def _compacted(figures: Figures) -> str:
    fired = figures.compaction
    return "none" if fired is None else f"turn {fired.get('turn')}"


def _divergence(a: Requests, b: Requests, before: Path, after: Path) -> Iterator[str]:
    silent = [name for name, run in (("A", a), ("B", b)) if not run.system]
    if silent:
        for name in silent:
            yield (
                f"run {name} recorded no content hashes — it ran under trace.capture: none; "
                "nothing is compared"
            )
        return
    yield _whole("system prompt:", a.system, b.system)
    for name, run in (("A", a), ("B", b)):
        for turn in run.changed:
            yield f"note: run {name} changes its system prompt at turn {turn}"
    yield _whole("tool schemas:", a.tools, b.tools)
    for ours, theirs in zip_longest(_turns(before), _turns(after)):
        yield _turn(ours, theirs)


def _turns(path: Path) -> Iterator[Mapping[str, Any]]:
    """The hashed turns of a trace, read again: two traces are compared holding a line of each."""
    return (event for event in started(TraceLines(path)) if _sent(event))


def _whole(label: str, a: str, b: str) -> str:
    if a == b:
        return f"{label:<14} identical  {short_hash(a)}"
    return f"{label:<14} differs    A {short_hash(a)}  B {short_hash(b)}"


def _turn(a: Mapping[str, Any] | None, b: Mapping[str, Any] | None) -> str:
    label = f"turn {(a or b or {}).get('turn')}:"
    if a is None or b is None:
        return f"{label}  only in run {'B' if a is None else 'A'}"
    ours, theirs = names(a, "message_shas"), names(b, "message_shas")
    for index, (mine, other) in enumerate(zip(ours, theirs, strict=False)):
        if mine != other:
            parted = f"A {short_hash(mine)}  B {short_hash(other)}"
            return f"{label}  diverges at message {index}  {parted}"
    if len(ours) != len(theirs):
        shorter = min(len(ours), len(theirs))
        lengths = f"A has {len(ours)} messages, B has {len(theirs)}"
        return f"{label}  diverges at message {shorter}  ({lengths})"
    count = len(ours)
    return f"{label}  identical  ({count} message{'' if count == 1 else 's'})"
