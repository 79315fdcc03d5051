"""The driver's settings, from the two blocks an operator writes (spec/artifacts.md 16.1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from murmur_guest.exchange import DriverError, read_config

DEFAULT_THINKING_TOKENS = 1024


@dataclass(frozen=True, slots=True)
class Settings:
    """`cache_control` is None where prompt caching is off; `thinking` is the API's `type`."""

    cache_control: Mapping[str, str] | None
    thinking: str
    thinking_budget_tokens: int
    beta_features: tuple[str, ...]


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Read both blocks. A value that is not known counts as not given, as upstream has it."""
    own = read_config(environment, "MURMUR_ARTIFACT_CONFIG")
    shared = read_config(environment, "MURMUR_INFERENCE_DRIVER_CONFIG")
    thinking = shared.get("thinking")
    return Settings(
        cache_control=_cache_control(own),
        thinking=thinking if thinking in ("enabled", "adaptive") else "disabled",
        thinking_budget_tokens=_budget(shared),
        beta_features=_features(shared.get("beta_features")),
    )


def _cache_control(own: Mapping[str, Any]) -> Mapping[str, str] | None:
    if own.get("prompt_cache") in ("disabled", False):
        return None
    control = {"type": "ephemeral"}
    if own.get("prompt_cache_ttl") == "1h":
        control["ttl"] = "1h"
    return control


def _budget(shared: Mapping[str, Any]) -> int:
    value = shared.get("thinking_budget_tokens")
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    return DEFAULT_THINKING_TOKENS


def _features(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list) or not all(isinstance(feature, str) for feature in value):
        raise DriverError("driver: beta_features is not a string or a list of strings")
    return tuple(feature.strip() for feature in value if feature.strip())
