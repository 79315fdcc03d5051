"""From an engine error to a failure with the reference's words (spec/sessions.md 25;
spec/artifacts.md 6).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from murmur.guest.calls import FailureKind, GuestCall, GuestFailure
from murmur.guest.questions import MANAGE_INTERFACE

_FRAME = re.compile(r"^\s*\d+:\s+(0x[0-9a-f]+ - .*)$", re.MULTILINE)
_TOO_LARGE = re.compile(r"(memory|table) minimum size of (\d+) (bytes|pages|elements) exceeds")
_TOO_MANY = re.compile(r"resource limit exceeded: instance count too high at (\d+)")
_PAGE = 65536


@dataclass(frozen=True, slots=True)
class Denial:
    """A growth that a limit refused: the `capabilities.limits` key, the wanted size, the limit."""

    field: str
    wanted: int
    limit: int


def deadline_failure(
    call: GuestCall, stderr: str = "", backtrace: tuple[str, ...] = ()
) -> GuestFailure:
    """The call ran past `deadline_seconds`."""
    field = "capabilities.limits.deadline_seconds"
    seconds = f"{call.limits.deadline_seconds:g}"
    return GuestFailure(
        "deadline",
        f"{call.subject} exceeded its {seconds}s execution deadline ({field})",
        backtrace,
        stderr,
        field,
    )


def load_failure(call: GuestCall, reason: str, stderr: str = "") -> GuestFailure:
    """The component could not be loaded or instantiated."""
    return GuestFailure("load", f"{call.subject} could not be loaded: {reason}", (), stderr)


def unlinked_failure(
    call: GuestCall, interface: str, served: str | None, stderr: str = ""
) -> GuestFailure:
    """The component imports an interface that its role is not linked with; `served` is the version
    of the same one that is.
    """
    here = f"{served} is served" if served else "nothing of that name is served"
    mend = "rebuild it, or `mur install` a version that fits"
    if call.role == "tool" and interface == MANAGE_INTERFACE:
        here = "it is served in the session of an http agent that declares capabilities.install"
        mend = "declare there what it may install, or do without the tool"
    return GuestFailure(
        "unlinked",
        f"{call.subject} could not be loaded: it imports {interface}, but {here}; {mend}",
        (),
        stderr,
        interface,
    )


def absence(call: GuestCall) -> GuestFailure:
    """The component has not that function."""
    function = call.function.replace("#", " has no ")
    return GuestFailure("absent", f"{call.subject}: its {function}", field=call.function)


def trap_failure(call: GuestCall, reason: str, stderr: str = "") -> GuestFailure:
    """The call was ended for what the guest did."""
    return GuestFailure("trap", f"{call.subject} trapped: {reason}", (), stderr)


def crash_failure(call: GuestCall, how: str) -> GuestFailure:
    """The host process ended under the call."""
    return trap_failure(call, f"its guest host ended ({how})")


def classify(
    call: GuestCall, error: str, denial: Denial | None, stderr: str, *, loading: bool = False
) -> GuestFailure:
    """Names what stopped a guest, from the engine's error text.

    The first refused growth decides ahead of the trap (spec/sessions.md 25). `loading` is true
    until the component is instantiated: what is neither a limit, nor the deadline, nor a trap of
    its start code is then a load failure.
    """
    backtrace = tuple(_FRAME.findall(error))
    denial = denial or _denied_at_instantiation(call, error)
    if denial is not None:
        return GuestFailure(
            "resource",
            f"{call.subject} exceeded configured resource limits: {denial.wanted} wanted,"
            f" capabilities.limits.{denial.field} is {denial.limit}",
            backtrace,
            stderr,
            f"capabilities.limits.{denial.field}",
        )
    if "wasm trap: interrupt" in error:
        return deadline_failure(call, stderr, backtrace)
    kind: FailureKind = "trap"
    if loading and "wasm trap" not in error and not backtrace:
        return load_failure(call, ": ".join(_reasons(error)), stderr)
    return GuestFailure(kind, f"{call.subject} trapped: {_reasons(error)[-1]}", backtrace, stderr)


def _denied_at_instantiation(call: GuestCall, error: str) -> Denial | None:
    large = _TOO_LARGE.search(error)
    if large is not None:
        wanted = int(large[2]) * (_PAGE if large[3] == "pages" else 1)
        if large[1] == "memory":
            return Denial("memory_bytes", wanted, call.limits.memory_bytes)
        return Denial("table_elements", wanted, call.limits.table_elements)
    many = _TOO_MANY.search(error)
    if many is not None:
        return Denial("instances", int(many[1]), call.limits.instances)
    return None


def _reasons(error: str) -> list[str]:
    """An engine error's reasons, outermost first, without the backtrace."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    if not lines:
        return ["no reason given"]
    causes = lines[lines.index("Caused by:") + 1 :] if "Caused by:" in lines else []
    return [lines[0], *(re.sub(r"^\d+: ", "", cause) for cause in causes)]
