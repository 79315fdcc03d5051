"""Durations and byte sizes as a manifest writes them.

A bare integer is seconds or bytes; a suffix multiplies it. seeds/manifest-schema.md, Retention
and exports.
"""

import re
from typing import Final

SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
# What a handle's lifetime may be written in: exports.peer_files.max_ttl knows no days.
LIFETIME: Final = {"s": 1, "m": 60, "h": 3600}
BYTES: Final = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
LARGEST: Final = (1 << 63) - 1

_SHAPE: Final = re.compile(r"([0-9]{1,18})([A-Za-z]*)")


def parse_quantity(value: object, units: dict[str, int]) -> int:
    """The number that `value` means, in seconds or bytes.

    Raises ValueError, saying what is accepted, for anything that is neither a non-negative
    integer nor one followed by a unit of `units`.
    """
    accepted = f"an integer, or one followed by {', '.join(units)}"
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(accepted)
    if isinstance(value, int):
        number, unit = value, ""
    else:
        match = _SHAPE.fullmatch(value)
        if match is None or (match[2] and match[2] not in units):
            raise ValueError(accepted)
        number, unit = int(match[1]), match[2]
    result = number * units.get(unit, 1)
    if not 0 <= result <= LARGEST:
        raise ValueError(f"{accepted}, from 0 to {LARGEST}")
    return result
