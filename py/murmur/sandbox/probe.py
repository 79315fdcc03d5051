"""What this host can enforce. spec/containment.md 2, 3 and 7.

The helper makes every attempt (`mur-sandbox probe`), because AppArmor attaches to it and not to
Python; here its lines become a HostReading. Read once per session.
"""

import dataclasses
import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Final, Literal

Tier = Literal["Sealed", "Full", "Seccomp-only", "Environment-only"]
Mechanism = Literal[
    "mountns+pivot_root+landlock+seccomp", "landlock+seccomp", "seccomp-only", "none"
]
UsernsGrant = Literal[
    "apparmor_absent", "profile_confining", "restriction_disabled_host_wide", "withheld", "n/a"
]

MECHANISMS: Final[dict[Tier, Mechanism]] = {
    "Sealed": "mountns+pivot_root+landlock+seccomp",
    "Full": "landlock+seccomp",
    "Seccomp-only": "seccomp-only",
    "Environment-only": "none",
}
CLASSES: Final[dict[Tier, str]] = {
    "Sealed": "sealed",
    "Full": "scoped",
    "Seccomp-only": "advisory",
    "Environment-only": "advisory",
}
BUILD_ABI: Final = 3

_TIMEOUT_S: Final = 20.0
_STAGES: Final = ("landlock", "seccomp", "network", "mounts", "proc", "sealed", "memfd_noexec")


@dataclasses.dataclass(frozen=True, slots=True)
class Stage:
    """One attempt: whether it succeeded, else the failing call, its errno and its step."""

    ok: bool
    number: int = 0
    call: str = ""
    error: int = 0
    step: str = ""

    @property
    def reason(self) -> str:
        """`<call> failed with <ERRNO> (<text>)`; empty for a success."""
        if self.ok:
            return ""
        name = errno.errorcode.get(self.error, str(self.error))
        return f"{self.call} failed with {name} ({os.strerror(self.error)})"


@dataclasses.dataclass(frozen=True, slots=True)
class HostReading:
    """The host's abilities, a Stage per mechanism; `userns_grant` as in containment.md 7.

    `label` is the AppArmor profile that confines the helper, empty where nothing says so.
    """

    linux: bool
    landlock: Stage
    seccomp: Stage
    network: Stage
    mounts: Stage
    proc: Stage
    sealed: Stage
    memfd_noexec: Stage
    userns_grant: UsernsGrant
    label: str = ""

    @property
    def tier(self) -> Tier:
        """The most that this host can do, whatever a capsule asks for."""
        if not self.linux or not self.seccomp.ok:
            return "Environment-only"
        if not self.landlock.ok:
            return "Seccomp-only"
        return "Sealed" if self.sealed.ok and self.network.ok else "Full"

    @property
    def landlock_abi(self) -> int:
        """The ABI that rulesets are built for; 0 without usable Landlock. containment.md 6."""
        return min(self.landlock.number, BUILD_ABI) if self.landlock.ok else 0

    @property
    def blocker(self) -> str | None:
        """Why not Sealed, as containment.md 3.3 names it; None when it is."""
        if not self.linux:
            return "not_linux"
        if not self.landlock.ok:
            return "landlock_unavailable"
        if self.tier == "Sealed":
            return None
        return blocker_of(self.network if not self.network.ok else self.sealed, self.userns_grant)


def blocker_of(stage: Stage, userns_grant: str) -> str:
    """The blocker class of a failed namespace stage. containment.md 3.3."""
    if userns_grant == "withheld":
        return "app_armor_profile_missing"
    if stage.step == "id map":
        return "id_map_denied"
    if stage.call == "unshare":
        return "namespace_creation_denied" if stage.error == errno.EPERM else "kernel_unsupported"
    if stage.call == "pivot_root":
        return "pivot_root_denied"
    return "mount_denied"


_LOAD_PROFILE: Final = (
    "load the AppArmor profile that comes with mur, as root: `install -m 0644 mur-sealed "
    "/etc/apparmor.d/mur-sealed && apparmor_parser -r /etc/apparmor.d/mur-sealed`"
)
_CONTAINER: Final = (
    "in a container, start it with `--cap-add SYS_ADMIN --security-opt seccomp=unconfined "
    "--security-opt apparmor=unconfined`"
)
# A command of the operator's for each blocker.
_REMEDIES: Final = {
    "app_armor_profile_missing": f"{_LOAD_PROFILE} (it attaches to mur-sandbox in /usr/local/bin, "
    "/usr/bin, /opt/mur/bin, ~/.local/bin or ~/.cargo/bin), or, last of all, run `sysctl "
    "kernel.apparmor_restrict_unprivileged_userns=0`",
    "id_map_denied": f"{_CONTAINER}; elsewhere change the security policy that keeps this user "
    "from writing id maps",
    "namespace_creation_denied": f"{_CONTAINER}; on a host where `sysctl "
    "kernel.unprivileged_userns_clone` says 0, set it to 1",
    "kernel_unsupported": "run `sysctl user.max_user_namespaces=10000`, or use a kernel with "
    "user and network namespaces",
    "mount_denied": f"{_CONTAINER}; on a host with AppArmor {_LOAD_PROFILE}",
    "pivot_root_denied": f"{_CONTAINER}; on a host whose policy refuses pivot_root {_LOAD_PROFILE}",
}


