"""What became of the cgroup scope and its bound on disk I/O. spec/containment.md 19.3.

A preview does what a launch does, against a throwaway scope that it creates and removes.
"""

import dataclasses
import errno
import sys
from typing import Final, Literal, cast

from murmur.core.config import Config
from murmur.core.diagnostics import Diagnostic, MurmurError, error, warning
from murmur.manifest.capsule import Capsule
from murmur.sandbox.cgroup import Scope, try_scope
from murmur.sandbox.hierarchy import Blocked
from murmur.session.demands import command_resources
from murmur.session.floors import can_start_commands
from murmur.session.scope.model import CgroupScope, IoMax
from murmur.session.scope.report import Bounds

LINUX_ONLY: Final = "cgroup bounds are Linux-only"
# What exactly is missing stands in the warning (W-SEC-035).
WAIVED: Final = "no usable cgroup hierarchy, and the operator's sandbox.cgroup is optional"


@dataclasses.dataclass(frozen=True, slots=True)
class Preview:
    """The bounds a launch would get, W-SEC-035 where the operator waives the scope, and E-RUN-012
    where a launch would be refused for it."""

    bounds: Bounds
    warning: Diagnostic | None = None
    refusal: MurmurError | None = None
    swap_bounded: bool | None = None


def session_bounds(capsule: Capsule, scope: Scope | None) -> Bounds:
    """The bounds of a session: its scope, or why it has none."""
    if scope is not None:
        return _delegated(capsule, scope)
    if not can_start_commands(capsule):
        return _bare(capsule, "not-required", None)
    if not sys.platform.startswith("linux"):
        return _bare(capsule, "not-probed", LINUX_ONLY)
    return _bare(capsule, "unavailable", WAIVED)


def preview_bounds(capsule: Capsule, config: Config, workdir: str) -> Preview:
    """The bounds that a launch in `workdir` would get on this host. Never raises."""
    if not can_start_commands(capsule):
        return Preview(_bare(capsule, "not-required", None))
    if not sys.platform.startswith("linux"):
        return Preview(_bare(capsule, "not-probed", LINUX_ONLY))
    wanted = command_resources(capsule.capabilities.resources)
    try:
        scope = try_scope("explain-scope", wanted, workdir)
    except Blocked as blocked:
        if config.cgroup_optional:
            bounds = _bare(capsule, "unavailable", WAIVED, blocked.error)
            return Preview(bounds, warning=warning("W-SEC-035", reason=blocked.reason))
        bounds = _bare(capsule, "unavailable", blocked.reason, blocked.error)
        return Preview(bounds, refusal=error("E-RUN-012", reason=blocked.reason))
    try:
        return Preview(_delegated(capsule, scope), swap_bounded=scope.swap_bounded)
    finally:
        scope.remove()


def _delegated(capsule: Capsule, scope: Scope) -> Bounds:
    declared = capsule.capabilities.resources.cgroup_io_bytes_per_sec
    held = scope.io_refusal is None
    return Bounds(
        CgroupScope("delegated", hierarchy=cast(Literal["v1", "v2"], scope.hierarchy)),
        IoMax(declared, "enforced" if held else "unavailable", scope.io_refusal),
    )


def _bare(
    capsule: Capsule,
    status: Literal["unavailable", "not-required", "not-probed"],
    reason: str | None,
    error_number: int | None = None,
) -> Bounds:
    declared = capsule.capabilities.resources.cgroup_io_bytes_per_sec
    name = None if error_number is None else errno.errorcode.get(error_number, str(error_number))
    return Bounds(CgroupScope(status, reason, name), IoMax(declared, status, reason))
