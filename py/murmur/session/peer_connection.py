"""Connections to another capsule's door, inside a list of network rules.

The peer's name is resolved once, each address is checked as the gateway checks one, and that very
address is dialled (design/decisions.md 10).
"""

import asyncio
import http.client
import ipaddress
import socket
from collections.abc import Sequence
from urllib.parse import SplitResult, urlsplit

from murmur.core.ip_addresses import IPAddress
from murmur.core.resolver import system_resolver
from murmur.inference.gateway_dial import system_trust
from murmur.manifest.network import (
    DEFAULT_PORTS,
    NetworkRule,
    allows,
    is_address,
    may_lead_to,
)


class BadPeer(Exception):
    """What was given names no peer; the text says so to whoever gave it."""


class NotAllowed(Exception):
    """A peer, or an address behind its name, that the rules do not admit."""


def parse_peer(peer: str) -> SplitResult:
    """The peer's URL; `host:port` alone is plain http. Raises BadPeer."""
    try:
        url = urlsplit(peer if "://" in peer else f"http://{peer}")
        usable = url.scheme in DEFAULT_PORTS and url.hostname and url.port != 0
    except ValueError:
        usable = None
    if not usable or url.username is not None:
        raise BadPeer(f"'{peer}' is no http:// or https:// URL of a peer")
    return url


def port_of(url: SplitResult) -> int:
    return url.port or DEFAULT_PORTS[url.scheme]


def check_peer(rules: Sequence[NetworkRule], url: SplitResult, field: str) -> None:
    """Raises NotAllowed naming `field` for a peer that its list does not hold."""
    if allows(rules, url.scheme, url.hostname or "", port_of(url)) is None:
        raise NotAllowed(f"network policy: {url.netloc} is not in {field}")


def connect_peer(
    rules: Sequence[NetworkRule], url: SplitResult, seconds: float, field: str
) -> http.client.HTTPConnection:
    """A connection to an address that was checked after its only resolution.

    Raises NotAllowed where none may be dialled, OSError where none answers.
    """
    host, port = url.hostname or "", port_of(url)
    permitted = [
        address
        for address in _addresses(host)
        if may_lead_to(rules, url.scheme, host, address, port)
    ]
    if not permitted:
        raise NotAllowed(
            f"network policy: {url.netloc} leads to an address inside this machine or network, "
            f"which is reached only when {field} lists the address itself"
        )
    connection = http.client.HTTPConnection(host, port, timeout=seconds)
    connection.sock = _dialled(permitted, port, seconds, url)
    return connection


def _addresses(host: str) -> tuple[IPAddress, ...]:
    """Raises OSError for a name that nobody knows."""
    if is_address(host):
        return (ipaddress.ip_address(host),)
    return asyncio.run(system_resolver().addresses(host))


def _dialled(
    addresses: Sequence[IPAddress], port: int, seconds: float, url: SplitResult
) -> socket.socket:
    """A connected socket, with TLS for the name where the scheme asks for it. Raises OSError."""
    first: OSError | None = None
    for address in addresses:
        try:
            wire = socket.create_connection((str(address), port), seconds)
        except OSError as failure:
            first = first or failure
            continue
        if url.scheme != "https":
            return wire
        try:
            return system_trust().wrap_socket(wire, server_hostname=url.hostname)
        except BaseException:
            wire.close()
            raise
    assert first is not None
    raise first
