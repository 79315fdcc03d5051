"""The one containment decision of a session. spec/containment.md 1, 4 and 8.

Enforcement, the scope report, MURMUR.md, doctor and the warnings read this object and decide
nothing anew.
"""

import dataclasses
from pathlib import Path
from typing import Final

from murmur.core.diagnostics import Diagnostic, MurmurError, error, warning
from murmur.core.safefs import Root
from murmur.manifest.capsule import Capsule
from murmur.manifest.grants import Containment as ClassName
from murmur.manifest.session import Lifecycle
from murmur.sandbox.mur_sandbox import HelperMissing, find_helper
from murmur.sandbox.native_code import loads_native_code
from murmur.sandbox.policy import applied_tier
from murmur.sandbox.probe import (
    HostReading,
    Tier,
    class_refusal,
    network_refusal,
    read_host,
    unread_host,
)
from murmur.session.directories import WorkPlace
from murmur.session.entrypoints import DEFAULT_PATH, Search, compiler_warnings, script_refusal
from murmur.session.floors import Floor, can_start_commands, weaker
from murmur.session.host_facts import host_facts
from murmur.session.launch import Launch
from murmur.session.prepare import Prepared

CLASS_OF: Final[dict[Tier, ClassName]] = {
    "Sealed": "sealed",
    "Full": "scoped",
    "Seccomp-only": "advisory",
    "Environment-only": "advisory",
}

_KEEP_HELPER: Final = "keep mur-sandbox beside mur, or name it with MURMUR_SANDBOX_HELPER"


@dataclasses.dataclass(frozen=True, slots=True)
class Containment:
    """What was declared, what this host achieves, and what the operator is told about it.

    `missing` says in words why there is no reading. `shortfall` is why the floor is not met, None
    when it is. `refusals` are what a launch is refused with, in the order of the checks.
    """

    helper: Path | None
    reading: HostReading
    missing: str
    floor: Floor
    achieved: ClassName
    shortfall: str | None
    home_inside: bool
    refusals: tuple[MurmurError, ...]
    warnings: tuple[Diagnostic, ...]
    notes: tuple[str, ...]

    @property
    def declared(self) -> ClassName:
        """The floor in force."""
        return self.floor.declared

    @property
    def host(self) -> ClassName:
        """The class that this host could achieve at most, whatever was declared."""
        return CLASS_OF[self.reading.tier]

    @property
    def tier(self) -> Tier:
        """The tier that commands get."""
        return applied_tier(self.reading, sealed=self.declared == "sealed")


def decide_containment(prepared: Prepared) -> Containment:
    """Reads the host once and decides for a launch.

    Raises E-CAP-003 for a floor that is not met, E-CAP-004 for a staged runtime below `sealed`,
    E-CAP-006 for scripts that a composed root could not start, and E-CAP-005 for a capsule that can
    start commands on a host that cannot give them a network namespace.
    """
    with host_facts(prepared.launch.home, prepared.home_inside, create=False) as facts:
        found = read_containment(
            prepared.capsule,
            prepared.floor,
            prepared.lifecycle,
            home_inside=prepared.home_inside,
            search=search_of(prepared.launch, prepared.place),
            native=prepared.has_native,
            facts=facts,
        )
    if found.refusals:
        raise found.refusals[0]
    return found


@dataclasses.dataclass(frozen=True, slots=True)
class Host:
    """What was read of this host, once; `missing` says in words why there is no reading."""

    helper: Path | None
    reading: HostReading
    missing: str = ""


def search_of(launch: Launch, place: WorkPlace) -> Search:
    """Where a launch looks for the names of `shell.allow`."""
    path = launch.environ.get("PATH", DEFAULT_PATH)
    return Search(path, (str(place.root), str(launch.home.root.resolve() / "records")))


def read_containment(
    capsule: Capsule,
    floor: Floor,
    lifecycle: Lifecycle,
    *,
    home_inside: bool,
    search: Search,
    native: bool = False,
    facts: Root | None = None,
) -> Containment:
    """Reads the host once and decides; what a launch would be refused for is data here.

    `home_inside` says whether `~/.murmur` lies in the workdir, `native` whether a tool is native.
    `facts` is where what compilers answer is kept.
    """
    return contain(
        _read(),
        capsule,
        floor,
        lifecycle,
        home_inside=home_inside,
        search=search,
        native=native,
        facts=facts,
    )


def contain(
    host: Host,
    capsule: Capsule,
    floor: Floor,
    lifecycle: Lifecycle,
    *,
    home_inside: bool,
    search: Search,
    native: bool = False,
    facts: Root | None = None,
) -> Containment:
    """The decision for a host as it was read; the rest as in `read_containment`."""
    reading, missing = host.reading, host.missing
    tier = applied_tier(reading, sealed=floor.declared == "sealed")
    achieved = CLASS_OF[tier]
    capped = _cap(capsule, home_inside)
    if capped:
        achieved = "advisory"
    shortfall = fix = ""
    if weaker(achieved, floor.declared):
        shortfall, fix = _shortfall(reading, floor, capped, missing)
    warnings: list[Diagnostic] = []
    notes: list[str] = []
    subprocesses = can_start_commands(capsule) or native
    if subprocesses:
        warnings, notes = _command_warnings(capsule, lifecycle, reading, tier)
    scripts = None
    if floor.declared == "sealed":
        scripts = script_refusal(capsule, search)
        warnings += compiler_warnings(capsule, search, facts)
    return Containment(
        helper=host.helper,
        reading=reading,
        missing=missing,
        floor=floor,
        achieved=achieved,
        shortfall=shortfall or None,
        home_inside=home_inside,
        refusals=tuple(
            _refusals(
                capsule, floor, achieved, shortfall, fix, reading, missing, scripts, subprocesses
            )
        ),
        warnings=tuple(warnings),
        notes=tuple(notes),
    )


