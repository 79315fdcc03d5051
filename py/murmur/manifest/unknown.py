"""Keys that no field claims: never refused, always reported. W-SEC-019.

spec/formations-and-newer-manifest.md A0. `mur run` and `mur doctor` print the same bytes, which
all come from here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from murmur.core.diagnostics import Diagnostic, warning
from murmur.manifest.document import Path
from murmur.manifest.lowering import dotted

if TYPE_CHECKING:
    from murmur.manifest.models.base import Block

# Nobody misspells more keys than this, and looking for what they meant takes a while.
_MOST_SUGGESTIONS = 256
_VERSION = re.compile(r"(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})")


@dataclass(frozen=True, slots=True)
class UnknownKey:
    """One key, the path of the block that holds it, and the known key it is closest to."""

    key: str
    block: Path
    suggestion: str | None

    @property
    def where(self) -> str:
        return f"in {dotted(self.block)}" if self.block else "at the top level"


def distance(left: str, right: str) -> int:
    """Restricted Damerau-Levenshtein distance in characters; a swap of neighbours costs 1."""
    before: list[int] = []
    previous = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        row = [i]
        for j, b in enumerate(right, 1):
            cost = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, previous = previous, row
    return previous[-1]


def nearest(key: str, known: list[str]) -> str | None:
    """The known key that `key` most likely meant: the first of the closest, if close enough."""
    best: tuple[int, str] | None = None
    for candidate in known:
        allowed = max(1, max(len(key), len(candidate)) // 3)
        if abs(len(key) - len(candidate)) > allowed:
            continue
        found = distance(key, candidate)
        if found <= allowed and (best is None or found < best[0]):
            best = (found, candidate)
    return best[1] if best else None


def unknown_keys(block: "Block", path: Path = ()) -> Iterator[UnknownKey]:
    """Every unknown key in `block` and below, each block's own before those deeper down."""
    from murmur.manifest.models.base import Block

    budget = iter(range(_MOST_SUGGESTIONS))
    yield from _unknown_keys(block, path, Block, budget)


def _unknown_keys(
    block: "Block", path: Path, kind: "type[Block]", budget: Iterator[int]
) -> Iterator[UnknownKey]:
    known = type(block).known_keys()
    for key in block.model_extra or {}:
        within = next(budget, None) is not None
        yield UnknownKey(key, path, nearest(key, list(known)) if within else None)
    for key, name in known.items():
        for step, inner in _blocks(getattr(block, name), kind):
            yield from _unknown_keys(inner, (*path, key, *step), kind, budget)


def _blocks(value: Any, kind: "type[Block]") -> Iterator[tuple[Path, "Block"]]:
    if isinstance(value, kind):
        yield (), value
    elif isinstance(value, list):
        yield from (((i,), item) for i, item in enumerate(value) if isinstance(item, kind))
    elif isinstance(value, dict):
        yield from (((str(k),), item) for k, item in value.items() if isinstance(item, kind))


def is_newer(pin: str, running: str) -> bool:
    """Whether the plain `major.minor.patch` pin is above the running version.

    Any other shape of pin is not; a `-dev` build counts as the release it will become.
    """
    wanted, mine = _VERSION.fullmatch(pin), _VERSION.match(running)
    if wanted is None or mine is None:
        return False
    return tuple(map(int, wanted.groups())) > tuple(map(int, mine.groups()))


def report(found: list[UnknownKey], pin: str | None, running: str) -> list[Diagnostic]:
    """One W-SEC-019 for each key in order, then the line about a newer pin."""
    lines = []
    for unknown in found:
        reason = (
            f"did you mean '{unknown.suggestion}'? It has no effect as it is spelled"
            if unknown.suggestion
            else "it has no effect here; a newer mur may know it"
        )
        finding = f"the unknown key '{unknown.key}' {unknown.where}"
        lines.append(warning("W-SEC-019", finding=finding, reason=reason))
    if found and pin is not None and is_newer(pin, running):
        finding = f"a manifest for mur {pin}, read by mur {running}"
        reason = "the keys reported above may be ones that this version does not know yet"
        lines.append(warning("W-SEC-019", finding=finding, reason=reason))
    return lines
