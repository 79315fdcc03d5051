"""The bounds of a capsule's commands. spec/containment.md 20."""

import dataclasses
import os
from typing import Final

from murmur.sandbox.launchspec import Limit

_GIB: Final = 1 << 30
_MIB: Final = 1 << 20

# Linux numbers, the same on x86-64 and aarch64 (Python's `resource` module is absent on Windows).
RLIMIT_CPU: Final = 0
RLIMIT_FSIZE: Final = 1
RLIMIT_CORE: Final = 4
RLIMIT_NPROC: Final = 6
RLIMIT_NOFILE: Final = 7
RLIMIT_AS: Final = 9


@dataclasses.dataclass(frozen=True, slots=True)
class Resources:
    """`capabilities.resources`, with its defaults. Bytes, seconds, percent of one processor."""

    max_open_files: int = 1024
    max_file_size_bytes: int = 4 * _GIB
    cpu_seconds: int = 3600
    memory_bytes: int = 2 * _GIB
    max_processes: int = 128
    cgroup_memory_bytes: int = 4 * _GIB
    cgroup_pids_max: int = 256
    cgroup_cpu_percent: int = 200
    cgroup_io_bytes_per_sec: int = 100 * _MIB
    workdir_max_bytes: int = 10 * _GIB


def limits(resources: Resources) -> tuple[Limit, ...]:
    """The rlimits of each command's process.

    Soft equals hard but for the processor time: at the hard limit the kernel kills with SIGKILL,
    which says nothing, so the hard one stands a second above and SIGXCPU names the cause.
    """
    return (
        Limit(RLIMIT_NOFILE, resources.max_open_files, resources.max_open_files),
        Limit(RLIMIT_FSIZE, resources.max_file_size_bytes, resources.max_file_size_bytes),
        Limit(RLIMIT_CPU, resources.cpu_seconds, resources.cpu_seconds + 1),
        Limit(RLIMIT_AS, resources.memory_bytes, resources.memory_bytes),
        Limit(RLIMIT_CORE, 0, 0),
    )


def process_limit(resources: Resources) -> Limit:
    """RLIMIT_NPROC, which stands in for pids.max where there is no scope: tasks now + value."""
    most = tasks_of_user() + resources.max_processes
    return Limit(RLIMIT_NPROC, most, most)


def tasks_of_user() -> int:
    """How many tasks (threads included) belong to this real uid, as far as /proc shows."""
    uid, count = os.getuid(), 0
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            if os.stat(entry.path).st_uid == uid:
                count += len(os.listdir(f"{entry.path}/task"))
        except OSError:
            continue
    return count
