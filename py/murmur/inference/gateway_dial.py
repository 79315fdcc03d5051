"""One resolution, one check, one dial, TLS by the name. design/decisions.md 10.

Each exchange has a connection of its own: what a turn would save by keeping one open is told by
tests/bench/drivers, and a model call that met a connection closed meanwhile would have to be sent
again, which may be paid for twice.
"""

import asyncio
import ipaddress
import os
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from murmur.core.ip_addresses import IPAddress
from murmur.core.resolver import NameUnknown, Resolver, ResolverSilent
from murmur.inference.gateway_messages import (
    READ_BYTES,
    Streams,
    Timeouts,
    UpstreamConnection,
    UpstreamFailed,
)
from murmur.inference.gateway_proxy import Proxies, Proxy, is_this_machine, open_tunnel
from murmur.inference.gateway_routes import Denied, Destination
from murmur.manifest.network import is_address

_ATTEMPT_SECONDS: Final = 5.0
_LOOK_UP_SECONDS: Final = 1.0


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
    end = asyncio.get_running_loop().time() + outward.timeouts.connect
    proxy = outward.proxies.of(destination.scheme, destination.host, destination.port)
    known: Sequence[IPAddress] = ()
    if proxy is not None:
        known = await _looked_up(destination, outward)
        if not known or not all(is_this_machine(each) for each in known):
            return await _proxied(destination, proxy, known, outward, end)
    addresses = known or await _addresses(destination.host, destination.display, outward.resolver)
    place = _Place(destination.display, destination.host, destination.port)
    trust = outward.trust() if destination.scheme == "https" else None
    permitted = _permitted(destination, addresses)
    return UpstreamConnection(
        await _dialled(place, permitted, trust, outward.dialer, end), outward.timeouts
    )


async def _looked_up(destination: Destination, outward: Outward) -> Sequence[IPAddress]:
    """The addresses of a name that a proxy is to resolve, as far as they can be known here. None of
    an operator's endpoint, for which no address is refused."""
    if destination.target is not None:
        return ()
    try:
        async with asyncio.timeout(_LOOK_UP_SECONDS):
            return await _addresses(destination.host, "", outward.resolver)
    except (UpstreamFailed, TimeoutError):
        return ()


async def _proxied(
    destination: Destination,
    proxy: Proxy,
    known: Sequence[IPAddress],
    outward: Outward,
    end: float,
) -> UpstreamConnection:
    """A connection through a proxy. The proxy resolves the name; a name that leads inside by our
    own look-up is refused all the same."""
    # The proxy picks among them, so one that leads inside is one too many.
    if not all(destination.may_dial(each) for each in known):
        raise _inside(destination)
    place = _Place(proxy.display, proxy.host, proxy.port)
    addresses = await _addresses(proxy.host, proxy.display, outward.resolver)
    trust = outward.trust() if proxy.secure else None
    streams = await _dialled(place, addresses, trust, outward.dialer, end)
    if destination.scheme == "http":
        origin = b"http://" + destination.host_header
        return UpstreamConnection(streams, outward.timeouts, origin=origin, added=proxy.headers)
    try:
        async with asyncio.timeout_at(end):
            streams = await open_tunnel(
                streams, proxy, destination.host, destination.port, outward.trust()
            )
        return UpstreamConnection(streams, outward.timeouts)
    except OSError as failure:
        streams[1].transport.abort()
        raise _failed(f"{destination.display} through {proxy.display}", failure) from None
    except BaseException:
        streams[1].transport.abort()
        raise


@dataclass(frozen=True, slots=True)
class _Place:
    """What is dialled, and how messages name it."""

    display: str
    host: str
    port: int


async def _dialled(
    place: _Place,
    addresses: Sequence[IPAddress],
    trust: ssl.SSLContext | None,
    dialer: Dialer,
    end: float,
) -> Streams:
    """The first address that answers before `end`, by the loop's clock. Raises UpstreamFailed."""
    loop = asyncio.get_running_loop()
    last: OSError = TimeoutError()
    for address in addresses:
        left = end - loop.time()
        if left <= 0:
            break
        attempt = left if address == addresses[-1] else min(left, _ATTEMPT_SECONDS)
        try:
            async with asyncio.timeout(attempt):
                return await dialer(address, place.port, trust, place.host)
        except ssl.SSLCertVerificationError as failure:
            last = failure
            break
        except OSError as failure:
            last = failure
    raise _failed(place.display, last)


def _failed(display: str, failure: OSError) -> UpstreamFailed:
    timed_out = isinstance(failure, TimeoutError)
    if timed_out:
        reason = "it did not answer in time"
    elif isinstance(failure, ssl.SSLCertVerificationError):
        reason = f"its certificate is not accepted: {failure.verify_message}"
    elif isinstance(failure, ssl.SSLError):
        reason = "TLS could not be agreed on"
    else:
        reason = os.strerror(failure.errno) if failure.errno else "no connection"
    return UpstreamFailed(f"no connection to {display}: {reason}", timed_out=timed_out)


def _permitted(destination: Destination, addresses: Sequence[IPAddress]) -> list[IPAddress]:
    """The addresses that may be dialled. Raises Denied when there is none."""
    permitted = [address for address in addresses if destination.may_dial(address)]
    if not permitted:
        raise _inside(destination)
    return permitted


def _inside(destination: Destination) -> Denied:
    return Denied(
        403,
        f"{destination.display} leads to an address inside this machine or network, which is "
        "reached only when network.allow lists the address itself",
    )


async def _addresses(host: str, display: str, resolver: Resolver) -> tuple[IPAddress, ...]:
    if is_address(host):
        return (ipaddress.ip_address(host),)
    try:
        return await resolver.addresses(host)
    except NameUnknown:
        raise UpstreamFailed(f"{display}: the name has no address") from None
    except ResolverSilent:
        raise UpstreamFailed(f"{display}: no name server answered", timed_out=True) from None
