"""What one provider's Chat Completions has of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Dialect:
    """A provider and how it wants to be asked.

    `provider` is its name in errors. `members` are its own members of the body; those that are None
    are left out. `interruptions` words the finish reasons that mean a failure on its side.
    """

    provider: str
    output_cap: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    takes_cache_key: bool = False
    replays_reasoning: bool = False
    members: Mapping[str, Any] = field(default_factory=dict)
    interruptions: Mapping[str, str] = field(default_factory=dict)
