"""The base URL of a model provider or other upstream behind a gateway.

spec/formations-and-newer-manifest.md A4: https with any host, plain http with a loopback host
only, and nothing in it that could carry a secret.
"""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final

from murmur.manifest.network import DEFAULT_PORTS, canonical_host

_SHAPE: Final = re.compile(r"(https?)://([^/?#]*)([^?#]*)", re.IGNORECASE)
_AUTHORITY: Final = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(?::([0-9]{1,5}))?")
_PATH: Final = re.compile(r"(?:/(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})*)*")


class BadEndpoint(ValueError):
    """Why an endpoint is refused. The reason never quotes the endpoint."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An accepted endpoint. `path` has no trailing `/` and is empty for the root."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """`host[:port]`, the port only where it is not the scheme's default."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    # The mapped form ::ffff:127.0.0.1 is loopback to newer Pythons and is not accepted here.
    return address.is_loopback and getattr(address, "ipv4_mapped", None) is None


def parse_endpoint(text: str) -> Endpoint:
    """The endpoint that `text` spells. Raises BadEndpoint with the reason."""
    if "${" in text:
        raise BadEndpoint("it holds a ${…} reference, and an endpoint is written out")
    if "?" in text or "#" in text:
        raise BadEndpoint("it has a query or a fragment")
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise BadEndpoint("it does not begin with https:// or http://")
    scheme, authority, path = shape[1].lower(), shape[2], shape[3]
    if "@" in authority:
        raise BadEndpoint("it has a user name or a password in it")
    parts = _AUTHORITY.fullmatch(authority)
    host = canonical_host(parts[1]) if parts else None
    if parts is None or host is None:
        raise BadEndpoint("its host is neither a name nor an IP address")
    port = int(parts[2]) if parts[2] else DEFAULT_PORTS[scheme]
    if not 1 <= port <= 65535:
        raise BadEndpoint("its port is not from 1 to 65535")
    if not _PATH.fullmatch(path):
        raise BadEndpoint("its path holds a character that a URL cannot hold")
    if scheme == "http" and not _is_loopback(host):
        raise BadEndpoint("plain http is accepted for a loopback host only; use https")
    return Endpoint(scheme, host, port, path.rstrip("/"))
