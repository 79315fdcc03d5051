"""The cgroup v1 back end of a scope. spec/containment.md 19.4, design/decisions.md 4."""

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from murmur.sandbox.hierarchy import Blocked, Counter, Facts, disk_of, members, write
from murmur.sandbox.resources import Resources

_NEEDED: Final = ("memory", "pids", "cpu")
_OPTIONAL: Final = ("blkio", "freezer")
_KILL_S: Final = 5.0


def bases(facts: Facts) -> tuple[Path, ...]:
    """The folders below which scopes are made, one per hierarchy."""
    return tuple(
        dict.fromkeys(facts.v1[each] for each in (*_NEEDED, *_OPTIONAL) if each in facts.v1)
    )


def create(
    facts: Facts, name: str, limits: Resources, workdir: str, folders: list[Path]
) -> tuple[str | None, bool]:
    """As cgroup_v2.create, with a folder per hierarchy; co-mounted controllers share one."""
    missing = [each for each in _NEEDED if each not in facts.v1]
    if missing:
        raise Blocked(f"no hierarchy for {', '.join(missing)}")
    blocked = [str(facts.v1[each]) for each in _NEEDED if not os.access(facts.v1[each], os.W_OK)]
    if blocked:
        raise Blocked(f"not writable: {', '.join(blocked)}")
    scopes: dict[str, Path] = {}
    for controller in (*_NEEDED, *_OPTIONAL):
        base = facts.v1.get(controller)
        if base is None or (controller in _OPTIONAL and not os.access(base, os.W_OK)):
            continue
        scope = base / name
        if scope not in folders:
            os.mkdir(scope)
            folders.append(scope)
        scopes[controller] = scope
    memory = str(limits.cgroup_memory_bytes)
    write(scopes["memory"] / "memory.limit_in_bytes", memory)
    with_swap = scopes["memory"] / "memory.memsw.limit_in_bytes"
    swap_bounded = with_swap.exists()
    if swap_bounded:
        write(with_swap, memory)
    write(scopes["pids"] / "pids.max", str(limits.cgroup_pids_max))
    write(scopes["cpu"] / "cpu.cfs_period_us", "100000")
    write(scopes["cpu"] / "cpu.cfs_quota_us", str(limits.cgroup_cpu_percent * 1000))
    return _bound_io(scopes.get("blkio"), limits, workdir), swap_bounded


def _bound_io(scope: Path | None, limits: Resources, workdir: str) -> str | None:
    if scope is None:
        return "no writable blkio hierarchy"
    try:
        line = f"{disk_of(workdir)} {limits.cgroup_io_bytes_per_sec}"
        write(scope / "blkio.throttle.read_bps_device", line)
        write(scope / "blkio.throttle.write_bps_device", line)
    except Blocked as blocked:
        return blocked.reason
    except OSError as failure:
        return f"blkio.throttle: {failure.strerror}"
    return None


def counters(folders: Sequence[Path]) -> tuple[Counter, Counter]:
    """Where the kernel counts (processes killed for memory, forks refused)."""
    return (
        Counter(_with(folders, "memory.oom_control"), "oom_kill"),
        Counter(_with(folders, "pids.events"), "max"),
    )


def _with(folders: Sequence[Path], file: str) -> Path:
    return next((scope / file for scope in folders if (scope / file).exists()), Path(file))


def kill(folders: Sequence[Path]) -> bool:
    """Freezes, kills and thaws until nobody is left; without a freezer, kills until then."""
    frozen = [scope / "freezer.state" for scope in folders if (scope / "freezer.state").exists()]
    deadline = time.monotonic() + _KILL_S
    while pids := {pid for scope in folders for pid in members(scope)}:
        for state in frozen:
            _try_write(state, "FROZEN")
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        for state in frozen:
            _try_write(state, "THAWED")
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


def _try_write(path: Path, text: str) -> None:
    try:
        write(path, text)
    except OSError:
        pass
