"""Fetching artifacts from the sources of their scopes: first a plan, then the bytes.

A plan reads indexes and releases alone and decides everything that can be refused without a
payload; only then are payloads downloaded, several at once, each hashed on its way and checked
against its index, its own manifest and the owner its scope had. Nothing is written to a store
here. spec/registry.md 12, 13 and 18.
"""

import dataclasses
import functools
import os
import tempfile
import threading
from collections.abc import Callable, Sequence
from typing import BinaryIO, Final, Protocol

from murmur.core.diagnostics import MurmurError, error
from murmur.store.choosing import candidates, choose
from murmur.store.concurrently import NotBegun, concurrently
from murmur.store.content import Content
from murmur.store.github import Asset, GitHub
from murmur.store.index import Index, IndexFile, IndexVersion
from murmur.store.names import FullName, bare_name_fault, version_fault
from murmur.store.offers import offered_by_release, read_index
from murmur.store.payload import open_payload
from murmur.store.platforms import host_platform, payload_stem, split_tag
from murmur.store.ready import OwnerCheck, Ready, native_tag, require_fit
from murmur.store.references import Pinned, Release
from murmur.store.sources import Sources, absent, repository_scope, unanswered, unserved
from murmur.store.stores import Store
from murmur.store.transport import Absent, Stopped, Transfer, Unanswered

AT_ONCE: Final = 6
"""How many payloads are downloaded at a time; indexes and releases likewise."""

_IN_MEMORY: Final = 16 << 20


class Watcher(Protocol):
    """Who is told how the downloads go; each call may come from another thread."""

    def expects(self, count: int) -> None: ...
    def begins(self, name: str, size: int) -> None: ...
    def has(self, name: str, count: int) -> None: ...
    def ends(self, name: str) -> None: ...


class Unwatched:
    """A watcher that tells nobody."""

    def expects(self, count: int) -> None: ...
    def begins(self, name: str, size: int) -> None: ...
    def has(self, name: str, count: int) -> None: ...
    def ends(self, name: str) -> None: ...


@dataclasses.dataclass(frozen=True, slots=True)
class Planned:
    """One payload to be fetched. `item` is the artifact that its index says it is, None where no
    index lists it; `sha256` is what was listed, by the index or by GitHub, if by any."""

    scope: str
    source: GitHub
    asset: Asset
    platform: str | None
    owner_id: int
    item: Pinned | None = None
    sha256: str | None = None

    @property
    def label(self) -> str:
        return str(self.item) if self.item is not None else self.asset.name


