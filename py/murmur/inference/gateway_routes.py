"""Who may go where: routes, the destinations they allow, and what was seen on the way.

A route stands for one artifact (or one driver call) and is known by an unguessable token that the
guest's request gate puts in front of every path. design/decisions.md 10, spec/artifacts.md 12.2.
"""

import re
import secrets
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from murmur.core.ip_addresses import IPAddress
from murmur.inference.secret import Secret
from murmur.manifest.endpoint import Endpoint
from murmur.manifest.network import (
    DEFAULT_PORTS,
    NetworkRule,
    allows,
    canonical_host,
    may_lead_to,
)

GATEWAY_AUTHORITY: Final = "127.0.0.1:9"
"""What a guest with a `gateway:` entry addresses; nothing listens there. spec/artifacts.md 12.2."""

_TARGET: Final = re.compile(
    rb"/(?P<token>[A-Za-z0-9_-]{32,128})/(?P<scheme>https?)/"
    rb"(?P<authority>(?P<host>\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_.-]{1,254})"
    rb"(?::(?P<port>[0-9]{1,5}))?)"
    rb"(?P<rest>(?:[/?][^#]*)?)"
)
_FIELD_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_TEMPLATE: Final = re.compile(r"[\x20-\x7e]+", re.ASCII)

FailureKind = Literal["connection", "timeout", "refused", "credential"]


def new_token() -> str:
    """A route's name: 256 random bits that fit one path segment."""
    return secrets.token_urlsafe(32)


class CredentialUnavailable(Exception):
    """No key can be attached now; `name` is the credential's name, never its value."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the credential {name} has no value yet")
        self.name = name


class KeySource(Protocol):
    """Where a gateway's key comes from; asked on the event loop, once a request."""

    def current(self) -> Secret:
        """The key to send now. Raises CredentialUnavailable."""
        ...

    def reread(self) -> Secret:
        """The key after looking at its source again, whatever is cached. Raises likewise."""
        ...

    def rejected(self, *, retried: bool) -> None:
        """The provider answered 401 and no other key is there; `retried` when one was tried."""
        ...


@dataclass(frozen=True, slots=True)
class GatewayTarget:
    """Where requests to the gateway authority go and how they are signed. `key` None: keyless.

    Raises ValueError for a header that cannot be one or a template without exactly one `{key}`.
    """

    endpoint: Endpoint
    header: str
    value_template: str
    key: KeySource | None

    def __post_init__(self) -> None:
        if self.key is None:
            return
        if not _FIELD_NAME.fullmatch(self.header):
            raise ValueError("upstream_auth.header is no header name")
        if self.value_template.count("{key}") != 1 or not _TEMPLATE.fullmatch(self.value_template):
            raise ValueError("upstream_auth.value must hold {key} exactly once, on one line")

    def render(self, key: Secret) -> bytes:
        """The header's value with the key in it, for the wire and nothing else."""
        return self.value_template.replace("{key}", key.reveal()).strip().encode("ascii")


@dataclass(frozen=True, slots=True)
class Observation:
    """What the gateway saw of a route's requests so far.

    `status` is the provider's last status; `failure` says why there was none, or why its body broke
    off. `credential_rejected` stands until a later answer with another status clears it.
    """

    requests: int = 0
    status: int | None = None
    failure: FailureKind | None = None
    detail: str = ""
    retry_after: str | None = None
    credential_rejected: bool = False


@dataclass(frozen=True, slots=True)
class Route:
    """What one artifact may reach: the rules of its allow-list, and its gateway if it has one."""

    artifact: str
    rules: tuple[NetworkRule, ...] = ()
    target: GatewayTarget | None = None


class Denied(Exception):
    """A request that goes nowhere. `status` and `reason` are what the guest is told."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Address:
    """A request target taken apart: the route's token, and where the guest wanted to go."""

    token: str
    scheme: str
    authority: str
    host: str
    port: int
    path: bytes
    """Path and query, beginning with `/`."""


def parse_target(target: bytes) -> Address:
    """`/<token>/<scheme>/<authority><path?query>`. Raises Denied with 400.

    The authority is a host with an optional port and nothing else: no user information, no escapes,
    no number-like spelling of an address (`manifest.network.canonical_host`).
    """
    match = _TARGET.fullmatch(target)
    if match is None:
        raise Denied(400, "the request did not come through a gate")
    scheme = match["scheme"].decode("ascii")
    host = canonical_host(match["host"].decode("latin-1"))
    if host is None:
        raise Denied(400, "the host is neither a name nor an IP address")
    port = int(match["port"] or DEFAULT_PORTS[scheme])
    if not 0 < port < 65536:
        raise Denied(400, "the port is not from 1 to 65535")
    rest = match["rest"]
    return Address(
        token=match["token"].decode("ascii"),
        scheme=scheme,
        authority=match["authority"].decode("latin-1"),
        host=host,
        port=port,
        path=rest if rest.startswith(b"/") else b"/" + rest,
    )


@dataclass(frozen=True, slots=True)
class Destination:
    """An allowed place. `rules` decide which of the name's addresses may be dialled."""

    scheme: str
    host: str
    port: int
    path: bytes
    rules: tuple[NetworkRule, ...]
    target: GatewayTarget | None

    @property
    def host_header(self) -> bytes:
        """The value of the `host` field: the port only where the scheme does not imply it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        implied = DEFAULT_PORTS[self.scheme] == self.port
        return (host if implied else f"{host}:{self.port}").encode("ascii")

    @property
    def display(self) -> str:
        """How messages name it; a gateway's endpoint is never quoted."""
        return "the gateway's endpoint" if self.target else self.host_header.decode("ascii")

    def may_dial(self, address: IPAddress) -> bool:
        """Whether this address of the host may be connected to. design/decisions.md 10.

        A gateway's endpoint was named by the operator: over https its certificate proves it, over
        http it must be loopback.
        """
        if self.target is not None:
            return self.scheme == "https" or address.is_loopback
        return may_lead_to(self.rules, self.scheme, self.host, address, self.port)


def decide(route: Route, address: Address) -> Destination:
    """Where the request goes. Raises Denied with 403 when neither gateway nor a rule matches."""
    target = route.target
    if target is not None and (address.scheme, address.authority) == ("http", GATEWAY_AUTHORITY):
        endpoint = target.endpoint
        return Destination(endpoint.scheme, endpoint.host, endpoint.port, address.path, (), target)
    if allows(route.rules, address.scheme, address.host, address.port) is None:
        raise Denied(403, f"{address.host}:{address.port} is not in the artifact's network.allow")
    return Destination(address.scheme, address.host, address.port, address.path, route.rules, None)
