"""Runs of a driver in plain Python: its lines one after the other, and requests to launch it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from murmur_harness.contract import Bridge, Event, HarnessDriver, LaunchRequest

BRIDGE = Bridge(
    server_name="claude_bridge",
    url="http://127.0.0.1:4711/bridge",
    bearer_token="0123456789abcdef0123456789abcdef",
    tool_names=("tool-editor", "git"),
)
SESSION = "5d3f9b62-5ef4-4a3e-9a53-0d6c6a1b7c11"
REQUEST = LaunchRequest(
    task="Fix it", session_id=SESSION, system_prompt="You are a capsule.", bridge=BRIDGE
)


def request(**members: Any) -> LaunchRequest:
    """A request like REQUEST but for the members."""
    return replace(REQUEST, **members)


def read(driver: HarnessDriver, lines: Iterable[object]) -> list[Event]:
    """The events of lines: text as it stands, everything else as its JSON."""
    events: list[Event] = []
    for line in lines:
        events += driver.read(line if isinstance(line, str) else json.dumps(line))
    return events


def after(arguments: tuple[str, ...], flag: str) -> str:
    """The argument that follows a flag."""
    return arguments[arguments.index(flag) + 1]
