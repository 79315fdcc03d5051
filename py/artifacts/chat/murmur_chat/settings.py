"""`inference.driver.config`, read strictly: what a driver does not know fails the call."""

from collections.abc import Mapping, Sequence
from typing import Any

from murmur_guest.exchange import DriverError, read_config

BLOCK = "MURMUR_INFERENCE_DRIVER_CONFIG"


def read_block(environment: Mapping[str, str], keys: Sequence[str]) -> dict[str, Any]:
    """The block. Raises DriverError naming a key that is none of `keys`."""
    config = read_config(environment, BLOCK)
    for key in config:
        if key not in keys:
            raise DriverError(f'driver: driver.config key "{key}" is not one of {", ".join(keys)}')
    return config


def switch(config: Mapping[str, Any], key: str) -> bool | None:
    """`enabled`, `disabled`, true or false; None when it is not set. Raises DriverError."""
    value = config.get(key)
    if value is None or isinstance(value, bool):
        return value
    if value not in ("enabled", "disabled"):
        raise DriverError(f"driver: driver.config.{key} is not enabled or disabled")
    return bool(value == "enabled")


def flag(config: Mapping[str, Any], key: str) -> bool:
    """true or false; false when it is not set. Raises DriverError."""
    value = config.get(key, False)
    if not isinstance(value, bool):
        raise DriverError(f"driver: driver.config.{key} is not true or false")
    return value


def word(config: Mapping[str, Any], key: str, allowed: Sequence[str] = ()) -> str | None:
    """A string, one of `allowed` where there are any; None when not set. Raises DriverError."""
    value = config.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise DriverError(f"driver: driver.config.{key} is not a string")
    if allowed and value not in allowed:
        raise DriverError(
            f'driver: driver.config.{key} "{value}" is not one of {", ".join(allowed)}'
        )
    return value
