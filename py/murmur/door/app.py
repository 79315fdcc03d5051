"""The door as an ASGI application: every request's checks, in the fixed order. spec/door.md 2 to 4.

Routing is by the raw target: nothing is decoded, and a query makes any path an unknown one.
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from murmur.core.streams import complain
from murmur.core.tasks import Caller, Origin, TaskBoard
from murmur.door import card, errors, methods, paths
from murmur.door.bind import is_loopback
from murmur.door.calls import Call, Calls
from murmur.door.card import CardFacts
from murmur.door.completions import answer_completion
from murmur.door.control import ControlSurface
from murmur.door.envelope import (
    EnvelopeError,
    RpcRequest,
    check_version,
    encode,
    error_body,
    params_object,
    read_request,
    result_body,
)
from murmur.door.planes import Planes
from murmur.door.refusing import refusal_response
from murmur.door.senders import Sender, murmur_header, read_sender
from murmur.door.stream import EventStream
from murmur.door.tokens import Credential, DoorTokens

MAX_BODY_BYTES: Final = 16 * 1024 * 1024

_JSON: Final = "application/json"
_CLOSE: Final = {"connection": "close"}


class DoorApp:
    """Answers one request per call; `calls` keeps the streams that are open."""

    def __init__(
        self,
        board: TaskBoard,
        facts: CardFacts,
        tokens: DoorTokens | None,
        planes: Planes | None = None,
        control: ControlSurface | None = None,
    ) -> None:
        """`planes` None serves no file at all; `control` None is a capsule that lets nobody."""
        if facts.authenticated != (tokens is not None):
            raise ValueError("a door is authenticated exactly when it has tokens")
        self._facts = facts
        self._tokens = tokens
        self._methods = methods.served(facts.acceptance, facts.authenticated)
        self._planes = planes
        self._control = control
        self.calls = Calls(board, facts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            response = await self._respond(request)
        except errors.HttpRefusal as refusal:
            response = refusal_response(refusal)
        except ClientDisconnect:
            return
        except Exception as failure:
            complain(f"door: a request failed: {type(failure).__name__}: {failure}")
            response = Response(status_code=500, headers=_CLOSE)
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        target = _target(request).decode("latin-1")
        if self._planes is not None and _beneath(target, paths.PEER):
            audience = murmur_header(request.headers, "x-murmur-audience")
            return await self._planes.answer_peer(request, target, audience)
        if _beneath(target, paths.CONTROL):
            if self._control is None:
                return Response(status_code=404, headers=_CLOSE)
            return await self._control.answer(request, target)
        if request.method == "GET" and target == paths.CARD:
            return _json(encode(card.public_card(self._facts)))
        credential = None
        if self._tokens is not None:
            credential = self._tokens.check(request.headers.getlist("authorization"))
        sender = read_sender(request.headers)
        if sender.origin is Origin.PEER and not self._facts.accepts_peer_tasks:
            raise errors.peer_not_accepted()
        if self._planes is not None and target.startswith(paths.RESOURCES):
            if self._tokens is not None and credential is not None:
                self._tokens.require(credential, methods.FILES_SCOPE)
            return await self._planes.answer_files(request, target)
        if not _is_rpc(request) or (self._tokens is None and _from_a_page(request)):
            return Response(status_code=404, headers=_CLOSE)
        body = await _read_body(request)
        return self._respond_rpc(request, sender, credential, body)

    def _respond_rpc(
        self, request: Request, sender: Sender, credential: Credential | None, body: bytes
    ) -> Response:
        try:
            rpc = read_request(body)
        except EnvelopeError as refusal:
            return _json(error_body(refusal.id, refusal.error))
        try:
            result = self._call(request, sender, credential, rpc)
        except errors.RpcError as refusal:
            return _json(error_body(rpc.id, refusal))
        except errors.HttpRefusal:
            raise
        except Exception as failure:
            complain(f"door: {rpc.method} failed: {type(failure).__name__}: {failure}")
            return _json(error_body(rpc.id, errors.internal("The session could not be reached")))
        if isinstance(result, EventStream):
            return result
        return _json(result_body(rpc.id, result))

    def _call(
        self,
        request: Request,
        sender: Sender,
        credential: Credential | None,
        rpc: RpcRequest,
    ) -> Mapping[str, object] | EventStream:
        headers = request.headers
        check_version(headers.getlist("a2a-version"))
        if sender.origin is Origin.COMPLETION:
            answer_completion(rpc.method, headers, self._facts.session_id)
        method = self._methods.get(rpc.method)
        if method is None:
            if rpc.method == methods.GET_EXTENDED_AGENT_CARD:
                raise errors.unsupported_operation("This door has no extended card")
            raise errors.method_not_found()
        if self._tokens is not None and credential is not None and method.scoped:
            self._tokens.require(credential, method.name)
        forget = method.sending and murmur_header(headers, "x-murmur-forget-session") == "true"
        if forget and self._facts.transport != "process":
            raise errors.invalid_params(
                "x-murmur-forget-session needs a capsule on inference.transport: process"
            )
        caller = Caller("public") if credential is None else credential.caller
        call = Call(rpc.id, params_object(rpc), headers, sender, caller, forget)
        return self.calls.answer(method.name, call)


def _beneath(target: str, prefix: str) -> bool:
    return target == prefix or target.startswith(prefix + "/")


def _target(request: Request) -> bytes:
    path: bytes = request.scope["raw_path"]
    query: bytes = request.scope["query_string"]
    return path + b"?" + query if query else path


def _is_rpc(request: Request) -> bool:
    """Whether this is a `POST /` with a JSON body whose length was announced."""
    return (
        request.method == "POST"
        and _target(request) in (b"/", b"")
        and _JSON in request.headers.get("content-type", "").lower()
        and "transfer-encoding" not in request.headers
        and _announced_length(request) > 0
    )


def _from_a_page(request: Request) -> bool:
    """Whether a browser sends this for a page of another host.

    A door without tokens believes whoever reaches its port, and a page can: its name need only
    resolve to this machine once it is loaded. Programs send no `origin`.
    """
    for origin in request.headers.getlist("origin"):
        try:
            host = urlsplit(origin).hostname
        except ValueError:
            return True
        if host is None or not is_loopback(host):
            return True
    return False


def _announced_length(request: Request) -> int:
    text = request.headers.get("content-length", "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0


async def _read_body(request: Request) -> bytes:
    if _announced_length(request) > MAX_BODY_BYTES:
        raise errors.body_too_large(MAX_BODY_BYTES)
    return await request.body()


def _json(body: bytes) -> Response:
    return Response(body, headers=_CLOSE, media_type=_JSON)
