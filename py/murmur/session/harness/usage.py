"""Whose tokens a harness's counts are. spec/artifacts.md 13.3; spec/observability.md 7.

Counts are cumulative for a run. What a member grew by since it was last attributed goes to the turn
that is open; one that shrinks adds nothing; one that is absent is not zero.
"""

import dataclasses

from murmur.session.harness.contract import Usage

_MEMBERS = tuple(field.name for field in dataclasses.fields(Usage))


def grown(before: Usage, now: Usage) -> Usage:
    """What `now` has more than `before`; absent where `now` says nothing."""
    return Usage(
        **{
            name: None if (count := getattr(now, name)) is None
            else max(0, count - (getattr(before, name) or 0))
            for name in _MEMBERS
        }
    )  # fmt: skip


def together(one: Usage, other: Usage) -> Usage:
    """The sum of two; absent where neither says anything."""
    return Usage(**{name: _sum(getattr(one, name), getattr(other, name)) for name in _MEMBERS})


def highest(one: Usage, other: Usage) -> Usage:
    """The larger of each member, which is what has been attributed so far."""
    return Usage(**{name: _most(getattr(one, name), getattr(other, name)) for name in _MEMBERS})


def _sum(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return one if other is None else other
    return one + other


def _most(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return one if other is None else other
    return max(one, other)
