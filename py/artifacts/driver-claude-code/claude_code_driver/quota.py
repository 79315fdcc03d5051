"""The windows of a subscription, from a `rate_limit_event` line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from murmur_guest.untyped import mapping
from murmur_harness.contract import Quota, QuotaState
from murmur_harness.lines import count, fraction, text

_STATES: dict[str, QuotaState] = {
    "allowed": "ok",
    "allowed_warning": "warning",
    "rejected": "exhausted",
}
_HOUR = 60
_DAY = 24 * _HOUR


def windows(event: Mapping[str, Any]) -> list[Quota]:
    """Each window that the line names. The state is known of the one alone that decides."""
    info = mapping(event.get("rate_limit_info"))
    deciding = text(info.get("rateLimitType"))
    state = _STATES.get(text(info.get("status")))
    found = {
        text(name): mapping(window) for name, window in mapping(info.get("unifiedWindows")).items()
    }
    if deciding:
        found[deciding] = {**info, **found.get(deciding, {})}
    return [
        Quota(
            name=name,
            used=fraction(window.get("utilization")),
            resets_at=count(window.get("resetsAt")),
            window_minutes=_minutes(name),
            state=state if name == deciding else None,
        )
        for name, window in found.items()
        if name
    ]


def _minutes(name: str) -> int | None:
    if name == "five_hour":
        return 5 * _HOUR
    # Also of one model alone: seven_day_opus.
    if name == "seven_day" or name.startswith("seven_day_"):
        return 7 * _DAY
    return None
