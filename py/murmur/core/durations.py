"""Moments and durations as the reference writes them."""

import datetime


def rfc3339(moment: float) -> str:
    """Unix seconds as UTC with milliseconds, for example `2026-01-02T03:04:05.678Z`."""
    stamp = datetime.datetime.fromtimestamp(moment, datetime.UTC)
    return stamp.strftime("%Y-%m-%dT%H:%M:%S.") + f"{stamp.microsecond // 1000:03d}Z"