def network_refusal(reading: HostReading) -> tuple[str, str]:
    """(reason, fix) for E-CAP-005 on a host whose network stage failed."""
    stage = reading.network
    blocker = blocker_of(stage, reading.userns_grant)
    return (
        f"network.allow could not be enforced, {stage.reason}",
        _REMEDIES.get(blocker, _REMEDIES["mount_denied"]),
    )


def class_refusal(reading: HostReading, wanted: str) -> tuple[str, str]:
    """(reason, fix) for a host that does not reach the class `scoped` or `sealed`. containment 3.3.

    The reasons are those that spec/diagnostics.md tells apart under E-CAP-003.
    """
    if not reading.linux:
        return "this system is not Linux and has no kernel sandbox", "use a Linux host"
    if not reading.landlock.ok or wanted == "scoped":
        return (
            f"no usable Landlock, {reading.landlock.reason or 'no seccomp'}",
            "use a kernel of at least 5.13 with Landlock enabled",
        )
    stage = reading.network if not reading.network.ok else reading.sealed
    blocker = reading.blocker or "mount_denied"
    return _REASONS[blocker].format(reason=stage.reason), _REMEDIES[blocker]


_REASONS: Final = {
    "app_armor_profile_missing": "AppArmor restricts user namespaces and no profile of mur's "
    "confines the helper, {reason}",
    "id_map_denied": "a user namespace can be made and its id map cannot be written, {reason}",
    "namespace_creation_denied": "making a user namespace is refused, {reason}",
    "kernel_unsupported": "this kernel makes no user namespaces, {reason}",
    "mount_denied": "a user namespace can be made and nothing be mounted in it, {reason}",
    "pivot_root_denied": "a user namespace can be made and no root be changed in it, {reason}",
}

_ABSENT: Final = Stage(False, call="probe", error=errno.ENOSYS)


def without_linux() -> HostReading:
    """The reading of a system that is not Linux (design/decisions.md 9)."""
    return HostReading(False, _ABSENT, _ABSENT, _ABSENT, _ABSENT, _ABSENT, _ABSENT, _ABSENT, "n/a")


def unread_host() -> HostReading:
    """The reading of a host that nobody could ask: nothing is known to work."""
    if not sys.platform.startswith("linux"):
        return without_linux()
    return dataclasses.replace(
        without_linux(), linux=True, userns_grant=_grant("", *_grant_facts())
    )


def read_host(helper: Path) -> HostReading:
    """Asks the helper. Raises OSError when it cannot be run or does not answer in time."""
    if not sys.platform.startswith("linux"):
        return without_linux()
    try:
        done = subprocess.run(
            [helper, "probe"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={},
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise OSError(errno.ETIMEDOUT, f"{helper} probe did not answer") from late
    return parse(done.stdout.decode("utf-8", "replace"), _grant_facts())


def parse(text: str, facts: tuple[bool, bool]) -> HostReading:
    """The reading in the probe's output; `facts` = (AppArmor enabled, its restriction on).

    Raises OSError when a stage has no line.
    """
    stages: dict[str, Stage] = {}
    label = ""
    for line in text.splitlines():
        words = line.split(" ")
        if words[0] == "label":
            label = line[len("label ") :]
        elif words[1:2] == ["ok"]:
            stages[words[0]] = Stage(True, number=int(words[2]) if len(words) > 2 else 0)
        elif words[1:2] == ["failed"] and len(words) >= 5:
            stages[words[0]] = Stage(
                False, call=words[2], error=int(words[3]), step=" ".join(words[4:])
            )
    missing = [name for name in _STAGES if name not in stages]
    if missing:
        raise OSError(errno.EPROTO, f"the helper's probe said nothing on {', '.join(missing)}")
    return HostReading(linux=True, userns_grant=_grant(label, *facts), label=label, **stages)


def _grant(label: str, enabled: bool, restricted: bool) -> UsernsGrant:
    if not enabled:
        return "apparmor_absent"
    if not restricted:
        return "restriction_disabled_host_wide"
    return "profile_confining" if label.startswith("mur-sealed") else "withheld"


def _grant_facts() -> tuple[bool, bool]:
    enabled = _first_character("/sys/module/apparmor/parameters/enabled") in ("Y", "1")
    if not enabled:
        return False, False
    for knob in (
        "/sys/module/apparmor/parameters/restrict_unprivileged_userns",
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    ):
        value = _first_character(knob)
        if value:
            return True, value in ("Y", "1")
    return False, False  # a kernel without the knob: reported as apparmor_absent


def _first_character(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read(1)
    except OSError:
        return ""
