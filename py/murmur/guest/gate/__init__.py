"""The request gate: decides each HTTP request of a guest and sends it where the decision can be
enforced.

Native `wasi:http` stays linked; only `outgoing-handler.handle` is answered here
(design/decisions.md 7, 10; spec/artifacts.md 6, 12.2). An allowed request is redirected to the
runtime's gateway as `http://<listener>/<token>/<scheme>/<authority><path?query>`; a denied one gets
the error code `HTTP-request-denied` and touches no socket. The gateway checks the rules again,
resolves and dials.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wasmtime import Engine, Store, StoreContext
from wasmtime.component import Component, Func, Linker, ResourceAny, Variant

from murmur.guest.calls import GateRules

GATEWAY_AUTHORITY = "127.0.0.1:9"
"""Nothing listens there: requests to it are recognised here, for the artifact that has a gateway.
"""

_GATE_FILE = Path(__file__).with_name("gate.wasm")
_AUTHORITY = re.compile(r"(?P<host>[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?")
_DEFAULT_PORTS = {"http": 80, "https": 443}

Storelike = Store | StoreContext

Allows = Callable[[str, str, int], bool]
"""Whether the artifact's network rules allow (scheme, host, port)."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a request: redirected to `path` at the listener, or denied because of
    `reason`.
    """

    path: str | None
    reason: str = ""


def decide(
    rules: GateRules | None,
    allows: Allows,
    scheme: str | None,
    authority: str | None,
    path: str | None,
) -> Verdict:
    """Judges one request by its scheme (none means https), authority and path with query.

    The authority must be a bare `host[:port]`: user information or anything else unusual is denied,
    so that the gateway reads the redirected path in one way only.
    """
    if rules is None:
        return Verdict(None, "this artifact has no network access")
    scheme = "https" if scheme is None else scheme
    if scheme not in _DEFAULT_PORTS:
        return Verdict(None, f"scheme {scheme!r} is neither http nor https")
    parts = _AUTHORITY.fullmatch(authority or "")
    if parts is None:
        return Verdict(None, "the authority is not host[:port]")
    path = path or "/"
    if path.startswith("?"):
        path = "/" + path
    if not path.startswith("/"):
        return Verdict(None, "the path does not start with /")
    port = int(parts["port"] or _DEFAULT_PORTS[scheme])
    own_gateway = rules.gateway and scheme == "http" and authority == GATEWAY_AUTHORITY
    if not own_gateway and not (0 < port < 65536 and allows(scheme, parts["host"], port)):
        return Verdict(None, f"{scheme}://{authority} is not in network.allow")
    return Verdict(f"/{rules.token}/{scheme}/{authority}{path}")


class Gate:
    """The gate component and the linker that gives it, and it alone, the native handler."""

    def __init__(self, engine: Engine) -> None:
        self._component = Component(engine, _GATE_FILE.read_bytes())
        self._linker = Linker(engine)
        self._linker.add_wasi_http()

    def open(self, store: Storelike) -> OpenGate:
        """An instance of the gate in the store whose requests it is to touch."""
        instance = self._linker.instantiate(store, self._component)
        functions = {}
        for name in ("scheme-of", "authority-of", "path-of", "redirect", "send"):
            function = instance.get_func(store, name)
            if function is None:
                raise LookupError(f"the gate component does not export {name}")
            functions[name] = function
        return OpenGate(functions)


@dataclass(frozen=True, slots=True)
class OpenGate:
    """One gate instance in one store."""

    functions: dict[str, Func]

    def target(
        self, store: Storelike, request: ResourceAny
    ) -> tuple[str | None, str | None, str | None]:
        """Scheme (lowercase), authority, and path with query of a request, each None where it is
        not set.
        """
        scheme = self.functions["scheme-of"](store, request)
        name = None if scheme is None else _scheme_name(scheme)
        authority = self.functions["authority-of"](store, request)
        return name, authority, self.functions["path-of"](store, request)

    def redirect(self, store: Storelike, request: ResourceAny, authority: str, path: str) -> bool:
        """Points the request at plain http on `authority`; False where `wasi:http` refuses the
        path.
        """
        return bool(self.functions["redirect"](store, request, authority, path))

    def send(self, store: Storelike, request: ResourceAny, options: ResourceAny | None) -> Any:
        """Sends the request natively; what `outgoing-handler.handle` returns."""
        return self.functions["send"](store, request, options)


def _scheme_name(scheme: Variant | str) -> str:
    if isinstance(scheme, Variant):
        return (scheme.tag if scheme.tag != "other" else str(scheme.payload)).lower()
    return scheme.lower()


def denied() -> Variant:
    """The error code of a denied request."""
    return Variant("HTTP-request-denied")
