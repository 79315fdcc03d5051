"""The spawn closure of a capsule: it, and whatever its `spawn.allow` leads to, read from stores.

CLI reference, *Environment requirements*; spec/registry.md 20. Nothing is launched and no version
is guessed: a name that no single source settles is one that could not be inspected.
"""

import dataclasses
from collections.abc import Mapping, Sequence

from murmur.core.diagnostics import MurmurError
from murmur.manifest.capsule import Capsule
from murmur.manifest.names import is_full_name
from murmur.manifest.parse import load_capsule
from murmur.store.archive import MANIFEST, BadArchive
from murmur.store.lock import Lock
from murmur.store.names import FullName
from murmur.store.payload import MANIFEST_LIMIT
from murmur.store.stores import Store, StoredArtifact, resolve


class CannotInspect(Exception):
    """Why a named capsule could not be read; the message goes into the report."""


@dataclasses.dataclass(frozen=True, slots=True)
class Excess:
    """A name that `child` declares in `env.allow` and its spawner does not hold."""

    child: str
    name: str
    parent: str


@dataclasses.dataclass(slots=True)
class Closure:
    """What the walk found, in the order of the walk; capsules by `name@version`, the root first."""

    capsules: dict[str, Capsule] = dataclasses.field(default_factory=dict)
    excesses: list[Excess] = dataclasses.field(default_factory=list)
    uninspected: dict[str, str] = dataclasses.field(default_factory=dict)
    cycles: list[tuple[str, str]] = dataclasses.field(default_factory=list)

    @property
    def size(self) -> int:
        """How many capsules it names, inspected or not."""
        return len(self.capsules) + len(self.uninspected)


@dataclasses.dataclass(frozen=True, slots=True)
class Shelves:
    """Where capsules are looked up. `stores` are the project's, then the machine's."""

    stores: Sequence[Store]
    lock: Lock | None
    platform: str
    environ: Mapping[str, str]

    def capsule(self, name: str) -> Capsule:
        """The capsule that a `spawn.allow` entry names. Raises CannotInspect."""
        if not is_full_name(name):
            raise CannotInspect("it is no full artifact name")
        stored = self._stored(FullName(name))
        try:
            payload = stored.open(self.environ)
            text = payload.archive.read_text(MANIFEST, MANIFEST_LIMIT)
            return load_capsule(text, f"{stored.reference}: {MANIFEST}").capsule
        except (MurmurError, BadArchive, UnicodeDecodeError) as failure:
            reason = failure.message if isinstance(failure, MurmurError) else str(failure)
            raise CannotInspect(reason) from None

    def _stored(self, name: FullName) -> StoredArtifact:
        version = self._version(name)
        found = resolve(name, version, self.stores, self.platform)
        if found is None:
            raise CannotInspect(f"{version} is not installed")
        return found

    def _version(self, name: FullName) -> str:
        """The lock's pin, else the one version in the first store that holds the name at all."""
        pin = self.lock.find(name) if self.lock is not None else None
        if pin is not None:
            return pin.resolved_version
        for store in self.stores:
            versions = store.versions(name)
            if len(versions) > 1:
                raise CannotInspect(
                    f"{', '.join(versions)} are in the {store.label} store, and nothing pins one"
                )
            if versions:
                return versions[0]
        raise CannotInspect("not installed")


def label(capsule: Capsule) -> str:
    """`name@version`, as the report names a capsule."""
    return f"{capsule.name}@{capsule.version}"


def spawn_closure(root: Capsule, shelves: Shelves) -> Closure:
    """Walks from `root`, each capsule once."""
    found = Closure({label(root): root})
    _walk(root, (label(root),), {}, shelves, found)
    return found


def _walk(
    parent: Capsule,
    path: tuple[str, ...],
    read: dict[str, Capsule | None],
    shelves: Shelves,
    found: Closure,
) -> None:
    for name in dict.fromkeys(parent.capabilities.spawn_allow):
        known = name in read
        if not known:
            try:
                read[name] = shelves.capsule(name)
            except CannotInspect as problem:
                read[name] = None
                found.uninspected[name] = str(problem)
        child = read[name]
        if child is None:
            continue
        held = parent.capabilities.env_allow
        found.excesses += [
            Excess(label(child), variable, label(parent))
            for variable in dict.fromkeys(child.capabilities.env_allow)
            if variable not in held
        ]
        if label(child) in path:
            found.cycles.append((label(parent), label(child)))
        elif not known:
            found.capsules[label(child)] = child
            _walk(child, (*path, label(child)), read, shelves, found)
