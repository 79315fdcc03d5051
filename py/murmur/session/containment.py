"""The one containment decision of a session. spec/containment.md 1, 4 and 8.

Enforcement, session_start, MURMUR.md and the warnings read this object and decide nothing anew.
"""

import dataclasses
from pathlib import Path
from typing import Final

from murmur.core.diagnostics import Diagnostic, error, warning
from murmur.sandbox.helper import HelperMissing, find_helper
from murmur.sandbox.policy import loads_native_code
from murmur.sandbox.probe import (
    CLASSES,
    HostReading,
    network_refusal,
    read_host,
    without_linux,
)
from murmur.session.prepare import Prepared

_ORDER: Final = ("advisory", "scoped", "sealed")

# What is said of a Linux host that nobody could ask: it can do nothing.
_UNREAD: Final = dataclasses.replace(without_linux(), linux=True)


@dataclasses.dataclass(frozen=True, slots=True)
class Containment:
    """What was declared, what this host achieves, and what the operator is told about it."""

    helper: Path | None
    reading: HostReading
    declared: str
    achieved: str
    warnings: tuple[Diagnostic, ...]
    notes: tuple[str, ...]


def decide_containment(prepared: Prepared) -> Containment:
    """Reads the host once and decides.

    Raises E-CAP-003 for a floor that the host does not reach, and E-CAP-005 for a capsule that can
    start commands on a host that cannot give them a network namespace.
    """
    capabilities = prepared.capsule.capabilities
    helper, reading, missing = _read()
    declared = capabilities.containment or "advisory"
    achieved = _achieved(reading, capabilities.workdir_exec)
    if _ORDER.index(achieved) < _ORDER.index(declared):
        reason = "filesystem.workdir_exec is set" if capabilities.workdir_exec else missing
        raise error(
            "E-CAP-003",
            declared=declared,
            achieved=achieved,
            reason=reason or f"Landlock: {reading.landlock.reason}",
        )
    if prepared.may_start_commands and reading.linux and not reading.network.ok:
        why, fix = network_refusal(reading)
        raise error("E-CAP-005", reason=missing or why, fix=fix)
    warnings: list[Diagnostic] = []
    notes: list[str] = []
    if prepared.may_start_commands:
        found, noted = _command_warnings(prepared, reading)
        warnings += found
        notes += noted
    return Containment(
        helper=helper,
        reading=reading,
        declared=declared,
        achieved=achieved,
        warnings=tuple(warnings),
        notes=tuple(notes),
    )


def _read() -> tuple[Path | None, HostReading, str]:
    """The helper, the reading, and in words why there is none."""
    try:
        helper = find_helper()
    except HelperMissing as missing:
        return None, _UNREAD, str(missing)
    try:
        return helper, read_host(helper), ""
    except OSError as failure:
        return helper, _UNREAD, f"{helper} probe: {failure.strerror}"


def _achieved(reading: HostReading, workdir_exec: bool) -> str:
    """The class of this host for a capsule that did not ask for `sealed`."""
    if workdir_exec:
        return "advisory"
    tier = "Full" if reading.tier == "Sealed" else reading.tier
    return CLASSES[tier]


def _command_warnings(
    prepared: Prepared, reading: HostReading
) -> tuple[list[Diagnostic], list[str]]:
    capabilities = prepared.capsule.capabilities
    warnings: list[Diagnostic] = []
    notes: list[str] = []
    if not reading.linux:
        warnings.append(warning("W-SEC-001"))
    elif not reading.landlock.ok:
        warnings.append(warning("W-SEC-002", reason=reading.landlock.reason))
    else:
        warnings.append(
            warning(
                "W-SEC-005",
                mechanism="Landlock, seccomp, namespaces of their own and a cgroup",
                exceptions="file names and sizes outside the granted folders can be seen, and "
                "what the granted binaries and libraries hold can be read",
            )
        )
    loaders = [name for name in capabilities.shell_allow if loads_native_code(name, name)]
    if loaders:
        binaries = ", ".join(loaders)
        warnings.append(warning("W-SEC-036", binaries=binaries))
        notes.append(f"Native code in the work folder can be loaded by {binaries}.")
    if capabilities.workdir_exec:
        warnings.append(warning("W-SEC-011"))
        notes.append("Programs in the work folder can be run (filesystem.workdir_exec).")
    lifecycle = prepared.lifecycle
    if (lifecycle.task_acceptance, lifecycle.after_task) != ("queue", "sleep"):
        warnings.append(warning("W-SEC-022"))
    return warnings, notes
