"""The cgroup v2 back end of a scope. spec/containment.md 19.1 and 19.2."""

import errno
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from murmur.sandbox.hierarchy import Blocked, Counter, Facts, disk_of, members, write
from murmur.sandbox.resources import Resources

_NEEDED: Final = ("memory", "pids", "cpu")
_SUPERVISOR: Final = "murmur-supervisor"
_ENABLE_S: Final = 2.0
_KILL_S: Final = 5.0


def bases(facts: Facts) -> tuple[Path, ...]:
    """The folder below which scopes are made."""
    if facts.unified is None:
        return ()
    own = facts.unified
    return (own.parent if own.name == _SUPERVISOR else own,)


def create(
    facts: Facts, name: str, limits: Resources, workdir: str, folders: list[Path]
) -> tuple[str | None, bool]:
    """Makes the scope and appends its folder; (why no I/O bound, whether swap is bounded).

    Raises Blocked or OSError; the caller removes what was appended.
    """
    if not bases(facts):
        raise Blocked("not mounted")
    (base,) = bases(facts)
    available = _words(base / "cgroup.controllers")
    missing = [each for each in _NEEDED if each not in available]
    if missing:
        raise Blocked(f"{base} has no controller {', '.join(missing)}")
    _try_delegation(base)
    _enable(base, [*_NEEDED, *(["io"] if "io" in available else [])])
    scope = base / name
    os.mkdir(scope)
    folders.append(scope)
    write(scope / "memory.max", str(limits.cgroup_memory_bytes))
    swap_bounded = (scope / "memory.swap.max").exists()
    if swap_bounded:
        write(scope / "memory.swap.max", "0")
    write(scope / "pids.max", str(limits.cgroup_pids_max))
    write(scope / "cpu.max", f"{limits.cgroup_cpu_percent * 1000} 100000")
    return _bound_io(scope, limits, workdir), swap_bounded


def _try_delegation(base: Path) -> None:
    """Whether a cgroup can be made there, before anything about it is changed."""
    tried = base / f"murmur-delegation-probe-{os.getpid()}"
    try:
        os.mkdir(tried)
        os.rmdir(tried)
    except OSError as failure:
        raise Blocked(
            f"{base} is not delegated to this user: mkdir: {failure.strerror}", failure.errno
        ) from failure


def _words(path: Path) -> list[str]:
    try:
        return path.read_text("ascii").split()
    except OSError:
        return []


def _enable(base: Path, controllers: Sequence[str]) -> None:
    """Turns the controllers on for the base's children; at EBUSY this process steps aside, with
    those that it has started, such as the guests' zygote. Somebody else's stay where they are."""
    control = base / "cgroup.subtree_control"
    wanted = [each for each in controllers if each not in _words(control)]
    if not wanted:
        return
    text = " ".join(f"+{each}" for each in wanted)
    deadline = time.monotonic() + _ENABLE_S
    while True:
        try:
            write(control, text)
            return
        except OSError as failure:
            if failure.errno != errno.EBUSY or time.monotonic() > deadline:
                raise
        aside = base / _SUPERVISOR
        aside.mkdir(exist_ok=True)
        for pid in members(base):
            if _ours(pid):
                _move(pid, aside)
        time.sleep(0.02)


def _ours(pid: int) -> bool:
    """Whether this process, or one that descends from it, has the number."""
    while pid > 1:
        if pid == os.getpid():
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            return False
    return False


def _move(pid: int, folder: Path) -> None:
    try:
        write(folder / "cgroup.procs", str(pid))
    except ProcessLookupError:
        pass


def _bound_io(scope: Path, limits: Resources, workdir: str) -> str | None:
    bytes_per_second = limits.cgroup_io_bytes_per_sec
    try:
        device = disk_of(workdir)
        write(scope / "io.max", f"{device} rbps={bytes_per_second} wbps={bytes_per_second}")
    except Blocked as blocked:
        return blocked.reason
    except OSError as failure:
        return f"io.max: {failure.strerror}"
    return None


def counters(folders: Sequence[Path]) -> tuple[Counter, Counter]:
    """Where the kernel counts (processes killed for memory, forks refused)."""
    (scope,) = folders
    return Counter(scope / "memory.events", "oom_kill"), Counter(scope / "pids.events", "max")


def kill(folders: Sequence[Path]) -> bool:
    """Kills all members: cgroup.kill (5.14), else one by one; whether none is left."""
    (scope,) = folders
    deadline = time.monotonic() + _KILL_S
    while members(scope):
        try:
            write(scope / "cgroup.kill", "1")
        except OSError:
            for pid in members(scope):
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True
