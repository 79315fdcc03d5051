"""Fields that several events share."""

from typing import Final

from murmur.trace.catalogue import Kind, field, nullable, optional

ERROR_BYTES: Final = 2000
TURN: Final = field("turn", Kind.U32, "number of the turn within its task, from 0")
TASK: Final = nullable("task_id", Kind.TEXT, "the task the line belongs to")
DURATION: Final = field("duration_ms", Kind.U64, "how long it took")
STATUS: Final = field("status", Kind.TEXT, "whether it succeeded", "ok", "error")
TRUST: Final = field("trust", Kind.TEXT, "trust class", "trusted", "untrusted")
ORIGIN: Final = optional("origin", Kind.TEXT, "`hook:<name>` for a hook's own call")
RESOURCE_LIMIT: Final = optional(
    "resource_limit",
    Kind.TEXT,
    "the one limit that ended it, where evidence names exactly one",
    "cpu_seconds",
    "max_file_size_bytes",
    "cgroup_memory_bytes",
    "cgroup_pids_max",
)
