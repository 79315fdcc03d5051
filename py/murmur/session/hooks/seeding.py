"""How much of a seed enters the context. spec/sessions.md 17.2; spec/artifacts.md 15.5."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

from murmur.inference.tokens import count_tokens
from murmur.session.hooks.messages import Message
from murmur.trace.content import canonical

Outcome = Literal["seeded", "trimmed", "compacted", "rejected"]
_TOO_MUCH: Final = 3
_UNCOUNTED: Final = ("id", "source_id")

Summarise = Callable[[Sequence[Message]], Sequence[Message] | None]
"""Has the compaction hooks shorten messages; None when none of them does."""


@dataclasses.dataclass(frozen=True, slots=True)
class Seed:
    """What became of a proposed seed. `messages` are committed, oldest first; sizes in tokens."""

    outcome: Outcome
    messages: tuple[Message, ...]
    tokens: int
    proposed_tokens: int
    budget_tokens: int
    reason: str | None = None


def seed_ceiling(share: float, input_budget: int | None) -> int:
    """Tokens that a seed may occupy: 0 where there is no input budget."""
    return 0 if input_budget is None else math.floor(share * input_budget)


def size_of(message: Mapping[str, Any]) -> int:
    """A message's tokens: its compact JSON without `id` and `source_id`."""
    counted = {key: value for key, value in message.items() if key not in _UNCOUNTED}
    return count_tokens(canonical(counted).decode("utf-8"))


def weigh_seed(
    proposed: Sequence[Message],
    *,
    ceiling: int,
    budgeted: bool,
    margin: float,
    summarise: Summarise,
) -> Seed:
    """Decides about a seed, in the documented order of checks.

    `budgeted` is false where the driver choice has no input budget; `margin` is the part of the
    ceiling within which an excess is simply dropped.
    """
    sizes = [size_of(message) for message in proposed]
    total = sum(sizes)

    def seed(outcome: Outcome, messages: Sequence[Message], reason: str | None = None) -> Seed:
        tokens = sum(map(size_of, messages))
        return Seed(outcome, tuple(messages), tokens, total, ceiling, reason)

    if not budgeted:
        return seed("rejected", (), "no_budget")
    if any(size > ceiling for size in sizes):
        return seed("rejected", (), "message_over_budget")
    if total - ceiling > _TOO_MUCH * ceiling:
        return seed("rejected", (), "overflow_over_limit")
    if total <= ceiling:
        return seed("seeded", proposed)
    kept = _newest_within(proposed, ceiling)
    if total - ceiling > margin * ceiling:
        summary = summarise(proposed[: len(proposed) - len(kept)])
        size = sum(map(size_of, summary or ()))
        if summary is not None and size <= ceiling:
            return seed("compacted", [*summary, *_newest_within(kept, ceiling - size)])
    return seed("trimmed", kept)


def _newest_within(messages: Sequence[Message], ceiling: int) -> list[Message]:
    """The newest messages that fit together, oldest dropped first."""
    left = ceiling
    kept: list[Message] = []
    for message in reversed(messages):
        left -= size_of(message)
        if left < 0:
            break
        kept.insert(0, message)
    return kept