def _read() -> Host:
    try:
        helper = find_helper()
    except HelperMissing as missing:
        return Host(None, unread_host(), str(missing))
    try:
        return Host(helper, read_host(helper))
    except OSError as failure:
        return Host(helper, unread_host(), f"{helper} probe: {failure.strerror}")


def _cap(capsule: Capsule, home_inside: bool) -> str:
    """Why the class is `advisory` whatever the tier is; empty when nothing caps it."""
    if capsule.capabilities.workdir_exec:
        return "capabilities.filesystem.workdir_exec is set"
    if home_inside:
        return "~/.murmur lies in the work folder"
    return ""


def _shortfall(reading: HostReading, floor: Floor, capped: str, missing: str) -> tuple[str, str]:
    """(reason, fix) of an unmet floor; what caps the class needs no host to be asked."""
    if capped:
        return capped, ""
    if missing:
        return missing, _KEEP_HELPER
    return class_refusal(reading, floor.declared)


def _refusals(
    capsule: Capsule,
    floor: Floor,
    achieved: ClassName,
    shortfall: str,
    fix: str,
    reading: HostReading,
    missing: str,
    scripts: MurmurError | None,
    subprocesses: bool,
) -> list[MurmurError]:
    found: list[MurmurError] = []
    if shortfall:
        remedy = f"{fix}, or " if fix else ""
        found.append(
            error(
                "E-CAP-003",
                declared=floor.declared,
                achieved=achieved,
                reason=shortfall,
                fix=remedy,
            )
        )
    shell = capsule.capabilities.shell
    if shell is not None and shell.staged_runtime and floor.declared != "sealed":
        binaries = ", ".join(grant.binary for grant in shell.staged_runtime)
        found.append(error("E-CAP-004", binaries=binaries, floor=floor.declared))
    if scripts is not None:
        found.append(scripts)
    if subprocesses and reading.linux and not reading.network.ok:
        why, fix = (missing, _KEEP_HELPER) if missing else network_refusal(reading)
        found.append(error("E-CAP-005", reason=why, fix=fix))
    return found


def _command_warnings(
    capsule: Capsule, lifecycle: Lifecycle, reading: HostReading, tier: Tier
) -> tuple[list[Diagnostic], list[str]]:
    capabilities = capsule.capabilities
    warnings: list[Diagnostic] = []
    notes: list[str] = []
    if reading.userns_grant == "restriction_disabled_host_wide":
        warnings.append(warning("W-SEC-013"))
    warnings += _tier_warnings(capsule, reading, tier)
    loaders = [name for name in capabilities.shell_allow if loads_native_code(name, name)]
    if loaders:
        binaries = ", ".join(loaders)
        warnings.append(warning("W-SEC-036", binaries=binaries))
        notes.append(f"Native code in the work folder can be loaded by {binaries}.")
    if tier == "Sealed":
        notes.append(
            "Commands see a file system of their own: the folders named here, /tmp, /usr and parts "
            "of /etc. Nothing else of this machine exists for them."
        )
    if capabilities.workdir_exec:
        notes.append("Programs in the work folder can be run (filesystem.workdir_exec).")
    sleeps = (lifecycle.task_acceptance, lifecycle.after_task) == ("queue", "sleep")
    if capabilities.shell_allow and not sleeps:
        warnings.append(warning("W-SEC-022"))
    return warnings, notes


def _tier_warnings(capsule: Capsule, reading: HostReading, tier: Tier) -> list[Diagnostic]:
    """What commands run behind at this tier, and what it leaves open. spec/containment.md 25."""
    capabilities = capsule.capabilities
    if tier == "Environment-only":
        unreined = "bash" in capabilities.shell_allow and capabilities.network_allow
        return [warning("W-SEC-001"), *([warning("W-SEC-003")] if unreined else [])]
    if tier == "Seccomp-only":
        return [warning("W-SEC-002", reason=reading.landlock.reason)]
    # What became of the cgroup scope is said apart (W-SEC-035): it is not made yet.
    what = "Landlock, seccomp and namespaces of their own"
    if tier == "Sealed":
        return [
            warning(
                "W-SEC-005",
                mechanism=f"a root of their own, {what}",
                exceptions="what the granted folders, /usr and the public parts of /etc hold can "
                "be read",
            )
        ]
    return [
        warning(
            "W-SEC-005",
            mechanism=what,
            exceptions="file names and sizes outside the granted folders can be seen, and "
            "what the granted binaries and libraries hold can be read",
        )
    ]
