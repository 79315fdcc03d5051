"""What a row of the escape table is, and what becomes of it. spec/containment.md 26.

A row is an attack, the control that must succeed in the same run, and what the attack must come to
in each class: the name of an error, a value, or a tuple of those where kernels and users differ.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Final, Literal

ClassName = Literal["advisory", "scoped", "sealed"]
CLASSES: Final[tuple[ClassName, ...]] = ("advisory", "scoped", "sealed")

# Not asserted in this class; the table shows what happened.
OPEN: Final = object()

ABSENT: Final = "ABSENT"

# What else may hold an attack off than the rights of Landlock, which the class advisory lacks.
Holds = Literal["landlock", "always"]


@dataclasses.dataclass(frozen=True, slots=True)
class Control:
    """An expression (of the attack's own kind) and what it must come to."""

    attempt: str
    comes_to: object


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    `attempt` is an expression of attack.py, a shell script, or the name of a function of
    rows_resources.py or surroundings.py, by the table that it stands in.
    """

    name: str
    attempt: str
    control: Control
    expected: Mapping[ClassName, object]

    def allowed(self, class_: ClassName) -> tuple[object, ...]:
        """What the attack may come to in a class; empty where nothing is asserted."""
        expected = self.expected[class_]
        if expected is OPEN:
            return ()
        return expected if isinstance(expected, tuple) else (expected,)


@dataclasses.dataclass(frozen=True, slots=True)
class Observed:
    """What one row came to in one run, and its control."""

    result: object
    control: object


def part(
    control: Control,
    rows: Mapping[str, tuple[str, object] | tuple[str, object, object]],
    *,
    holds: Holds = "always",
) -> tuple[Row, ...]:
    """Rows with one control. A row is (attempt, scoped) or (attempt, scoped, sealed)."""
    made = []
    for name, row in rows.items():
        attempt, scoped = row[0], row[1]
        sealed = row[2] if len(row) == 3 else scoped
        expected: dict[ClassName, object] = {
            "advisory": scoped if holds == "always" else OPEN,
            "scoped": scoped,
            "sealed": sealed,
        }
        made.append(Row(name, attempt, control, expected))
    return tuple(made)


def verdict(row: Row, class_: ClassName, seen: Observed | None) -> str:
    """`REFUSED EACCES`, `AS DOCUMENTED`, `OTHER ...`, `INCONCLUSIVE`; `ABSENT` where the host has
    no such device or file; a leading `-` marks what is not asserted in this class."""
    if seen is None or seen.control != row.control.comes_to:
        return "INCONCLUSIVE"
    text = str(seen.result)
    if text == ABSENT:
        return text
    word = f"REFUSED {text}" if _is_errno(text) else "AS DOCUMENTED"
    allowed = row.allowed(class_)
    if not allowed:
        return f"- {text}"
    return word if seen.result in allowed else f"OTHER {text}"


def held(row: Row, class_: ClassName, seen: Observed | None) -> bool:
    """Whether the row is as documented; an inconclusive one is not."""
    told = verdict(row, class_, seen)
    return told.startswith(("REFUSED", "AS DOCUMENTED", ABSENT, "- "))


def _is_errno(text: str) -> bool:
    return text.isupper() and text.startswith("E") and text.isalnum()


def unique(rows: Iterable[Row]) -> tuple[Row, ...]:
    """The rows. Raises ValueError for a name that stands twice."""
    found = tuple(rows)
    names = [row.name for row in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"rows that stand twice: {', '.join(sorted(twice))}")
    return found
