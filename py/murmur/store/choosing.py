"""Which version of an artifact is the one for this mur and this host. spec/registry.md 14.

The newest one whose `murmur:` interfaces fit the served WIT level and which has a payload for the
host's platform, or one for every platform. `mur search` shows it, `mur install <scope>/<name>`
installs it, `mur new` writes it into a manifest: all of them ask here.
"""

import dataclasses
from collections.abc import Iterable, Sequence

from murmur.store.component import Contracts
from murmur.store.index import IndexArtifact
from murmur.store.levels import misfits, served_level
from murmur.store.names import version_order


@dataclasses.dataclass(frozen=True, slots=True)
class Candidate:
    """One version: what it needs of WIT and for which platforms it has a payload (None: any)."""

    version: str
    contracts: Contracts | None
    platforms: tuple[str | None, ...]

    def refusal(self, platform: str) -> str | None:
        """Why it does not fit, as `mur search` prints it after the version; None when it fits."""
        found = misfits(self.contracts, served_level())
        if found:
            more = f" (+{len(found) - 1} more)" if len(found) > 1 else ""
            return f"needs {found[0].interface}, {found[0].serving}{more}"
        if None in self.platforms or platform in self.platforms:
            return None
        return f"has no payload for {platform}"


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """The newest version that fits, None when none does; and why the newest of all does not.

    `passed_over` is that newest version with its reason, None when it is the chosen one.
    """

    version: str | None
    passed_over: tuple[str, str] | None = None


def candidates(artifact: IndexArtifact) -> list[Candidate]:
    """The versions of an artifact as an index lists them."""
    return [Candidate(each.version, each.contracts, each.platforms) for each in artifact.versions]


def choose(versions: Sequence[Candidate], platform: str) -> Choice:
    """The version for a host among an artifact's, of which there is at least one."""
    ordered = newest_first(versions)
    reasons = ((each, each.refusal(platform)) for each in ordered)
    newest, reason = next(reasons)
    if reason is None:
        return Choice(newest.version)
    fitting = next((each.version for each, why in reasons if why is None), None)
    return Choice(fitting, (newest.version, reason))


def newest_first(versions: Iterable[Candidate]) -> list[Candidate]:
    return sorted(versions, key=lambda each: version_order(each.version), reverse=True)
