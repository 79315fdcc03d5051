"""The manifests of a capsule's artifacts that the stores hold by now, for a report.

What is not installed, or cannot be read, says nothing: a launch refuses it by its own code.
"""

from collections.abc import Iterable, Mapping

from murmur.core.diagnostics import MurmurError
from murmur.manifest.artifact import ArtifactManifest
from murmur.manifest.capsule import ArtifactEntry
from murmur.session.launch import Launch
from murmur.store.names import FullName
from murmur.store.platforms import host_platform
from murmur.store.stores import global_store, project_store, resolve


def installed_manifests(
    entries: Iterable[ArtifactEntry], launch: Launch
) -> Mapping[str, ArtifactManifest]:
    """The artifacts' own manifests by full name, as far as they are there."""
    manifests: dict[str, ArtifactManifest] = {}
    try:
        stores = (project_store(launch.directory), global_store(launch.home.artifacts))
    except (MurmurError, OSError):
        return manifests
    for entry in entries:
        if entry.source is not None:
            continue
        try:
            stored = resolve(FullName(entry.name), entry.version, stores, host_platform())
            if stored is not None:
                manifests[entry.name] = stored.open(launch.environ).manifest
        except (MurmurError, OSError):
            continue
    return manifests
