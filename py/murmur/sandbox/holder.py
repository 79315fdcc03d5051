"""The holder: pid 1 of a session's namespaces, kept alive by the runtime's end of a pipe."""

import dataclasses
import os
import select
import signal
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from murmur.sandbox import reports
from murmur.sandbox.launchspec import LaunchSpec, encode, memfd
from murmur.sandbox.mur_sandbox import END_S, above_stdio, reap, spawn
from murmur.sandbox.policy import CommandPolicy
from murmur.sandbox.reports import Report
from murmur.sandbox.results import RootNotComposed, SetUpFailed

_START_S: Final = 20.0
_COMPLAINT_BYTES: Final = 1024
_SEALED_ROOT: Final = "sealed-root"  # the step of all that composes a root, c/sandbox/root.c


@dataclasses.dataclass(slots=True)
class Holder:
    """A held session: descriptors that each command's launch spec names.

    `pidfd` is the session's pid 1, `workdir` the work folder through the session's mounts,
    `ruleset` its Landlock rules (-1 below the Full tier). `memfd_noexec`: the kernel keeps memfds
    from being executed, so the filter need not refuse them. `way_out` are the DNS socket and the
    listeners of its network, for whoever serves them to keep and to close.
    """

    pidfd: int
    workdir: int
    ruleset: int
    memfd_noexec: bool
    way_out: tuple[socket.socket, ...]
    _lifeline: int

    @property
    def alive(self) -> bool:
        return not _ended(self.pidfd, 0)

    def end(self) -> bool:
        """Kills pid 1 and with it every process of the session; whether that is so within bounds.

        Safe to call again.
        """
        if self._lifeline < 0:
            return True
        os.close(self._lifeline)
        self._lifeline = -1
        try:
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        except ProcessLookupError:
            pass
        gone = _ended(self.pidfd, END_S)
        try:  # it is ours to reap only if this process adopts orphans
            os.waitid(os.P_PIDFD, self.pidfd, os.WEXITED | os.WNOHANG)
        except OSError:
            pass
        for descriptor in (self.pidfd, self.workdir, self.ruleset):
            if descriptor >= 0:
                os.close(descriptor)
        return gone


def _ended(pidfd: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def start_holder(
    helper: Path, policy: CommandPolicy, devnull: int, ports: Sequence[int] | None = None
) -> Holder:
    """Makes the session's namespaces, mounts and ruleset; with `ports`, its way out as well.

    Raises SetUpFailed with the failing step, RootNotComposed where that is the composed root, and
    OSError when the helper cannot be started.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    lifeline_read, lifeline_write = os.pipe2(os.O_CLOEXEC)
    lifeline_read, lifeline_write = above_stdio(lifeline_read), above_stdio(lifeline_write)
    report_fd = above_stdio(theirs.detach())
    complaint = above_stdio(os.memfd_create("complaint", os.MFD_CLOEXEC))
    spec_fd = -1
    try:
        spec = _hold_spec(policy, report_fd, lifeline_read, ports)
        spec_fd = above_stdio(memfd(encode(spec)))
        pid = spawn(
            helper,
            ["hold", str(spec_fd)],
            (devnull, devnull, complaint),
            (spec_fd, report_fd, lifeline_read),
        )
    except BaseException:
        os.close(lifeline_write)
        os.close(complaint)
        ours.close()
        raise
    finally:
        for descriptor in (report_fd, lifeline_read, spec_fd):
            if descriptor >= 0:
                os.close(descriptor)
    try:
        report = _first_report(ours)
    except OSError as failure:
        os.close(lifeline_write)
        os.close(complaint)
        raise SetUpFailed(f"holder: no word from the helper: {failure}") from failure
    finally:
        ours.close()
        reap(pid)
    said = os.pread(complaint, _COMPLAINT_BYTES, 0).decode("utf-8", "replace").strip()
    os.close(complaint)
    if report is None or report.kind != "READY":
        os.close(lifeline_write)
        raise _failed(report, said)
    return _held(report, lifeline_write)


def _failed(report: Report | None, said: str) -> SetUpFailed:
    """Why there is no holder; `said` is what the helper had to say of a spec that it cannot use."""
    if report is None:
        return SetUpFailed(f"holder: {said or 'it ended without a word'}")
    if report.step != _SEALED_ROOT:
        return SetUpFailed(report.detail)
    reason = f"{os.strerror(report.error)} (errno {report.error})"
    return RootNotComposed(report.detail, f"{report.call} {report.argument}".strip(), reason)


def _hold_spec(
    policy: CommandPolicy, report_fd: int, lifeline_fd: int, ports: Sequence[int] | None
) -> LaunchSpec:
    flags = []
    if policy.tier == "Sealed":
        flags.append("ROOT")
    elif policy.trees:
        flags.append("MOUNTS")
    if policy.private_proc:
        flags.append("PROC")
    landlock = policy.tier in ("Full", "Sealed")
    if landlock:
        flags.append("LANDLOCK")
    if ports is not None:
        flags.append("EGRESS")
    workdir = next(each for each in policy.rules if each.path == policy.folders.workdir)
    return LaunchSpec(
        verb="HOLD",
        flags=flags,
        report_fd=report_fd,
        lifeline_fd=lifeline_fd,
        cwd=policy.folders.workdir,
        cwd_device=workdir.device,
        cwd_inode=workdir.inode,
        trees=policy.trees,
        rules=policy.rules if landlock else (),
        ports=ports or (),
    )


def _first_report(channel: socket.socket) -> Report | None:
    channel.settimeout(_START_S)
    return reports.receive(channel)


def _held(report: Report, lifeline: int) -> Holder:
    pidfd, workdir, *rest = (above_stdio(each) for each in report.descriptors)
    ruleset = rest.pop(0) if "RULESET" in report.facts else -1
    return Holder(
        pidfd=pidfd,
        workdir=workdir,
        ruleset=ruleset,
        memfd_noexec="MEMFD_NOEXEC" in report.facts,
        way_out=tuple(socket.socket(fileno=each) for each in rest),
        _lifeline=lifeline,
    )
