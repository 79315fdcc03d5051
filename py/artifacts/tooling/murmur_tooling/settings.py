"""A tool's `config:` block, as the runtime hands it over in MURMUR_ARTIFACT_CONFIG."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from murmur_tooling.members import Members, ToolError

VARIABLE = "MURMUR_ARTIFACT_CONFIG"

Settings = TypeVar("Settings")


def configured(
    environ: Mapping[str, str], known: Sequence[str], read: Callable[[Members], Settings]
) -> Settings:
    """What `read` makes of the block, which is empty where the entry has none.

    Raises ToolError `config_invalid` naming the key, what is wrong with it and what is allowed.
    """
    try:
        block = json.loads(environ.get(VARIABLE, "{}"))
    except ValueError:
        raise _invalid("config: it is not JSON") from None
    if not isinstance(block, dict):
        raise _invalid("config: it must be a mapping")
    for key in block:
        if key not in known:
            raise _invalid(f"config.{key}: unknown; the keys are {', '.join(known)}")
    try:
        return read(Members(block))
    except ToolError as problem:
        raise _invalid(f"config.{problem}") from None


def _invalid(reason: str) -> ToolError:
    return ToolError("config_invalid", f"{reason}. It stands in this artifact's manifest entry")
