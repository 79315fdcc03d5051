"""Session addresses: how every command spells which session it means.

A full id, a suffix of one, `@N` counted back from the newest, or a path. What an address is looked
up in is the caller's: recorded sessions (`murmur.trace.addresses`), running ones, eval runs.
CLI reference, *Session addresses*.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SHORTEST_SUFFIX: Final = 4
FORMS: Final = "@N, a full id, a suffix of 4 or more of its characters, or a path"

_ORDINAL: Final = re.compile(r"@[0-9]+")
_ENDING: Final = re.compile(r"(?:[a-z]{3}_)?[0-9a-f]+", re.IGNORECASE)


class BadAddress(Exception):
    """An address that is none, or that names no candidate or several; `reason` says which."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"{address}: {reason}")
        self.address = address
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Ordinal:
    """`@N`: the N-th newest, from 1."""

    text: str
    number: int


@dataclass(frozen=True, slots=True)
class Ending:
    """A full id or the characters that one ends with, in lower case."""

    text: str
    ending: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A path, taken verbatim."""

    text: str
    path: Path


Address = Ordinal | Ending | Literal


def parse_address(text: str) -> Address:
    """What `text` means. A file whose name looks like a suffix is written with a slash, `./d399`.

    Raises BadAddress for `@` without a number from 1, a suffix that is too short, and no text.
    """
    if text.startswith("@"):
        if _ORDINAL.fullmatch(text) is None or int(text[1:]) == 0:
            raise BadAddress(text, "an ordinal is @1 for the newest, @2 for the one before, ...")
        return Ordinal(text, int(text[1:]))
    if _ENDING.fullmatch(text) is not None:
        if len(text) < SHORTEST_SUFFIX:
            raise BadAddress(text, f"a suffix takes {SHORTEST_SUFFIX} characters or more")
        return Ending(text, text.lower())
    if not text:
        raise BadAddress(text, f"an address is {FORMS}")
    return Literal(text, Path(text))


def choose(address: Ordinal | Ending, newest_first: Sequence[str], place: str) -> str:
    """The one candidate that `address` names.

    `newest_first` are ids and `place` says, for the refusal, where they were found. Raises
    BadAddress when none or several fit; the several are listed.
    """
    if isinstance(address, Ordinal):
        if address.number > len(newest_first):
            raise BadAddress(address.text, _too_few(len(newest_first), place))
        return newest_first[address.number - 1]
    found = [name for name in newest_first if name.lower().endswith(address.ending)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise BadAddress(address.text, f"it names no session in {place}")
    raise BadAddress(address.text, f"it names {len(found)} sessions: {', '.join(found)}")


def _too_few(count: int, place: str) -> str:
    if count == 0:
        return f"there is no session in {place}"
    return f"there {'is' if count == 1 else 'are'} only {count} in {place}"
