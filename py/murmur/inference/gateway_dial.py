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


async def connect(
    destination: Destination,
    *,
    resolver: Resolver,
    dialer: Dialer,
    trust: Callable[[], ssl.SSLContext],
    timeouts: Timeouts,
) -> UpstreamConnection:
    """A connection to the destination, at an address that was checked after its only resolution.

    Raises Denied with 403 when no address may be dialled and UpstreamFailed when none answers.
    """
    addresses = await _addresses(destination, resolver)
    permitted = [address for address in addresses if destination.may_dial(address)]
    if not permitted:
        raise Denied(
            403,
            f"{destination.display} leads to an address inside this machine or network, which is "
            "reached only when network.allow lists the address itself",
        )
    context = trust() if destination.scheme == "https" else None
    reason = "it cannot be reached"
    timed_out = False
    loop = asyncio.get_running_loop()
    end = loop.time() + timeouts.connect
    for address in permitted:
        left = end - loop.time()
        if left <= 0:
            break
        attempt = left if address == permitted[-1] else min(left, _ATTEMPT_SECONDS)
        try:
            async with asyncio.timeout(attempt):
                reader, writer = await dialer(address, destination.port, context, destination.host)
            return UpstreamConnection(reader, writer, timeouts)
        except TimeoutError:
            reason, timed_out = "it did not answer in time", True
        except ssl.SSLCertVerificationError as failure:
            reason, timed_out = f"its certificate is not accepted: {failure.verify_message}", False
            break
        except ssl.SSLError:
            reason, timed_out = "TLS could not be agreed on", False
        except OSError as failure:
            text = os.strerror(failure.errno) if failure.errno else "no connection"
            reason, timed_out = text, False
    raise UpstreamFailed(f"no connection to {destination.display}: {reason}", timed_out=timed_out)


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
