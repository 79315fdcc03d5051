"""What a section of `mur trace show` is: it takes the lines it wants, then prints its own.

CLI reference, *mur trace show*. Rows wait in a spool that moves to a file when it grows, so that a
section of a trace of any length takes constant memory.
"""

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final

from murmur.core.diagnostics import printable

_IN_MEMORY: Final = 256 * 1024
_WIDTH: Final = 49


class Rows:
    """Rows of text in the order they were added."""

    def __init__(self) -> None:
        self.count = 0
        self._spool = tempfile.SpooledTemporaryFile(  # noqa: SIM115 -- lives as long as the rows
            _IN_MEMORY, "w+", encoding="utf-8", errors="surrogatepass"
        )

    def add(self, row: str) -> None:
        """One row; what it quotes is escaped here, once for every section."""
        self.count += 1
        self._spool.write(printable(row) + "\n")

    def __iter__(self) -> Iterator[str]:
        self._spool.seek(0)
        for row in self._spool:
            yield row.removesuffix("\n")
        self._spool.seek(0, 2)


class Section(ABC):
    """One section: `title` heads it, and it takes the event types in `events`."""

    title: ClassVar[str]
    events: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def take(self, event: Mapping[str, Any]) -> None:
        """One line of a type in `events`, in file order."""

    @abstractmethod
    def body(self) -> Iterable[str]:
        """The rows below the heading; a section that does not apply to this session has none."""

    def lines(self) -> Iterator[str]:
        """The heading and the rows, or nothing."""
        rows = iter(self.body())
        first = next(rows, None)
        if first is None:
            return
        yield heading(self.title)
        yield printable(first)
        for row in rows:
            yield printable(row)


class Listing(Section):
    """A section of one row or more for each line it takes, in file order."""

    def __init__(self) -> None:
        self.rows = Rows()

    def body(self) -> Iterable[str]:
        return self.rows


def heading(title: str) -> str:
    """A section's heading."""
    return f"── {title} ".ljust(_WIDTH, "─")


def labelled(label: str, value: str) -> str:
    """`label:` and its value in their columns."""
    return f"{label + ':':<11} {value}"
