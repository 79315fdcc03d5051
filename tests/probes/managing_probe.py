"""tool_probe with steps of murmur:artifact-manager besides: a tool that installs and removes."""

import importlib
from collections.abc import Callable
from typing import Any

# By name, as in tool_probe.
manage = importlib.import_module("wit_world.imports.manage")
tool_probe = importlib.import_module("tool_probe")

Run = tool_probe.Run

DOES: dict[str, Callable[..., Any]] = tool_probe.DOES
DOES |= {
    "list": lambda: [each.name for each in manage.list()],
    "pull": lambda name, version: manage.pull(name, version).name,
    "remove": manage.remove,
}
