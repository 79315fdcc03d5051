"""The session's cgroup scope: one bound around all of its commands. spec/containment.md 19.

v2 where it has the controllers, else v1 (design/decisions.md 4); both behind `Scope`.
"""

import dataclasses
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from murmur.core.diagnostics import error
from murmur.sandbox import cgroup_v1, cgroup_v2
from murmur.sandbox.delegation import delegated_facts
from murmur.sandbox.hierarchy import Blocked, Counter, Facts, read_facts
from murmur.sandbox.resources import Resources

_REMOVE_S: Final = 2.0
_serial = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Events:
    """Counters of the scope: processes killed for memory, and forks refused for their number."""

    oom_kill: int
    pids_max: int


@dataclasses.dataclass(slots=True)
class Scope:
    """A session's scope. `procs` are descriptors of its cgroup.procs files, write-only.

    `io_refusal` says why the I/O bound is not in force (W-SEC-021), None when it is.
    """

    hierarchy: str
    folders: tuple[Path, ...]
    procs: tuple[int, ...]
    io_refusal: str | None
    swap_bounded: bool
    _counters: tuple[Counter, Counter]
    _closed: bool = False

    def events(self) -> Events:
        """The counters now; zero for a file that the kernel does not have."""
        oom_kill, pids_max = self._counters
        return Events(oom_kill.read(), pids_max.read())

    def kill(self) -> bool:
        """SIGKILL to every process in the scope; whether it is empty afterwards."""
        kill = cgroup_v2.kill if self.hierarchy == "v2" else cgroup_v1.kill
        return kill(self.folders)

    def remove(self) -> bool:
        """Closes and removes the scope; whether all of it is gone. Safe to call again."""
        if not self._closed:
            for descriptor in self.procs:
                os.close(descriptor)
            for counter in self._counters:
                counter.close()
            self._closed = True
        return remove_folders(self.folders)


def create_scope(session_id: str, limits: Resources, workdir: str = "/") -> Scope:
    """Makes the scope of a session; `workdir` decides which disk the I/O bound is for.

    Raises E-RUN-012 with the reason on each hierarchy when neither can hold it.
    """
    try:
        return try_scope(session_id, limits, workdir)
    except Blocked as blocked:
        raise error("E-RUN-012", reason=blocked.reason) from blocked


def try_scope(session_id: str, limits: Resources, workdir: str = "/") -> Scope:
    """As create_scope, but raises hierarchy.Blocked: for those who waive it or only report."""
    facts = delegated_facts()
    name = _name(session_id)
    reasons: list[str] = []
    number: int | None = None
    for label, back_end in (("v2", cgroup_v2), ("v1", cgroup_v1)):
        folders: list[Path] = []
        try:
            io_refusal, swap = back_end.create(facts, name, limits, workdir, folders)
            procs = open_procs(folders)
            counters = back_end.counters(folders)
            return Scope(label, tuple(folders), procs, io_refusal, swap, counters)
        except Blocked as blocked:
            number = number or blocked.error
            reasons.append(f"cgroup {label}: {blocked.reason}")
        except OSError as failure:
            number = number or failure.errno
            where = failure.filename or name
            reasons.append(f"cgroup {label}: {where}: {failure.strerror}")
        remove_folders(folders)
    raise Blocked("; ".join(reasons), number)


def open_procs(folders: Sequence[Path]) -> tuple[int, ...]:
    """Descriptors of the folders' cgroup.procs. Raises OSError, with none left open."""
    opened: list[int] = []
    try:
        for folder in folders:
            opened.append(os.open(folder / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC))
    except OSError:
        for descriptor in opened:
            os.close(descriptor)
        raise
    return tuple(opened)


def remove_folders(folders: Sequence[Path]) -> bool:
    """Removes empty cgroups; the kernel may need a moment after the last process died."""
    deadline = time.monotonic() + _REMOVE_S
    left = list(folders)
    while left:
        left = [folder for folder in left if not _remove(folder)]
        if not left or time.monotonic() > deadline:
            break
        time.sleep(0.01)
    return not left


def _remove(folder: Path) -> bool:
    try:
        os.rmdir(folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _name(session_id: str) -> str:
    global _serial
    _serial += 1
    safe = re.sub(r"[^A-Za-z0-9_-]", "-", session_id)
    return f"murmur-{safe}-{os.getpid()}-{_serial}"


def sweep(facts: Facts | None = None) -> int:
    """Removes empty scopes whose runtime is dead (it was killed); how many folders went."""
    facts = facts or read_facts()
    gone = 0
    for base in {*cgroup_v2.bases(facts), *cgroup_v1.bases(facts)}:
        try:
            entries = list(os.scandir(base))
        except OSError:
            continue
        for entry in entries:
            match = re.fullmatch(r"murmur-.+-(\d+)-\d+", entry.name)
            if match and not os.path.exists(f"/proc/{match[1]}"):
                gone += _remove(Path(entry.path))
    return gone
