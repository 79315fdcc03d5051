"""The door's listening socket. spec/door.md 2, 5.1."""

import contextlib
import errno
import ipaddress
import socket as sockets
from typing import Final

from murmur.core.diagnostics import MurmurError, error

DEFAULT_HOST: Final = "127.0.0.1"

_BACKLOG: Final = 128


def bind(host: str = DEFAULT_HOST, port: int | None = None) -> sockets.socket:
    """A socket listening on `host` (a name, or an address, IPv6 with or without brackets), on
    `port` or, with None or 0, one that the system picks.

    Raises E-RUN-010 when a fixed port is taken, and E-IO-003 when the address cannot be bound.
    """
    name = _unbracketed(host)
    try:
        family, kind, protocol, _, address = sockets.getaddrinfo(
            name, port or 0, type=sockets.SOCK_STREAM, flags=sockets.AI_PASSIVE
        )[0]
        listener = sockets.socket(family, kind, protocol)
    except OSError as failure:
        raise _unusable(host, failure) from failure
    with contextlib.ExitStack() as on_failure:
        on_failure.callback(listener.close)
        # Without it a fixed port stays taken for a minute after the last session's connections.
        listener.setsockopt(sockets.SOL_SOCKET, sockets.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
            listener.listen(_BACKLOG)
        except OSError as failure:
            if port and failure.errno == errno.EADDRINUSE:
                raise error("E-RUN-010", port=port, host=host) from failure
            raise _unusable(host, failure) from failure
        listener.setblocking(False)
        on_failure.pop_all()
    return listener


def door_address(listener: sockets.socket) -> str:
    """`localhost:<port>`: what is printed, recorded and put on the card, whatever the bind."""
    port: int = listener.getsockname()[1]
    return f"localhost:{port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a door bound to `host`; else W-SEC-032 may apply."""
    name = _unbracketed(host)
    if name.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return address in ipaddress.ip_network("127.0.0.0/8")
    return address == ipaddress.ip_address("::1")


def _unusable(host: str, failure: OSError) -> MurmurError:
    return error(
        "E-IO-003",
        what=f"the door cannot listen on {host}",
        reason=failure.strerror or str(failure),
        hint="give mur run --bind an address of this machine, or leave it out",
    )


def _unbracketed(host: str) -> str:
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host