class Fetcher:
    """Asks sources for one install. `sources` is called when a source is first needed."""

    def __init__(
        self,
        sources: Callable[[], Sources],
        machine: Store,
        check: OwnerCheck,
        watcher: Watcher | None = None,
    ) -> None:
        self._sources = functools.cache(sources)
        self._machine = machine
        self._check = check
        self._watcher = watcher or Unwatched()
        self._indexes: dict[str, Index] = {}
        self._lock = threading.Lock()
        self._room = _IN_MEMORY

    def plan(self, missing: Sequence[Pinned]) -> list[Planned | MurmurError]:
        """How to fetch what no store holds, or why it cannot be, in order.

        E-REG-001, E-REG-005, E-REG-006, E-IDX-002 and E-WIT-LEVEL-001 come up here, and any
        other failure is raised.
        """
        served = {item.name.scope: item for item in missing if self._serving(item) is not None}
        unread = [item for item in served.values() if item.name.scope not in self._indexes]
        refusals: dict[str, MurmurError] = {}
        for item, index in zip(unread, concurrently(self._read, unread, AT_ONCE), strict=True):
            if isinstance(index, MurmurError):
                refusals[item.name.scope] = index
            elif isinstance(index, Exception):
                raise index
            else:
                self._indexes[item.name.scope] = index
        plans = []
        for plan in concurrently(functools.partial(self._plan, refusals), missing, AT_ONCE):
            if isinstance(plan, Exception) and not isinstance(plan, MurmurError):
                raise plan
            plans.append(plan)
        return plans

    def newest(self, name: FullName) -> Pinned:
        """The newest version of a served scope's artifact that fits and runs here.

        Raises E-REG-001, E-REG-006, E-IDX-002, and E-WIT-LEVEL-001 when none fits.
        """
        source = self._serving(Pinned(name, ""))
        if source is None:
            raise unserved(name, None)
        artifact = self._index(source, name.scope, name).find(name.name)
        if artifact is None:
            raise absent(name, source, f"is not in the index of {source.label}")
        offered = candidates(artifact)
        chosen = choose(offered, host_platform()).version
        if chosen is not None:
            return Pinned(name, chosen)
        for candidate in offered:
            if None in candidate.platforms or host_platform() in candidate.platforms:
                require_fit(f"{name}@{candidate.version}", candidate.contracts)
        reason = f"has no payload for {host_platform()} in the index of {source.label}"
        raise absent(name, source, reason)

    def holds_indexed(self, item: Pinned) -> bool:
        """Whether the global store's payload is the very one that the scope's index lists."""
        found = self._machine.find(item.name, item.version, host_platform())
        source = self._serving(item)
        if found is None or source is None:
            return False
        version = _version(self._index(source, item.name.scope, item), item, source)
        file = version.file_for(host_platform())
        return file is not None and found.recorded_sha256() == file.sha256

    def serves(self, item: Pinned) -> bool:
        """Whether the artifact's scope has a source."""
        return self._serving(item) is not None

    def every_platform(self, item: Pinned) -> tuple[list[Ready], list[tuple[str, Exception]]]:
        """The payloads of one version for every platform, and those that could not be had.

        Raises as `newest` does when there is no such version, or it does not fit.
        """
        source = self._serving(item)
        if source is None:
            raise self._unserved(item)
        version = _version(self._index(source, item.name.scope, item), item, source)
        plans = []
        failed: list[tuple[str, Exception]] = []
        for file in version.files:
            try:
                plans.append(self._plan_file(item, version, file, source))
            except MurmurError as refusal:
                failed.append((file.platform or "any platform", refusal))
        ready = []
        for plan, outcome in zip(plans, self._fetch_each(plans), strict=True):
            if isinstance(outcome, Ready):
                ready.append(outcome)
            elif isinstance(outcome, MurmurError):
                failed.append((plan.platform or "any platform", outcome))
            else:
                raise outcome
        return ready, failed

    def plan_release(self, reference: Release) -> list[Planned]:
        """Every artifact of one release, under its repository's scope.

        Raises E-REG-001, E-REG-005 and E-REG-006, and E-WIT-LEVEL-001 by the index in it.
        """
        repository = f"{reference.owner}/{reference.repository}"
        scope = repository_scope(repository)
        source = self._sources().repository(repository)
        try:
            release = source.release(reference.tag)
            owner_id = _owner(source)
            listed = offered_by_release(source, release, scope)
        except Absent:
            raise absent(reference, source, "is no release that the source has") from None
        except Unanswered as failure:
            raise unanswered(reference, source.label, failure) from None
        plans = []
        for asset in release.assets:
            if asset.name.endswith(".mur.zip"):
                item, sha256 = listed.get(asset.name, (None, asset.sha256))
                platform = split_tag(asset.name)[1]
                plans.append(Planned(scope, source, asset, platform, owner_id, item, sha256))
        if not plans:
            raise absent(reference, source, "holds no .mur.zip")
        self._check(str(reference), scope, owner_id)
        return plans

    def fetch(self, plans: Sequence[Planned]) -> list[Ready]:
        """Every planned payload, downloaded and checked; the first failure stops the others.

        Raises E-REG-002, E-REG-006, E-WIT-LEVEL-001, and what opening a payload raises.
        """
        outcomes = self._fetch_each(plans, threading.Event())
        for each in outcomes:
            if isinstance(each, Exception) and not isinstance(each, NotBegun | Stopped):
                raise each
        return [each for each in outcomes if isinstance(each, Ready)]

    def _fetch_each(
        self, plans: Sequence[Planned], stop: threading.Event | None = None
    ) -> list[Ready | Exception]:
        """Every planned payload, or why it could not be had, in order."""
        self._watcher.expects(len(plans))
        work = functools.partial(self._fetch, stop or threading.Event())
        return concurrently(work, plans, AT_ONCE, stop)

    def _serving(self, item: Pinned) -> GitHub | None:
        return self._sources().serving(item.name.scope)

    def _unserved(self, item: Pinned) -> MurmurError:
        found = self._machine.payloads(item.name, item.version)
        return unserved(item.name, item.version, [each.tag for each in found if each.tag])

    def _read(self, item: Pinned) -> Index:
        source = self._serving(item)
        assert source is not None
        return read_index(source, item.name.scope, item)

    def _index(self, source: GitHub, scope: str, artifact: object) -> Index:
        if scope not in self._indexes:
            self._indexes[scope] = read_index(source, scope, artifact)
        return self._indexes[scope]

    def _plan(self, refusals: dict[str, MurmurError], item: Pinned) -> Planned:
        source = self._serving(item)
        if source is None:
            raise self._unserved(item)
        refusal = refusals.get(item.name.scope)
        if refusal is not None:
            raise refusal
        version = _version(self._indexes[item.name.scope], item, source)
        file = version.file_for(host_platform())
        if file is None:
            tags = ", ".join(sorted(each.platform or "" for each in version.files))
            reason = f"has no payload for {host_platform()} at {source.label}, only for {tags}"
            raise absent(item, source, reason)
        return self._plan_file(item, version, file, source)

    def _plan_file(
        self, item: Pinned, version: IndexVersion, file: IndexFile, source: GitHub
    ) -> Planned:
        try:
            owner_id = _owner(source)
            self._check(str(item), item.name.scope, owner_id)
            release = source.release(version.release)
        except Absent:
            reason = f"is in release {version.release} of {source.label}, which is not there"
            raise absent(item, source, reason) from None
        except Unanswered as failure:
            raise unanswered(item, source.label, failure) from None
        asset = release.asset(file.name)
        if asset is None:
            reason = f"is not in release {release.tag} of {source.label}: it has no {file.name}"
            raise absent(item, source, reason)
        return Planned(item.name.scope, source, asset, file.platform, owner_id, item, file.sha256)

    def _held(self, spool: BinaryIO, size: int, sha256: str) -> Content:
        """What was downloaded: small ones in memory, which spares descriptors, up to a total."""
        with self._lock:
            if size > self._room:
                return Content(spool, size, sha256)
            self._room -= size
        with spool:
            return Content(os.pread(spool.fileno(), size, 0), size, sha256)

    def _fetch(self, stop: threading.Event, plan: Planned) -> Ready:
        self._watcher.begins(plan.label, plan.asset.size)
        observe = functools.partial(self._watcher.has, plan.label)
        # A file without a name: nothing is left of it, however this process ends.
        spool = tempfile.TemporaryFile(buffering=0, prefix="murmur-")  # noqa: SIM115
        try:
            sha256 = plan.source.download(plan.asset, spool, Transfer(observe, stop))
            if plan.sha256 is not None and sha256 != plan.sha256:
                raise error(
                    "E-REG-002",
                    artifact=plan.label,
                    recorded=f"{'the index of ' if plan.item else ''}{plan.source.label}",
                    expected=plan.sha256,
                    found=sha256,
                    hint="the file was changed after it was published: ask its publisher",
                )
            payload = open_payload(self._held(spool, spool.tell(), sha256), plan.label)
        except Absent:
            reason = f"is listed at {plan.source.label}, and {plan.asset.name} is not there"
            raise absent(plan.label, plan.source, reason) from None
        except Unanswered as failure:
            raise unanswered(plan.label, plan.source.label, failure) from None
        except OSError as failure:
            reason = failure.strerror or str(failure)
            what = f"the download of {plan.label} cannot be kept"
            raise error("E-IO-003", what=what, reason=reason, hint="") from failure
        finally:
            self._watcher.ends(plan.label)
        manifest = payload.manifest
        name = FullName.of(plan.scope, manifest.name)
        packed = Pinned(name, manifest.version)
        named = payload_stem(name, manifest.version, plan.platform) + ".mur.zip"
        right = packed == plan.item if plan.item is not None else named == plan.asset.name
        if not right or bare_name_fault(manifest.name) or version_fault(manifest.version):
            wrong = Unanswered(f"{plan.asset.name} packs {manifest.name}@{manifest.version}")
            raise unanswered(plan.label, plan.source.label, wrong)
        require_fit(str(packed), payload.contracts)
        return Ready(name, payload, native_tag(payload, plan.platform), plan.owner_id)


def _version(index: Index, item: Pinned, source: GitHub) -> IndexVersion:
    """One version in its scope's index. Raises E-REG-001, and E-WIT-LEVEL-001 by its interfaces."""
    artifact = index.find(item.name.name)
    version = artifact.find(item.version) if artifact is not None else None
    if version is None:
        reason = f"is not in the store, and not in the index of {source.label}"
        raise absent(item, source, reason)
    require_fit(str(item), version.contracts)
    return version


def _owner(source: GitHub) -> int:
    try:
        return source.owner_id()
    except Absent:
        raise Unanswered("it does not say who owns the repository") from None
