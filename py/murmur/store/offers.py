"""What a source offers: the index of its scope, and what an index says of one release's files."""

from murmur.core.diagnostics import MurmurError, error
from murmur.store.github import GitHub, Published
from murmur.store.index import INDEX_FILE, SIZE_LIMIT, Index, parse_index
from murmur.store.ready import require_fit
from murmur.store.references import Pinned
from murmur.store.sources import absent, unanswered
from murmur.store.transport import Absent, Unanswered


def read_index(source: GitHub, scope: str, artifact: object) -> Index:
    """The index on the source's latest release; `artifact` is what it is asked for, for messages.

    Raises E-REG-001 without a release, E-REG-006, and E-IDX-002.
    """
    try:
        release = source.latest()
        found = release.asset(INDEX_FILE)
        if found is None:
            raise Unanswered(f"its latest release, {release.tag}, holds no {INDEX_FILE}")
        data = source.read_asset(found, SIZE_LIMIT)
    except Absent:
        reason = f"is not in the store, and {source.label} has no release"
        raise absent(artifact, source, reason) from None
    except Unanswered as failure:
        raise unanswered(artifact, source.label, failure) from None
    label = f"{source.label}@{release.tag}/{INDEX_FILE}"
    index = parse_index(data, label)
    if index.scope != scope:
        reason = f"it is the index of the scope {index.scope}, not of {scope}"
        raise error("E-IDX-002", source=label, reason=reason)
    return index


def offered_by_release(
    source: GitHub, release: Published, scope: str
) -> dict[str, tuple[Pinned, str]]:
    """What the index in a release says of the release's own files: artifact and hash, by name.

    Nothing for a release without an index of this scope that can be read: such releases are older
    than the index's form. Raises E-WIT-LEVEL-001 for what does not fit, Absent and Unanswered.
    """
    found = release.asset(INDEX_FILE)
    if found is None:
        return {}
    try:
        index = parse_index(source.read_asset(found, SIZE_LIMIT), source.label)
    except MurmurError:
        return {}
    offered = {}
    for artifact in index.artifacts if index.scope == scope else ():
        for version in artifact.versions:
            if version.release != release.tag:
                continue
            item = Pinned(index.full_name(artifact), version.version)
            for file in version.files:
                if release.asset(file.name) is not None:
                    require_fit(str(item), version.contracts)
                    offered[file.name] = (item, file.sha256)
    return offered
