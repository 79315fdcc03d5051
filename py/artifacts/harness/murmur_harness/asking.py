"""What each driver makes alike of a launch request."""

from __future__ import annotations

from murmur_harness.contract import LaunchRequest, Refused


def refuse_settings(driver: str, request: LaunchRequest) -> None:
    """Raises Refused for `inference.driver.config` of a driver that has no settings."""
    if request.config is not None and request.config.strip() not in ("", "{}", "null"):
        raise Refused(f"inference.driver.config: {driver} has no settings; leave the block out")


def model_arguments(flag: str, request: LaunchRequest) -> list[str]:
    """The flag and the model, nothing where the harness chooses its own."""
    model = request.model
    return [flag, model] if model is not None and model.strip() else []
