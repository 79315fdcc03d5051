"""The driver's settings and which of OpenAI's two APIs a model speaks (spec/artifacts.md 16.1)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from murmur_guest.exchange import DriverError, read_config

BLOCK = "MURMUR_INFERENCE_DRIVER_CONFIG"
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
    config = read_config(environment, BLOCK)
    for key in config:
        if key not in KEYS:
            raise DriverError(f'driver: driver.config key "{key}" is not one of {", ".join(KEYS)}')
    store = config.get("store", False)
    if not isinstance(store, bool):
        raise DriverError("driver: driver.config.store is not true or false")
    thinking = config.get("thinking", False)
    if thinking not in (True, False, "enabled", "disabled"):
        raise DriverError("driver: driver.config.thinking is not enabled or disabled")
    for key in ("reasoning_effort", "verbosity"):
        if not isinstance(config.get(key, ""), str):
            raise DriverError(f"driver: driver.config.{key} is not a string")
    return Settings(
        store=store,
        thinking=thinking in (True, "enabled"),
        reasoning_effort=config.get("reasoning_effort"),
        verbosity=config.get("verbosity"),
    )


def speaks_responses(model: str) -> bool:
    """Whether a model is asked through Responses: `gpt-N` from 5 on."""
    match = re.match(r"gpt-(\d+)", model)
    return match is not None and int(match.group(1)) >= 5


def is_o_series(model: str) -> bool:
    """Whether a model is of the o-series, which always speaks Chat Completions."""
    return re.match(r"o\d", model) is not None
