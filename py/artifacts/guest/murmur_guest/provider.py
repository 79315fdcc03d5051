"""One request to a provider and the shape of its answer, streamed or not (spec/artifacts.md 11.6).

Who really sends is handed in (`http.post` in a component), so that translation is testable alone.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from murmur_guest.exchange import DriverError
from murmur_guest.sse import read_events

ERROR_BODY_BYTES = 16384
WHITESPACE = b" \t\r\n"


@dataclass(frozen=True, slots=True)
class Response:
    """A provider's response: `body` yields pieces as they arrive, header names are lower case."""

    status: int
    body: Iterator[bytes]
    headers: Mapping[str, str] = field(default_factory=dict)


Post = Callable[[str, Mapping[str, str], bytes], Response]
"""Sends a POST to a URL with headers and a body. Raises DriverError when there is no response."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A successful answer: `whole` when the provider did not stream, else `events`."""

    whole: dict[str, Any] | None
    events: Iterator[dict[str, Any]]


def ask(post: Post, url: str, headers: Mapping[str, str], payload: Mapping[str, Any]) -> Reply:
    """Send a JSON payload and begin to read the answer.

    Raises DriverError `HTTP <status>: <body>` for every status but 200.
    """
    body = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
    sent = {"content-type": "application/json", "accept": "text/event-stream", **headers}
    response = post(url, sent, body)
    if response.status != 200:
        raise DriverError(f"HTTP {response.status}: {_beginning(response.body)}")
    first, pieces = _first_byte(response.body)
    if first in (b"{", b"["):
        return Reply(_whole(pieces), iter(()))
    return Reply(None, _json_events(pieces))


def _first_byte(body: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    seen: list[bytes] = []
    for piece in body:
        seen.append(piece)
        begins = piece.lstrip(WHITESPACE)
        if begins:
            return begins[:1], chain(seen, body)
    return b"", iter(seen)


def _whole(pieces: Iterable[bytes]) -> dict[str, Any]:
    try:
        value = json.loads(b"".join(pieces))
    except ValueError:
        raise DriverError("driver: the provider's answer is not JSON") from None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        raise DriverError("driver: the provider's answer is not a JSON object")
    return value


def _json_events(pieces: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    for event in read_events(pieces):
        if event.data.strip() == "[DONE]":
            return
        try:
            value = json.loads(event.data)
        except ValueError:
            raise DriverError("driver: an event of the provider is not JSON") from None
        if not isinstance(value, dict):
            raise DriverError("driver: an event of the provider is not a JSON object")
        yield value


def _beginning(body: Iterator[bytes]) -> str:
    read = b""
    try:
        for piece in body:
            read += piece
            if len(read) >= ERROR_BODY_BYTES:
                break
    except DriverError:
        pass  # the status is what counts; say as much of the body as came
    return read[:ERROR_BODY_BYTES].decode("utf-8", "replace").strip()
