"""One resolution, one check, one dial, TLS by the name. design/decisions.md 10."""

import asyncio
import ipaddress
import os
import ssl
from collections.abc import Callable
from typing import Final, Protocol

from murmur.core.ip_addresses import IPAddress
from murmur.core.resolver import NameUnknown, Resolver, ResolverSilent
from murmur.inference.gateway_messages import (
    READ_BYTES,
    Timeouts,
    UpstreamConnection,
    UpstreamFailed,
)
from murmur.inference.gateway_routes import Denied, Destination
from murmur.manifest.network import is_address

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_ATTEMPT_SECONDS: Final = 5.0


class Dialer(Protocol):
    """Connects to one address; with a context, does TLS for `name` on it."""

    async def __call__(
        self, address: IPAddress, port: int, trust: ssl.SSLContext | None, name: str
    ) -> Streams:
        """Raises OSError (ssl.SSLError among them)."""
        ...


def system_trust() -> ssl.SSLContext:
    """Certificate checks against the system's store, HTTP/1.1 only.

    The operator's SSL_CERT_FILE and SSL_CERT_DIR count, as for any program; a project's `.env` is
    never put into this process's environment, so a work folder cannot name an authority.
    """
    trust = ssl.create_default_context(ssl.Purpose.SERVER_AUTH)
    trust.set_alpn_protocols(["http/1.1"])
    return trust


async def dial(address: IPAddress, port: int, trust: ssl.SSLContext | None, name: str) -> Streams:
    """The real Dialer."""
    if trust is None:
        return await asyncio.open_connection(str(address), port, limit=READ_BYTES)
    return await asyncio.open_connection(
        str(address), port, limit=READ_BYTES, ssl=trust, server_hostname=name
    )


@dataclass(frozen=True, slots=True)
class Outward:
    """What every connection of a gateway is made with."""

    resolver: Resolver
    dialer: Dialer
    trust: Callable[[], ssl.SSLContext]
    timeouts: Timeouts
    proxies: Proxies


async def connect(destination: Destination, outward: Outward) -> UpstreamConnection:
    """A connection to the destination, at an address that was checked after its only resolution.

    Raises Denied with 403 when no address may be dialled and UpstreamFailed when none answers.
    """
    proxy = outward.proxies.of(destination.scheme, destination.host, destination.port)
    if proxy is not None:
        return await _proxied(destination, proxy, outward)
    addresses = await _addresses(destination.host, destination.display, outward.resolver)
    permitted = _permitted(destination, addresses)
    try:
        async with _within(outward.timeouts.connect) as end:
            streams = await _dialled(
                permitted, destination, outward, end, secure=destination.scheme == "https"
            )
    except OSError as failure:
        raise _failed(destination.display, failure) from None
    return UpstreamConnection(streams, outward.timeouts)
async def _addresses(destination: Destination, resolver: Resolver) -> tuple[IPAddress, ...]:
    if is_address(destination.host):
        return (ipaddress.ip_address(destination.host),)
    try:
        return await resolver.addresses(destination.host)
    except NameUnknown:
        raise UpstreamFailed(f"{destination.display}: the name has no address") from None
    except ResolverSilent:
        raise UpstreamFailed(
            f"{destination.display}: no name server answered", timed_out=True
        ) from None
