"""One turn: what `inference.driver.config` makes of Moonshot's dialect, and the answer.

kimi-k3 always reasons; its reasoning goes back with the message that it belongs to.
"""

from collections.abc import Mapping
from typing import Any

from murmur_chat import turn
from murmur_chat.dialect import Dialect
from murmur_chat.settings import read_block, word
from murmur_guest.exchange import Answer, DriverError, Progress, Request
from murmur_guest.provider import Post

KEYS = ("reasoning_effort", "response_format")
EFFORTS = ("low", "high", "max")
FORMATS = ("text", "json_object", "json_schema")


def answer(
    request: Request, environment: Mapping[str, str], progress: Progress, post: Post
) -> Answer:
    """Answer one request. Raises DriverError."""
    return turn.answer(request, environment, progress, post, dialect(environment))


def dialect(environment: Mapping[str, str]) -> Dialect:
    """Moonshot's, with the settings in it. Raises DriverError."""
    config = read_block(environment, KEYS)
    return Dialect(
        "Moonshot",
        output_cap="max_completion_tokens",
        takes_cache_key=True,
        replays_reasoning=True,
        members={
            "reasoning_effort": word(config, "reasoning_effort", EFFORTS),
            "response_format": _format(config.get("response_format")),
        },
    )


def _format(value: object) -> dict[str, Any] | None:
    """The output's form as the provider spells it; a schema is checked for being one."""
    if value is None:
        return None
    where = "driver.config.response_format"
    if not isinstance(value, dict) or value.get("type") not in FORMATS:
        raise DriverError(f"driver: {where}.type is not one of {', '.join(FORMATS)}")
    if value["type"] == "json_schema":
        described = value.get("json_schema")
        if not isinstance(described, dict) or not isinstance(described.get("schema"), dict):
            raise DriverError(f"driver: {where}.json_schema.schema is missing or not an object")
        if not isinstance(described.get("name"), str):
            raise DriverError(f"driver: {where}.json_schema.name is missing")
    return value
