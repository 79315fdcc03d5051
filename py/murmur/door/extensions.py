"""Murmur's three A2A extensions, each named by a URI. spec/door.md 6, 15."""

from collections.abc import Iterable
from typing import Final

_REFERENCE: Final = "https://docs.murmur.nexus/reference/"

DOOR: Final = _REFERENCE + "agent-card/#murmur-door-v1"
CAPSULE: Final = _REFERENCE + "agent-card/#murmur-capsule-v1"
STREAM: Final = _REFERENCE + "streaming-protocol/#murmur-stream-v1"

HEADER: Final = "a2a-extensions"


def asked_for(header_lines: Iterable[str], uri: str) -> bool:
    """Whether a request's `A2A-Extensions` header lines, each a list, name `uri`."""
    return any(uri == item.strip() for line in header_lines for item in line.split(","))
