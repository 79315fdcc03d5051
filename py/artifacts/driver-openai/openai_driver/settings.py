"""The driver's settings and which of OpenAI's two APIs a model speaks (spec/artifacts.md 16.1)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from murmur_chat.dialect import Dialect
from murmur_chat.settings import flag, read_block, switch, word

PROVIDER = "OpenAI"
KEYS = ("store", "thinking", "reasoning_effort", "verbosity")


@dataclass(frozen=True, slots=True)
class Settings:
    """`inference.driver.config`. `thinking` asks for summaries of the reasoning (Responses)."""

    store: bool = False
    thinking: bool = False
    reasoning_effort: str | None = None
    verbosity: str | None = None


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Read the block. Raises DriverError naming an unknown key or a value of the wrong kind."""
    config = read_block(environment, KEYS)
    return Settings(
        store=flag(config, "store"),
        thinking=switch(config, "thinking") is True,
        reasoning_effort=word(config, "reasoning_effort"),
        verbosity=word(config, "verbosity"),
    )


def chat_dialect(model: str, settings: Settings) -> Dialect:
    """Chat Completions as OpenAI speaks it. Only the o-series knows the cap by its newer name."""
    return Dialect(
        PROVIDER,
        output_cap="max_completion_tokens" if is_o_series(model) else "max_tokens",
        takes_cache_key=True,
        members={
            "reasoning_effort": settings.reasoning_effort,
            "verbosity": settings.verbosity,
            "store": settings.store or None,
        },
    )


def speaks_responses(model: str) -> bool:
    """Whether a model is asked through Responses: `gpt-N` from 5 on."""
    match = re.match(r"gpt-(\d+)", model)
    return match is not None and int(match.group(1)) >= 5


def is_o_series(model: str) -> bool:
    """Whether a model is of the o-series, which always speaks Chat Completions."""
    return re.match(r"o\d", model) is not None
