"""Starting the guests' zygote in namespaces of its own. design/decisions.md 7 and 10."""

import dataclasses
import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from murmur.sandbox import reports
from murmur.sandbox.launchspec import LaunchSpec, encode, memfd
from murmur.sandbox.mur_sandbox import above_stdio, reap, spawn
from murmur.sandbox.reports import Report
from murmur.sandbox.results import SetUpFailed

_START_S: Final = 20.0
_NAMESPACE_STEPS: Final = frozenset({"namespaces", "id map", "network"})


@dataclasses.dataclass(frozen=True, slots=True)
class GuestsProcess:
    """The zygote: a child of this process. `listener` listens on 127.0.0.1 in the guests' network
    (the host's where `contained` is false, and `reason` says why) and is the runtime's to serve."""

    pid: int
    listener: socket.socket
    contained: bool
    reason: str | None


def start_zygote(helper: Path, argv: Sequence[str], control: socket.socket) -> GuestsProcess:
    """Executes `argv` (an absolute path first) with an empty environment and `control` as its
    descriptor 3, in user, network, ipc and uts namespaces of its own where the host makes them.

    Call it from the main thread: the zygote dies with the thread that started it. Its standard
    input is empty; output and errors go where the runtime's errors go. Raises SetUpFailed for a
    failure that has nothing to do with namespaces, and OSError when the helper cannot be started.
    """
    pid, report = _start(helper, argv, control, namespaces=True)
    reason: str | None = None
    if report.kind == "FAILED" and report.step in _NAMESPACE_STEPS:
        reason = report.detail
        reap(pid)
        pid, report = _start(helper, argv, control, namespaces=False)
    if report.kind != "READY" or len(report.descriptors) != 1:
        reap(pid)
        raise SetUpFailed(report.detail)
    listener = socket.socket(fileno=above_stdio(report.descriptors[0]))
    return GuestsProcess(pid, listener, reason is None, reason)


def _start(
    helper: Path, argv: Sequence[str], control: socket.socket, *, namespaces: bool
) -> tuple[int, Report]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    report_fd = above_stdio(theirs.detach())
    control_fd = above_stdio(os.dup(control.fileno()))
    devnull = above_stdio(os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC))
    errors = above_stdio(_own_errors())
    spec_fd = -1
    try:
        spec = LaunchSpec(
            verb="GUESTS",
            flags=["NAMESPACES"] if namespaces else [],
            report_fd=report_fd,
            control_fd=control_fd,
            parent_pid=os.getpid(),
            program=argv[0],
            arguments=argv,
        )
        spec_fd = above_stdio(memfd(encode(spec)))
        pid = spawn(
            helper,
            ["guests", str(spec_fd)],
            (devnull, errors, errors),
            (spec_fd, report_fd, control_fd),
        )
    except BaseException:
        ours.close()
        raise
    finally:
        for descriptor in (report_fd, control_fd, devnull, errors, spec_fd):
            if descriptor >= 0:
                os.close(descriptor)
    with ours:
        ours.settimeout(_START_S)
        return pid, _read(ours, pid)


def _own_errors() -> int:
    try:
        return os.dup(2)
    except OSError:  # the runtime was started without
        return os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)


def _read(channel: socket.socket, pid: int) -> Report:
    """READY once exec has succeeded too: then the socket closes; else what failed."""
    try:
        report = reports.receive(channel)
        if report is None:
            reap(pid)
            raise SetUpFailed("guests: the helper ended without a word")
        if report.kind == "READY":
            after = reports.receive(channel)
            if after is not None:
                for descriptor in report.descriptors:
                    os.close(descriptor)
                return after
        return report
    except TimeoutError as late:
        reap(pid, 0.0)
        raise SetUpFailed("guests: no word from the helper") from late
