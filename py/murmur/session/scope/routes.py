"""The ways in which code of a session runs, and whether each is under the class.

spec/containment.md 6, `routes[]`, and 8. W-SEC-034 is decided from this list.
"""

import dataclasses
from typing import Final

from murmur.manifest.capsule import Capsule
from murmur.sandbox.probe import HostReading, Tier
from murmur.session.scope.model import HOST_PROCESS, Route, RouteName

NO_LOCKDOWN: Final = "there is no libmur-lockdown.so for the guest hosts to lock themselves down"
# A guest's host process has no root of its own: what is said of one must not be read into it.
GUEST_ROOT: Final = (
    "by Landlock and seccomp in a process of the host's root; a guest sees its preopens and "
    "nothing else"
)


@dataclasses.dataclass(frozen=True, slots=True)
class Guests:
    """Whether guest hosts are contained as commands are, else `reason`."""

    contained: bool
    reason: str | None = None


def foreseen_guests(reading: HostReading, lockdown: bool) -> Guests:
    """How a launch on this host would start its guests. `lockdown`: their library is there."""
    if not reading.linux:
        return Guests(False, "this system is not Linux")
    if not reading.network.ok:
        return Guests(False, reading.network.reason)
    if not lockdown:
        return Guests(False, NO_LOCKDOWN)
    return Guests(True)


def routes(capsule: Capsule, tier: Tier, guests: Guests) -> tuple[Route, ...]:
    """Every route in the fixed order, present or not."""
    granted, inference = capsule.capabilities, capsule.inference
    shell = bool(granted.shell_allow)
    harness = inference is not None and inference.transport == "process"
    declared = {
        role: tuple(entry.name for entry in capsule.artifacts if entry.runtime == role)
        for role in ("tool", "driver", "hook")
    }
    return (
        _command("shell", shell, tier),
        _command("plan-shell-steps", shell and granted.plan_submit, tier),
        _guest("wasm-tools", declared["tool"], tier, guests),
        _guest("drivers", declared["driver"], tier, guests),
        _guest("hooks", declared["hook"], tier, guests),
        _command("process-harness", harness, tier),
        _command("harness-tools", harness and bool(declared["tool"]), tier),
    )


def _command(name: RouteName, present: bool, tier: Tier) -> Route:
    """What runs as a command does: the class is, by definition, what commands get."""
    return Route(name, present, True, tier, None, ())


def _guest(name: RouteName, artifacts: tuple[str, ...], tier: Tier, guests: Guests) -> Route:
    mechanism = tier if guests.contained else HOST_PROCESS
    note = guests.reason
    if guests.contained:
        note = GUEST_ROOT if tier == "Sealed" else None
    return Route(name, bool(artifacts), guests.contained, mechanism, note, artifacts)
