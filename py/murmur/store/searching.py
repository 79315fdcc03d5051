"""What `mur search` finds: each matching artifact at the version for this mur. spec/registry.md 14.

An index comes from a URL, a file, or the global store itself, which has none and is read as if it
had one.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from murmur.core.diagnostics import error
from murmur.store.choosing import Candidate, Choice, candidates, choose
from murmur.store.content import hold_file
from murmur.store.index import INDEX_FILE, SIZE_LIMIT, Index, mentions, parse_index
from murmur.store.names import version_order

if TYPE_CHECKING:
    from murmur.store.listing import Held
    from murmur.store.stores import Store

LOCAL: Final = "local"
_ACCEPT: Final = "application/json, application/octet-stream;q=0.9, */*;q=0.1"


@dataclasses.dataclass(frozen=True, slots=True)
class Offer:
    """One artifact that can be searched for, under its full name.

    `versions` gives what can be chosen among, and is asked of the artifacts that match alone.
    """

    name: str
    role: str | None
    description: str | None
    tags: tuple[str, ...]
    versions: Callable[[], Sequence[Candidate]]

    def matches(self, query: str) -> bool:
        """Whether its name, description or one of its tags holds `query`, in whatever case."""
        return mentions(query, (self.name, self.description, *self.tags))


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """One matching artifact and what was chosen of it."""

    offer: Offer
    choice: Choice

    @property
    def note(self) -> str | None:
        """The line that says why the newest version is not the one to have."""
        if self.choice.passed_over is None:
            return None
        version, reason = self.choice.passed_over
        return f"{self.offer.name}: {version} {reason}"


def search(offers: Iterable[Offer], query: str, platform: str, limit: int) -> list[Result]:
    """The matching artifacts by name, at most `limit` of them."""
    found = sorted(
        (offer for offer in offers if offer.matches(query)), key=lambda offer: offer.name
    )
    return [Result(offer, choose(offer.versions(), platform)) for offer in found[:limit]]


def offers_of(index: Index) -> list[Offer]:
    """Every artifact of an index."""
    return [
        Offer(
            index.full_name(artifact).text,
            artifact.role,
            artifact.description,
            artifact.tags,
            functools.partial(candidates, artifact),
        )
        for artifact in index.artifacts
    ]


def offers_in(store: "Store") -> list[Offer]:
    """Every artifact of a store, described by its newest version."""
    from murmur.store.listing import listing

    by: dict[str, list[Held]] = {}
    for held in listing(store):
        by.setdefault(held.name.text, []).append(held)
    return [_offer(name, versions) for name, versions in by.items()]


def _offer(name: str, versions: "Sequence[Held]") -> Offer:
    newest = max(versions, key=lambda held: version_order(held.version))
    record = newest.record
    return Offer(
        name,
        newest.role,
        record.description if record else None,
        record.tags if record else (),
        lambda: [held.candidate() for held in versions],
    )


def default_index() -> str:
    """Where the index of the default artifacts lies."""
    from murmur.store.sources import MURMUR_REPOSITORY

    return f"https://github.com/{MURMUR_REPOSITORY}/releases/latest/download/{INDEX_FILE}"


def read_index_at(place: str) -> Index:
    """The index at a URL or path. Raises E-IO-003 when it cannot be had, E-IDX-002."""
    if place.startswith(("http://", "https://")):
        return parse_index(_fetched(place), place)
    try:
        content = hold_file(place)
    except OSError as failure:
        raise _unreadable(place, failure.strerror or "it cannot be read") from failure
    return parse_index(content.read(0, SIZE_LIMIT + 1), place)


def _fetched(url: str) -> bytes:
    from murmur.store.transport import Absent, Unanswered, Web

    try:
        return Web().read(url, _ACCEPT, SIZE_LIMIT)
    except Absent:
        raise _unreadable(url, "HTTP 404") from None
    except Unanswered as failure:
        raise _unreadable(url, str(failure)) from None


def _unreadable(place: str, reason: str) -> Exception:
    return error(
        "E-IO-003",
        what=f"the artifact index {place} cannot be read",
        reason=reason,
        hint="name another with --index, or `--index local` for what is installed here",
    )
