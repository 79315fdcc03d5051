"""The door's listening socket. spec/door.md 2, 5.1."""

import contextlib
import errno
import ipaddress
import socket as sockets
from typing import Final

from murmur.core.diagnostics import MurmurError, error

DEFAULT_HOST: Final = "127.0.0.1"

_BACKLOG: Final = 128
_PICKS: Final = 16
# Linux hands IPv4 to a socket on the IPv6 wildcard too.
_ON_LOCALHOST: Final = (DEFAULT_HOST, "0.0.0.0", "::")


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


def bind_beside(listener: sockets.socket) -> sockets.socket | None:
    """A second socket on 127.0.0.1 and the same port, where the first cannot be reached so.

    The door is recorded and given to the capsule as `localhost:<port>` whatever it is bound to:
    nobody else may answer there, who would be sent the session's tokens. None where the first
    listens there itself, and on a machine without that address. Raises E-RUN-010 when the port is
    taken there.
    """
    host, port = listener.getsockname()[:2]
    if host in _ON_LOCALHOST:
        return None
    try:
        return bind(DEFAULT_HOST, port)
    except MurmurError as refused:
        if refused.code == "E-RUN-010":
            raise
        return None


def bind_both(host: str, port: int | None) -> tuple[sockets.socket, sockets.socket | None]:
    """`bind` and `bind_beside`; a port that the system picked is picked again when it is taken."""
    for left in reversed(range(_PICKS)):
        listener = bind(host, port)
        try:
            return listener, bind_beside(listener)
        except MurmurError:
            listener.close()
            if port or not left:
                raise
    raise AssertionError("the last pick returns or raises")


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
