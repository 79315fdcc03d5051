"""Limits of component calls and of native commands, with their defaults.

seeds/manifest-schema.md, `capabilities.limits` and `capabilities.resources`; spec/sessions.md 25.
"""

from dataclasses import dataclass
from typing import Final

CALL_DEADLINE_SECONDS: Final = 600
HOOK_DEADLINE_SECONDS: Final = 30


@dataclass(frozen=True, slots=True)
class Limits:
    """Ceilings of one call of a WASM component. Sizes are bytes, the deadline is seconds."""

    memory_bytes: int = 512 << 20
    table_elements: int = 100_000
    instances: int = 1000
    deadline_seconds: int | None = None

    @property
    def call_deadline(self) -> int:
        """Seconds that a capsule, tool or driver call may take."""
        return self.deadline_seconds or CALL_DEADLINE_SECONDS

    @property
    def hook_deadline(self) -> int:
        """Seconds that one hook call may take; a declared value replaces this default too."""
        return self.deadline_seconds or HOOK_DEADLINE_SECONDS


@dataclass(frozen=True, slots=True)
class Resources:
    """Ceilings of native commands: rlimits of each, cgroup limits of all together.

    `declared` names the fields that the manifest itself sets.
    """

    max_processes: int = 128
    max_open_files: int = 1024
    max_file_size_bytes: int = 4 << 30
    cpu_seconds: int = 3600
    memory_bytes: int = 2 << 30
    cgroup_memory_bytes: int = 4 << 30
    cgroup_pids_max: int = 256
    cgroup_cpu_percent: int = 200
    cgroup_io_bytes_per_sec: int = 100 << 20
    workdir_max_bytes: int = 10 << 30
    declared: frozenset[str] = frozenset()

    @property
    def declares_cgroup(self) -> bool:
        """Whether any `cgroup_*` field is set by the manifest."""
        return any(name.startswith("cgroup_") for name in self.declared)
