"""A hook's `config:` block, as the runtime hands it over in MURMUR_ARTIFACT_CONFIG."""

import json
from collections.abc import Collection, Mapping

VARIABLE = "MURMUR_ARTIFACT_CONFIG"


class BadConfig(ValueError):
    """A block that the hook cannot follow; the text names the key and what it allows."""


def read_config(environ: Mapping[str, str], known: Collection[str]) -> dict[str, object]:
    """The block; empty without one. Raises BadConfig for anything else than an object, and for a
    key that the hook does not know.
    """
    text = environ.get(VARIABLE)
    if text is None:
        return {}
    try:
        value = json.loads(text)
    except ValueError:
        raise BadConfig("config: it is not JSON") from None
    if not isinstance(value, dict):
        raise BadConfig("config: it must be a mapping")
    for key in value:
        if key not in known:
            raise BadConfig(f"config.{key}: unknown; the keys are {', '.join(sorted(known))}")
    return value


def texts(config: Mapping[str, object], key: str, default: tuple[str, ...]) -> tuple[str, ...]:
    """A list of non-empty strings. Raises BadConfig."""
    value = config.get(key, default)
    if not isinstance(value, list | tuple) or not all(isinstance(x, str) and x for x in value):
        raise BadConfig(f"config.{key}: it must be a list of non-empty strings")
    return tuple(value)
