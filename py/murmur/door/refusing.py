"""Refusals outside JSON-RPC, written so that the client gets to read them. spec/door.md 3."""

import asyncio
from collections.abc import Mapping
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from murmur.door import errors
from murmur.door.envelope import encode

_DRAIN_BYTES: Final = 64 * 1024
_DRAIN_SECONDS: Final = 0.5


class Refusal(Response):
    """A JSON refusal. What the client is still sending is thrown away for a moment before the end,
    so that it finds an answer and not a reset connection."""

    def __init__(self, status: int, body: object, headers: Mapping[str, str]) -> None:
        head = {**headers, "connection": "close"}
        super().__init__(encode(body), status, head, media_type="application/json")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start = {"type": "http.response.start", "status": self.status_code}
        await send({**start, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": True})
        try:
            await asyncio.wait_for(_discard(receive), _DRAIN_SECONDS)
        except TimeoutError:
            pass
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def refusal_response(refusal: errors.HttpRefusal) -> Refusal:
    body = {"error": refusal.error, "message": refusal.message}
    return Refusal(refusal.status, body, refusal.headers)


async def _discard(receive: Receive) -> None:
    left = _DRAIN_BYTES
    while left > 0:
        message = await receive()
        if message["type"] != "http.request" or not message.get("more_body", False):
            return
        left -= len(message.get("body", b""))
