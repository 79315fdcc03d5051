"""The entry's `config:` block: what a search costs, and what comes back of it. A call can only ask
for fewer results.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from murmur_tooling.members import Members, invalid
from murmur_tooling.settings import configured

MOST_RESULTS = 20
_KEYS = (
    "search_depth",
    "topic",
    "max_results",
    "include_answer",
    "include_raw_content",
    "include_images",
    "chunks_per_source",
    "time_range",
    "country",
    "include_domains",
    "exclude_domains",
)
_DOMAINS = 150


@dataclass(frozen=True, slots=True)
class Settings:
    """`request` is what every search asks for, by the provider's own names."""

    max_results: int
    request: Mapping[str, Any]


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Raises ToolError `config_invalid`."""
    return configured(environ, _KEYS, _settings)


def _settings(block: Members) -> Settings:
    depth = block.choice("search_depth", ("basic", "advanced", "fast", "ultra-fast"), "basic")
    request: dict[str, Any] = {
        "search_depth": depth,
        "topic": block.choice("topic", ("general", "news", "finance"), "general"),
        "include_answer": _switch(block, "include_answer", ("basic", "advanced")),
        "include_raw_content": _switch(block, "include_raw_content", ("markdown", "text")),
        "include_images": block.flag("include_images", False),
        # The provider would choose a depth, and with it a price, by itself.
        "auto_parameters": False,
        "include_usage": True,
    }
    if block.given("chunks_per_source"):
        if depth not in ("advanced", "fast"):
            raise invalid("chunks_per_source is given; it goes with search_depth advanced or fast")
        request["chunks_per_source"] = block.whole("chunks_per_source", None, 1, 3)
    if block.given("time_range"):
        request["time_range"] = block.choice("time_range", ("day", "week", "month", "year"))
    if block.given("country"):
        request["country"] = block.text("country")
    for key in ("include_domains", "exclude_domains"):
        if block.given(key):
            request[key] = block.texts(key, _DOMAINS)
    return Settings(block.whole("max_results", 5, 1, MOST_RESULTS), request)


def _switch(block: Members, key: str, words: tuple[str, ...]) -> bool | str:
    """True, false, or one of a few words."""
    if block.value(key) in words:
        return str(block.value(key))
    if block.given(key) and not isinstance(block.value(key), bool):
        raise invalid(f"{key} must be true, false, {' or '.join(words)}")
    return block.flag(key, False)
