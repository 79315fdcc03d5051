"""The id under which a later run resumes a thread, with what its earlier runs spent.

Codex counts a thread's tokens from its first run on, whereas the contract counts a run's. A run is
told nothing of the earlier ones but the id that the last one reported: that id carries the count.

    01a22e36-a0e2-7e43-a417-ed2a5c1cdb79;input=300;cached=190;written=0;output=30;thinking=8

An id without it stands for a thread of which no run reported anything: what it spent counts in the
run that reports first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields
from typing import Any

from murmur_harness.contract import Usage
from murmur_harness.lines import count

_LONGEST_COUNT = len(str(2**64))


@dataclass(frozen=True, slots=True)
class Totals:
    """Tokens of a thread as Codex counts them: the cached and written ones are part of `input`."""

    input: int = 0
    cached: int = 0
    written: int = 0
    output: int = 0
    thinking: int = 0

    @staticmethod
    def of(usage: Mapping[str, Any]) -> Totals:
        """From `usage` of a `turn.completed` line."""
        return Totals(
            input=count(usage.get("input_tokens")) or 0,
            cached=count(usage.get("cached_input_tokens")) or 0,
            written=count(usage.get("cache_write_input_tokens")) or 0,
            output=count(usage.get("output_tokens")) or 0,
            thinking=count(usage.get("reasoning_output_tokens")) or 0,
        )

    def since(self, before: Totals) -> Usage:
        """What was spent after `before`. A count that shrank added nothing."""
        now = zip(astuple(self), astuple(before), strict=True)
        given, cached, written, output, thinking = (max(0, later - former) for later, former in now)
        return Usage(
            input=max(0, given - cached - written),
            output=output,
            cache_read=cached,
            cache_creation=written,
            thinking=thinking,
        )


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread of Codex and what its runs spent so far."""

    id: str
    spent: Totals = Totals()

    @staticmethod
    def parse(session_id: str) -> Thread:
        """Read an id as `str` writes it; whatever is no count in it counts as nothing."""
        thread, *members = session_id.split(";")
        pairs = dict(member.partition("=")[::2] for member in members)
        counts = {field.name: _number(pairs.get(field.name, "")) for field in fields(Totals)}
        return Thread(thread, Totals(**counts))

    def __str__(self) -> str:
        """The session id."""
        if self.spent == Totals():
            return self.id
        counts = (f"{field.name}={getattr(self.spent, field.name)}" for field in fields(Totals))
        return ";".join([self.id, *counts])


def _number(digits: str) -> int:
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= _LONGEST_COUNT):
        return 0
    return count(int(digits)) or 0
