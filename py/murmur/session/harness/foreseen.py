"""What a launch would give its harness, before there is one: the scope report's part of it."""

from murmur.core.diagnostics import MurmurError
from murmur.manifest.capsule import Capsule
from murmur.manifest.harness_needs import BadHarnessNeeds, parse_harness_needs
from murmur.session.harness.needs import HarnessGrants, harness_grants
from murmur.session.installed import installed_manifests
from murmur.session.launch import Launch


def foresee_harness(
    capsule: Capsule, launch: Launch
) -> tuple[HarnessGrants | None, tuple[MurmurError, ...]]:
    """The grants of a process capsule's harness, None for any other; what would be refused of them.

    A driver that no store holds yet, or whose block staging refuses, counts as one that does not
    say what it needs.
    """
    if capsule.inference is None or capsule.inference.transport != "process":
        return None, ()
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
