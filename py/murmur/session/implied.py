"""The driver that an old `inference.command` alone implies, as an entry of the capsule's.

design/decisions.md 1; spec/formations-and-newer-manifest.md A1. The reference leaves its version
open: the lock's pin, else the newest installed one that fits this mur.
"""

import dataclasses
from collections.abc import Sequence

from murmur.core.diagnostics import error
from murmur.manifest.capsule import ArtifactEntry, LoadedCapsule
from murmur.store.levels import misfits, served_level
from murmur.store.lock import Lock
from murmur.store.names import FullName
from murmur.store.stores import Store


def with_implied_driver(
    loaded: LoadedCapsule, lock: Lock | None, stores: Sequence[Store], platform: str
) -> LoadedCapsule:
    """The capsule with an entry for its driver, where it only implies one.

    Raises E-RUN-006 when no release of the driver is installed.
    """
    inference = loaded.capsule.inference
    if inference is None or not inference.driver_implied or inference.driver is None:
        return loaded
    name = inference.driver.artifact
    if loaded.capsule.artifact(name) is not None:
        return loaded
    pin = None if lock is None else lock.find(FullName(name))
    version = pin.resolved_version if pin is not None else _newest(FullName(name), stores, platform)
    if version is None:
        raise error(
            "E-RUN-006",
            what=f"inference.command {inference.command} implies the driver {name}, of which no "
            "release that fits is installed",
            hint=f"run `mur install {name}@<version>`, or name a driver under "
            "inference.driver.artifact",
        )
    entry = ArtifactEntry(name=name, version=version, runtime="driver")
    capsule = dataclasses.replace(loaded.capsule, artifacts=(*loaded.capsule.artifacts, entry))
    return dataclasses.replace(loaded, capsule=capsule)


def _newest(name: FullName, stores: Sequence[Store], platform: str) -> str | None:
    for store in stores:
        for version in store.versions(name):
            stored = store.find(name, version, platform)
            record = stored.record() if stored is not None else None
            if record is not None and not misfits(record.contracts, served_level()):
                return version
    return None
