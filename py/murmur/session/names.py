"""Names that a declared artifact may not take: the runtime's own tools, and each other's."""

from typing import Final

from murmur.core.diagnostics import error
from murmur.manifest.capsule import Capsule

RUNTIME_TOOLS: Final = (
    "background-command",
    "call-member",
    "delegate-task",
    "end-without-answer",
    "fetch-peer-file",
    "session-status",
    "share-file",
    "submit-plan",
    "switch-driver",
)


def check_names(capsule: Capsule) -> None:
    """Raises E-CAP-013 for a runtime tool's name, E-CAP-020 for two of one bare name."""
    seen: dict[str, str] = {}
    for entry in capsule.artifacts:
        bare = entry.bare_name
        if bare in RUNTIME_TOOLS:
            raise error("E-CAP-013", artifact=entry.name, reserved=", ".join(RUNTIME_TOOLS))
        if bare in seen:
            raise error("E-CAP-020", first=seen[bare], second=entry.name, bare=bare)
        seen[bare] = entry.name
