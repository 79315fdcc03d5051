"""Whether a tool's input names a protected path as its destination."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from murmur_hooking.patterns import DEFAULT_PROTECT, Patterns
from murmur_hooking.settings import read_config, texts

from murmur.read_only.check import tool_write
from murmur.read_only.declarations import read_declarations


@dataclass(frozen=True)
class Policy:
    """The hook's settings. `tools` None is every tool."""

    patterns: Patterns
    tools: tuple[str, ...] | None = None


def read_policy(environ: Mapping[str, str]) -> Policy:
    """The settings in force. Raises BadConfig."""
    config = read_config(environ, ("protect", "allow", "tools"))
    return Policy(
        Patterns(texts(config, "protect", DEFAULT_PROTECT), texts(config, "allow", ())),
        texts(config, "tools", ()) if "tools" in config else None,
    )


def refusal(policy: Policy, tool: str, given: str) -> str | None:
    """Why the call may not be made, or None. `given` is the input's JSON text."""
    if policy.tools is not None and tool not in policy.tools:
        return None
    try:
        value = json.loads(given)
    except ValueError:
        return "its input cannot be read"
    found = tool_write(policy.patterns, read_declarations(None), value)
    if found is None:
        return None
    return f"{found.path} is protected by {found.rule} ({found.signal}); it can still be read"
