"""What the helper says through its report socket: one fixed-size record a message."""

import array
import dataclasses
import os
import socket
from collections.abc import Sequence
from typing import Any, Final

from murmur.sandbox._spec import ffi
from murmur.sandbox.launchspec import constant

_SIZE: Final = int(ffi.sizeof("struct mur_report"))
_MOST_DESCRIPTORS: Final = 4 + constant("MAX_PORTS")


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """One record: `kind` is READY, FAILED or ENDED; times in microseconds, memory in KiB."""

    kind: str
    error: int
    status: int
    facts: frozenset[str]
    user_us: int
    system_us: int
    max_rss_kib: int
    step: str
    call: str
    argument: str
    descriptors: tuple[int, ...] = ()

    @property
    def detail(self) -> str:
        """`<step>: <call> <argument>: <errno text>`, for people."""
        what = f"{self.call} {self.argument}".strip()
        return f"{self.step}: {what}: {os.strerror(self.error)} (errno {self.error})"


def _text(field: Any) -> str:
    return bytes(ffi.string(field)).decode("utf-8", "replace")


_KINDS: Final = {constant(f"REPORT_{name}"): name for name in ("READY", "FAILED", "ENDED")}
_FACTS: Final = {
    constant(f"FACT_{name}"): name for name in ("PRIVATE_PROC", "MEMFD_NOEXEC", "RULESET")
}


def decode(data: bytes, descriptors: Sequence[int] = ()) -> Report:
    """The report in `data`. Raises ValueError for anything else."""
    if len(data) != _SIZE:
        raise ValueError(f"a report of {len(data)} bytes")
    raw = ffi.new("struct mur_report *")
    ffi.buffer(raw)[:] = data
    if raw.magic != constant("REPORT_MAGIC") or raw.kind not in _KINDS:
        raise ValueError("not a report")
    return Report(
        kind=_KINDS[raw.kind],
        error=raw.error,
        status=raw.status,
        facts=frozenset(name for bit, name in _FACTS.items() if raw.facts & bit),
        user_us=raw.user_us,
        system_us=raw.system_us,
        max_rss_kib=raw.max_rss_kib,
        step=_text(raw.step),
        call=_text(raw.call),
        argument=_text(raw.argument),
        descriptors=tuple(descriptors),
    )


def receive(channel: socket.socket) -> Report | None:
    """The next report, None at end of file. Raises OSError (BlockingIOError: nothing there)."""
    try:
        data, ancillary = _receive(channel)
    except ConnectionResetError:
        # Said once, of a helper that ended with an order unread. What it said stands behind that.
        data, ancillary = _receive(channel)
    descriptors = array.array("i")
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(payload[: len(payload) // 4 * 4])
    if not data:
        return None
    return decode(data, descriptors.tolist())


def _receive(channel: socket.socket) -> tuple[bytes, list[tuple[int, int, bytes]]]:
    room = socket.CMSG_SPACE(_MOST_DESCRIPTORS * 4)
    data, ancillary, _, _ = channel.recvmsg(_SIZE, room, socket.MSG_CMSG_CLOEXEC)
    return data, ancillary
