"""Which records a query is about: BM25 over the words of all their strings."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

_WORD = re.compile(r"\w+")
_SATURATION = 1.2
_LENGTH_WEIGHT = 0.75


def words(value: Any) -> Iterator[str]:
    """The words of a JSON value's strings and member names' values, case folded."""
    if isinstance(value, str):
        yield from _WORD.findall(value.casefold())
    elif isinstance(value, dict):
        for each in value.values():
            yield from words(each)
    elif isinstance(value, list):
        for each in value:
            yield from words(each)


def rank(query: str, records: Sequence[Any], most: int) -> list[tuple[int, float]]:
    """Places in `records` and scores, best first; at one score the later record first. A record
    with no word of the query is not among them."""
    wanted = list(dict.fromkeys(words(query)))
    counted = [Counter(words(record)) for record in records]
    lengths = [counts.total() for counts in counted]
    usual = sum(lengths) / len(lengths) if lengths else 0
    weights = {}
    for word in wanted:
        holding = sum(1 for counts in counted if word in counts)
        weights[word] = math.log(1 + (len(records) - holding + 0.5) / (holding + 0.5))
    scored = []
    for place, counts in enumerate(counted):
        relative = lengths[place] / usual if usual else 0
        damping = _SATURATION * (1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * relative)
        score = sum(
            weights[word] * counts[word] * (_SATURATION + 1) / (counts[word] + damping)
            for word in wanted
            if word in counts
        )
        if score > 0:
            scored.append((place, round(score, 6)))
    scored.sort(key=lambda each: (-each[1], -each[0]))
    return scored[:most]
