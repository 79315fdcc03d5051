"""What a harness is given of host and network: what its driver needs, where the manifest allows it.

spec/artifacts.md 13.7; formations digest A10. The grant is the driver's own path, access and host,
never the wider entry that allows it. A driver that does not say gets what the manifest names: that
is the operator's own list, and all there is to go by.
"""

import dataclasses
import os
from collections.abc import Iterable

from murmur.core.config import HostPath
from murmur.core.diagnostics import MurmurError, error
from murmur.core.home import Home
from murmur.manifest.capsule import Capsule
from murmur.manifest.grants import HarnessPath
from murmur.manifest.harness_needs import HarnessNeeds
from murmur.manifest.network import narrow, parse_rules
from murmur.sandbox.binaries import inside

_PATHS, _HOSTS = "capabilities.harness.paths", "capabilities.network.allow"


@dataclasses.dataclass(frozen=True, slots=True)
class HarnessGrants:
    """`hosts` are entries in the form of `network.allow`.

    `missing` are the needs that the manifest does not allow, in words, by the field that would.
    """

    paths: tuple[HostPath, ...] = ()
    hosts: tuple[str, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()

    def refusal(self, driver: str) -> MurmurError | None:
        """E-CAP-021 for all that is missing; None where nothing is."""
        if not self.missing:
            return None
        needs = ", ".join(need for need, _ in self.missing)
        fields = " and ".join(dict.fromkeys(field for _, field in self.missing))
        return error("E-CAP-021", driver=driver, need=needs, field=fields)


def harness_grants(capsule: Capsule, needs: HarnessNeeds | None, home: Home) -> HarnessGrants:
    """The grants of a process capsule's harness; `needs` None is a driver that does not say.

    Raises E-CAP-001 for a bad entry of `network.allow`.
    """
    granted = capsule.capabilities
    allowed = _host_paths(granted.harness.paths if granted.harness is not None else (), home)
    if needs is None:
        return HarnessGrants(allowed, granted.network_allow)
    hosts, denied = narrow(needs.hosts, parse_rules(granted.network_allow))
    paths, missing = [], []
    for declared, needed in zip(needs.paths, _host_paths(needs.paths, home), strict=True):
        if any(_allows(each, needed) for each in allowed):
            paths.append(needed)
        else:
            missing.append((f"the path {declared.path} ({declared.access})", _PATHS))
    missing += [(f"the host {rule.text}", _HOSTS) for rule in denied]
    return HarnessGrants(tuple(paths), tuple(rule.text for rule in hosts), tuple(missing))


def _host_paths(declared: Iterable[HarnessPath], home: Home) -> tuple[HostPath, ...]:
    """Canonical, `~/` standing for the operator's home."""
    return tuple(
        HostPath(
            os.path.realpath(
                os.path.join(home.root.parent, each.path[2:])
                if each.path.startswith("~/")
                else each.path
            ),
            each.access,
        )
        for each in declared
    )


def _allows(allowed: HostPath, needed: HostPath) -> bool:
    if allowed.access == "read" and needed.access == "read-write":
        return False
    return inside(needed.path, (allowed.path,))
