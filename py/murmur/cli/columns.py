"""Tables on standard output: every cell padded to the widest of its column, plus two spaces."""

import unicodedata
from collections.abc import Sequence

from murmur.core.diagnostics import printable

NOTHING = "—"


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table whose first row is its head; what was read elsewhere is escaped."""
    shown = [[printable(cell) for cell in row] for row in rows]
    widths = [max(_width(row[at]) for row in shown) for at in range(len(shown[0]))]
    return [
        "  ".join(
            cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in shown
    ]


def _width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )
