"""`mur eval diff` of two sessions: each scorer's pass rate side by side.

CLI reference, *mur eval diff*; spec/observability.md 11.4.
"""

from collections.abc import Iterator
from typing import Final

from murmur.evaluation.scores import Scores, Tally

_WIDTHS: Final = (24, 14, 14, 26)
_EQUAL: Final = 0.1


def compare_scores(a: Scores, b: Scores) -> Iterator[str]:
    """The table; scorers in the order in which the first file, then the second, names them."""
    yield _row("Scorer", "Run A", "Run B", "Delta")
    yield " ".join("─" * width for width in _WIDTHS)
    for name in dict.fromkeys([*a.scorers, *b.scorers]):
        ours, theirs = a.scorers.get(name), b.scorers.get(name)
        yield _row(name, _rate(ours), _rate(theirs), _delta(ours, theirs))
    yield ""
    yield _row("overall", a.overall, b.overall, "")


def _row(*cells: str) -> str:
    return " ".join(f"{cell:<{width}}" for cell, width in zip(cells, _WIDTHS, strict=True)).rstrip()


def _rate(tally: Tally | None) -> str:
    return "—" if tally is None else f"{100 * tally.rate:.1f}%"


def _delta(a: Tally | None, b: Tally | None) -> str:
    if a is None or b is None:
        return "(B only)" if a is None else "(A only)"
    points = 100 * (b.rate - a.rate)
    if abs(points) < _EQUAL:
        return "="
    return f"{points:+.1f}pp ({'B' if points > 0 else 'A'} better)"
