"""Calls that read again what nothing had changed since. spec/observability.md 9."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_PATH_KEYS: Final = ("path", "file", "file_path", "filepath", "filename")


@dataclass(frozen=True, slots=True)
class RedundantCall:
    """Where such a call was made, with what tool (a plan step has none), and the earlier read."""

    site: str
    tool: str | None
    resource: str
    earlier: str

    def row(self) -> str:
        """The row that `mur trace show` prints."""
        parts = [self.site, *([self.tool] if self.tool else []), self.resource]
        return f"  {'  '.join(parts)}  (re-reads {self.earlier})"


class ReadHistory:
    """Which site read each resource last; turns and plan steps share it."""

    def __init__(self) -> None:
        self._read_at: dict[str, str] = {}

    def take(self, event: Mapping[str, Any]) -> RedundantCall | None:
        """The redundant call that this line is, or None. Other lines than calls change nothing."""
        kind = event.get("event_type")
        if kind == "tool_call":
            site, tool = f"turn {event.get('turn')}", str(event.get("tool_name"))
        elif kind == "plan_step" and event.get("status") == "success":
            site, tool = f"plan {event.get('plan_id')}/{event.get('step_id')}", None
        else:
            return None
        resource = _resource(event)
        if resource is None:
            return None
        if event.get("state_effect") != "read":
            self._read_at.pop(resource, None)
            return None
        earlier = self._read_at.get(resource)
        self._read_at[resource] = site
        return None if earlier is None else RedundantCall(site, tool, resource, earlier)


def _resource(event: Mapping[str, Any]) -> str | None:
    """What the call touched: its own word, else the first path among its input's keys."""
    named = event.get("resource_id")
    if isinstance(named, str) and named:
        return named
    given = event.get("input")
    if not isinstance(given, dict):
        return None
    lowered: dict[str, str] = {}
    for key, value in given.items():
        if isinstance(value, str):
            lowered.setdefault(key.lower(), value)
    return next((lowered[key] for key in _PATH_KEYS if key in lowered), None)
