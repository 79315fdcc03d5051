"""The blocks about this host: user namespaces, Landlock, memory bound.

CLI reference, *mur doctor* and *Memory bound*; spec/containment.md 7, 10 and 19.
"""

import errno
import hashlib
from pathlib import Path
from typing import Final, Literal

from murmur.sandbox.hierarchy import Facts, read_facts
from murmur.sandbox.probe import BUILD_ABI, HostReading, Stage
from murmur.session.containment import Containment

PROFILE: Final = Path("/etc/apparmor.d/mur-sealed")
# SHA-256 of every profile that was shipped, newest last; a test compares the last with the file.
SHIPPED_PROFILES: Final = ("843f79e7a4777ca2e1430c5449c3a4355f8879f1f0b6dee6ba207d32e0bf73db",)
ATTACHES_TO: Final = (
    "mur-sandbox in /usr/local/bin, /usr/bin or /opt/mur/bin, or in ~/.local/bin or ~/.cargo/bin"
)


def namespaces_block(containment: Containment) -> list[str]:
    """*AppArmor / user namespaces*: what is confined by what, and whether a namespace is given."""
    reading = containment.reading
    title = "AppArmor / user namespaces"
    if containment.helper is None or containment.missing:
        return [
            title,
            f"  binary: {containment.helper or 'mur-sandbox was not found'}",
            f"  userns grant: {reading.userns_grant}",
            f"  network namespace: not probed — {containment.missing or 'this is not Linux'}",
        ]
    return [
        title,
        f"  binary: {containment.helper.resolve()}",
        f"  profile: {_profile(reading)}",
        f"  profile file: {_profile_file(PROFILE)}",
        f"  userns grant: {reading.userns_grant}",
        f"  network namespace: {_created(reading.network)}",
    ]


def _profile(reading: HostReading) -> str:
    """AppArmor attaches by path, so a helper in an unusual place is told where one attaches."""
    if reading.userns_grant == "apparmor_absent":
        return "none, AppArmor is not enabled here"
    if reading.label.startswith("mur-sealed"):
        return reading.label
    held = f"{reading.label}; " if reading.label else ""
    return f"{held}no profile of mur's attaches to this path; they attach to {ATTACHES_TO}"


def _profile_file(path: Path) -> str:
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return f"{path} is not installed"
    except OSError as failure:
        return f"{path} cannot be read ({failure.strerror})"
    if digest in SHIPPED_PROFILES:
        return f"{path} is the one that comes with mur"
    return f"{path} differs from every one that came with mur"


def _created(stage: Stage) -> str:
    if stage.ok:
        return "created"
    name = errno.errorcode.get(stage.error, str(stage.error))
    return f"refused — {stage.call} failed with {name}"


def landlock_block(reading: HostReading, missing: str) -> list[str]:
    """*Landlock*: the kernel's ABI, the ruleset's, and what a capsule loses below either.

    `missing` says why nobody could ask the host, empty when it was asked.
    """
    lines = ["Landlock"]
    if missing:
        return [*lines, f"  kernel ABI: not probed — {missing}"]
    if not reading.landlock.ok:
        return [*lines, f"  kernel ABI: unusable — {reading.landlock.reason}"]
    lines += [
        f"  kernel ABI: {reading.landlock.number}",
        f"  ruleset ABI: {reading.landlock_abi} (the kernel's, capped at {BUILD_ABI})",
    ]
    if reading.landlock_abi < 2:
        lines.append(
            "  moving or hard-linking a file between folders inside the workdir fails with EXDEV "
            "on this host"
        )
    if reading.landlock_abi < 3:
        lines.append("  truncate(2) on a file outside the workdir is not refused on this host")
    return lines


def memory_block(declared: int, linux: bool) -> list[str]:
    """*Memory bound*: the files that a launch on this host writes from `cgroup_memory_bytes`."""
    lines = ["Memory bound", f"  cgroup_memory_bytes: {declared}"]
    if not linux:
        return [
            *lines,
            "  not applied on this host: cgroup bounds are Linux-only, and commands run under "
            "rlimits alone",
        ]
    facts = read_facts()
    kind = memory_files(facts)
    if kind == "v1":
        folder = facts.v1["memory"]
        return [*lines, f"  memory.limit_in_bytes {declared}", *_swap_v1(folder, declared)]
    return [*lines, f"  memory.max {declared}", *_swap_v2(facts, kind == "unknown")]


def memory_files(facts: Facts) -> Literal["v2", "v1", "unknown"]:
    """Which hierarchy's memory controller this process can see, v2 first."""
    if facts.unified is not None and "memory" in _words(facts.unified / "cgroup.controllers"):
        return "v2"
    return "v1" if "memory" in facts.v1 else "unknown"


def _swap_v2(facts: Facts, unknown: bool) -> list[str]:
    if unknown or facts.unified is None:
        return [f"  memory.swap.max 0 where this kernel exposes it — {_swap_active()}"]
    place = facts.unified
    # The root of the hierarchy has no such file; any group below it answers for the kernel.
    groups = [place, *(each for each in _folders(place))]
    if any((group / "memory.swap.max").exists() for group in groups):
        return ["  memory.swap.max 0"]
    if not any((group / "memory.max").exists() for group in groups):
        return [f"  memory.swap.max 0 where this kernel exposes it — {_swap_active()}"]
    return [
        "  memory.swap.max: swap is not bounded on this host — this kernel exposes no such file, "
        f"so memory.max bounds resident memory only; {_swap_active()}"
    ]


def _swap_v1(folder: Path, declared: int) -> list[str]:
    name = "memory.memsw.limit_in_bytes"
    if (folder / name).exists():
        return [f"  {name} {declared}"]
    return [
        f"  {name}: swap is not bounded on this host — this kernel exposes no such file, so "
        f"memory.limit_in_bytes bounds resident memory only; {_swap_active()}"
    ]


def _swap_active(table: Path = Path("/proc/swaps")) -> str:
    try:
        areas = table.read_text(encoding="utf-8", errors="replace").splitlines()[1:]
    except OSError:
        return f"{table} cannot be read"
    return f"{table} lists {'an active' if areas else 'no active'} swap area"


def _folders(place: Path) -> list[Path]:
    try:
        return [each for each in place.iterdir() if each.is_dir()]
    except OSError:
        return []


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii", errors="replace").split()
    except OSError:
        return []
