"""Posting to the OpenTelemetry collector that the session names. Runs inside a component alone."""

from murmur_guest.exchange import DriverError
from murmur_guest.http import post

VARIABLE = "MURMUR_OTEL_ENDPOINT"


class Unsent(Exception):
    """The collector did not take it; the text names its address and says why."""


def send(endpoint: str, path: str, body: bytes) -> None:
    """Posts JSON to `path` (`/v1/traces`, ...) below the endpoint. Raises Unsent."""
    url = f"{endpoint.rstrip('/')}{path}"
    try:
        answer = post(url, {"content-type": "application/json"}, body)
    except DriverError as problem:
        reason = str(problem).removeprefix("driver: ")
        raise Unsent(f"{url}: {reason}; does network.allow list it?") from None
    if answer.status >= 300:
        raise Unsent(f"{url}: HTTP {answer.status}")
