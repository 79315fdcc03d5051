"""The control surface: settings and secrets over HTTP, for whoever holds the control token.

spec/door.md 19. The checks keep their order; what is not authenticated, or too long, is never read.
"""

import ipaddress
import json
import re
from typing import Any, Final, NoReturn
from urllib.parse import unquote_to_bytes

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from murmur.core.control import ControlRefused, Controls, ControlToken, Kind
from murmur.door import paths
from murmur.door.envelope import encode
from murmur.door.refusing import Refusal

_MOST_SETTING: Final = 1024
_MOST_SECRET: Final = 8192
_DIGITS: Final = re.compile(r"[0-9]{1,19}")


class ControlSurface:
    """Answers everything at and beneath `/control`."""

    def __init__(self, controls: Controls, token: ControlToken) -> None:
        self._controls = controls
        self._token = token

    async def answer(self, request: Request, target: str) -> Response:
        """The answer; a refusal is one too, `{"error": sentence}`."""
        kind, name = self._named(target)
        try:
            if not self._token.proves(request.headers.getlist("authorization")):
                kind = name = None
                raise ControlRefused(401, "unauthenticated", "this surface wants its control token")
            return await self._authenticated(request, target, kind, name)
        except ControlRefused as refused:
            self._controls.note_refusal(refused.status, refused.reason, kind, name)
            return _refusal(refused)

    async def _authenticated(
        self, request: Request, target: str, kind: Kind | None, name: str | None
    ) -> Response:
        if target == paths.CONTROL:
            _only(request, "GET")
            return _json(self._controls.shown())
        if kind == "setting" and name is not None:
            if name not in self._controls.settings:
                raise ControlRefused(404, "undeclared_setting", "no such setting is declared")
            _only(request, "PUT")
            return await self._change(request, name)
        if kind == "secret" and name is not None:
            if name not in self._controls.secrets:
                raise ControlRefused(404, "undeclared_secret", "no such secret is declared")
            _only(request, "PUT", "DELETE")
            _only_from_here(request)
            if request.method == "DELETE":
                self._controls.forget(name)
                return _json({"name": name, "set": False})
            return await self._supply(request, name)
        raise ControlRefused(404, "unknown_path", "there is nothing to control at this path")

    def _named(self, target: str) -> tuple[Kind | None, str | None]:
        for prefix, kind in ((paths.SETTINGS, "setting"), (paths.SECRETS, "secret")):
            if target.startswith(prefix) and len(target) > len(prefix):
                name = unquote_to_bytes(target.removeprefix(prefix)).decode("utf-8", "replace")
                return ("setting" if kind == "setting" else "secret"), name
        return None, None

    async def _change(self, request: Request, name: str) -> Response:
        _check_length(request, _MOST_SETTING)
        if "application/json" not in request.headers.get("content-type", "").lower():
            raise ControlRefused(
                415, "unsupported_media_type", "a setting is sent as application/json"
            )
        change = self._controls.change(name, _value(await _body(request)))
        return _json(
            {
                "name": change.name,
                "previous": change.previous,
                "value": change.value,
                "applies_from": "next_inference_call",
            }
        )

    async def _supply(self, request: Request, name: str) -> Response:
        _check_length(request, _MOST_SECRET)
        replaced = self._controls.supply(name, await _body(request))
        return _json({"name": name, "set": True, "replaced": replaced})


class _Allow(ControlRefused):
    """A method that the path does not have; `allow` lists those it has."""

    def __init__(self, methods: tuple[str, ...]) -> None:
        self.allow = ", ".join(methods)
        super().__init__(405, "method_not_allowed", f"this path takes {self.allow}")


def _only(request: Request, *methods: str) -> None:
    if request.method not in methods:
        raise _Allow(methods)


def _only_from_here(request: Request) -> None:
    """Secrets come over loopback only, which nobody on a wire can listen to."""
    host = request.client.host if request.client else ""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        _not_here()
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    if not (mapped or address).is_loopback:
        _not_here()


def _not_here() -> NoReturn:
    raise ControlRefused(403, "not_loopback", "a secret is taken from this machine itself only")


def _check_length(request: Request, most: int) -> None:
    """Judges the declared length; a body that declares none has none."""
    text = request.headers.get("content-length", "").strip()
    length = int(text) if _DIGITS.fullmatch(text) else 0
    if length > most:
        raise ControlRefused(413, "body_too_large", f"the body is over {most} bytes")
    if length == 0:
        raise ControlRefused(422, "missing_body", "the request carries no value")


async def _body(request: Request) -> bytes:
    try:
        return await request.body()
    except ClientDisconnect:
        raise ControlRefused(400, "truncated_body", "the body broke off") from None


def _value(body: bytes) -> object:
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or "value" not in value:
        raise ControlRefused(422, "invalid_value", 'the body must be {"value": ...}')
    return value["value"]


def _refusal(refused: ControlRefused) -> Response:
    headers: dict[str, str] = {}
    if refused.status == 401:
        headers["www-authenticate"] = 'Bearer realm="murmur-control"'
    if isinstance(refused, _Allow):
        headers["allow"] = refused.allow
    return Refusal(refused.status, {"error": refused.message}, headers)


def _json(value: object) -> Response:
    return Response(encode(value), headers={"connection": "close"}, media_type="application/json")
