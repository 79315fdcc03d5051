"""What a launch would give its harness, before there is one: the scope report's part of it."""

from murmur.core.diagnostics import MurmurError
from murmur.manifest.capsule import Capsule, LoadedCapsule
from murmur.manifest.harness_needs import BadHarnessNeeds, parse_harness_needs
from murmur.session.harness.needs import HarnessGrants, harness_grants
from murmur.session.implied import with_implied_driver
from murmur.session.installed import installed_manifests
from murmur.session.launch import Launch
from murmur.store.lock import read_lock
from murmur.store.platforms import host_platform
from murmur.store.stores import global_store, project_store


def foresee_harness(
    loaded: LoadedCapsule, launch: Launch
) -> tuple[HarnessGrants | None, tuple[MurmurError, ...]]:
    """The grants of a process capsule's harness, None for any other; what would be refused of them.

    A driver that no store holds yet, or whose block staging refuses, counts as one that does not
    say what it needs.
    """
    inference = loaded.capsule.inference
    if inference is None or inference.transport != "process":
        return None, ()
    capsule = _with_driver(loaded, launch)
    entry, needs = capsule.driver_entry, None
    if entry is not None:
        manifest = installed_manifests((entry,), launch).get(entry.name)
        try:
            needs = None if manifest is None else parse_harness_needs(manifest.harness_needs)
        except BadHarnessNeeds:
            needs = None
    try:
        grants = harness_grants(capsule, needs, launch.home)
    except MurmurError:
        # An entry of network.allow that is none: told by the check of the manifest itself.
        return HarnessGrants(), ()
    refused = grants.refusal(entry.label) if entry is not None else None
    return grants, (refused,) if refused is not None else ()


def _with_driver(loaded: LoadedCapsule, launch: Launch) -> Capsule:
    """The capsule, with the driver that an old command implies where one is installed."""
    try:
        lock = None if launch.lock_file is None else read_lock(launch.lock_file)
        stores = (project_store(launch.directory), global_store(launch.home.artifacts))
        return with_implied_driver(loaded, lock, stores, host_platform()).capsule
    except (MurmurError, OSError):
        return loaded.capsule
