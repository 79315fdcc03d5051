"""WIT levels: the frozen table `wit/levels`, and whether an artifact fits one.

`wit_levels` beside this module is that file. Comment lines start with `#`; every other line is
`<level> <package>@<version>`. Levels count from 1 without a gap, each lists every package once in
ascending order, and two neighbours differ; the newest is the one served. spec/registry.md 15,
spec/artifacts.md 2, design/decisions.md 8.
"""

import dataclasses
import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from murmur.store.component import Contracts

_LINE: Final = re.compile(r"([1-9][0-9]*) (murmur:[a-z0-9-]+)@([0-9]+\.[0-9]+\.[0-9]+)")


@dataclasses.dataclass(frozen=True, slots=True)
class Level:
    """One level: its number and the version of each package, ascending by package."""

    number: int
    packages: Mapping[str, str]


@dataclasses.dataclass(frozen=True, slots=True)
class Misfit:
    """One interface that a level does not serve. `direction` is `exports` or `imports`."""

    direction: str
    interface: str
    package: str
    served: str | None

    @property
    def found(self) -> str:
        return self.interface if "@" in self.interface else f"{self.interface} (unversioned)"

    @property
    def serving(self) -> str:
        """What this mur serves instead, as the reference words it."""
        if self.served is None:
            return f"this mur serves no version of {self.package}"
        return f"this mur serves {self.package}@{self.served}"

    def __str__(self) -> str:
        return f"{self.direction} {self.found} — {self.serving}"


def parse_levels(text: str) -> tuple[Level, ...]:
    """The levels of a table, ascending. Raises ValueError naming the line that breaks a rule."""
    levels: list[dict[str, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise ValueError(f"line {number}: not `<level> <package>@<version>`: {line!r}")
        level, package, version = int(match[1]), match[2], match[3]
        if level == len(levels) + 1:
            levels.append({})
        elif level != len(levels):
            raise ValueError(f"line {number}: level {level} is out of order")
        if levels[-1] and package <= next(reversed(levels[-1])):
            raise ValueError(f"line {number}: {package} is not in ascending order")
        levels[-1][package] = version
    for index in range(1, len(levels)):
        if levels[index] == levels[index - 1]:
            raise ValueError(f"level {index + 1} equals level {index}")
    if not levels:
        raise ValueError("no level")
    return tuple(Level(index, packages) for index, packages in enumerate(levels, 1))


@functools.cache
def known_levels() -> tuple[Level, ...]:
    """Every level this mur knows, from the data file."""
    return parse_levels(Path(__file__).with_name("wit_levels").read_text("utf-8"))


def served_level() -> Level:
    """The level this mur serves: the newest it knows."""
    return known_levels()[-1]


def package_of(interface: str) -> str:
    """`murmur:tool` of `murmur:tool/run@0.2.0`."""
    return interface.partition("/")[0]


def misfits(contracts: Contracts | None, level: Level) -> tuple[Misfit, ...]:
    """The interfaces that keep an artifact from fitting `level`: exports first, in recorded order.

    No contracts (a skill, a native or static payload) fit every level; only `murmur:` interfaces
    are compared.
    """
    if contracts is None:
        return ()
    found = []
    for direction, names in (("exports", contracts.exports), ("imports", contracts.imports)):
        for interface in names:
            if not interface.startswith("murmur:"):
                continue
            package = package_of(interface)
            served = level.packages.get(package)
            version = interface.rpartition("@")[2] if "@" in interface else None
            if served is None or version != served:
                found.append(Misfit(direction, interface, package, served))
    return tuple(found)


def built_at_level(contracts: Contracts | None) -> int | None:
    """The newest known level that an artifact fits; None when it fits none."""
    for level in reversed(known_levels()):
        if not misfits(contracts, level):
            return level.number
    return None
