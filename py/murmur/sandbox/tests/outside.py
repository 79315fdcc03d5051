"""The world outside of a session in tests: a loop that serves its egress, names, and dials.

Names lead to public addresses of documentation that nobody dials: a connection there goes to a
server of the test on the host's loopback instead.
"""

import asyncio
import contextlib
import ipaddress
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from murmur.core.ip_addresses import IPAddress
from murmur.core.resolver import NameUnknown, ResolverSilent
from murmur.manifest.network import parse_rules
from murmur.sandbox.egress.proxy import Bounds, dial
from murmur.sandbox.egress.service import Egress

PUBLIC = "93.184.215.14"
ALSO_PUBLIC = "1.0.0.1"


@dataclass(slots=True)
class Names:
    """A Resolver that answers from a table, one entry a look-up, the last one for ever.

    The entry `silent` is a server that does not answer.
    """

    table: dict[str, list[str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def addresses(self, name: str) -> tuple[IPAddress, ...]:
        self.asked.append(name)
        await asyncio.sleep(0)
        if name == "localhost":
            return (ipaddress.ip_address("127.0.0.1"),)
        if name not in self.table:
            raise NameUnknown("no such name")
        answers = self.table[name]
        text = answers.pop(0) if len(answers) > 1 else answers[0]
        if text == "silent":
            raise ResolverSilent("no name server answered")
        return tuple(ipaddress.ip_address(part) for part in text.split())


@dataclass(slots=True)
class Dials:
    """A Dialer that notes where to and goes where `servers` says: port wanted -> port on loopback.

    A port without a server is refused, as one without a listener is.
    """

    servers: dict[int, int] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)

    async def __call__(self, address: ipaddress.IPv4Address, port: int) -> socket.socket:
        self.seen.append(f"{address}:{port}")
        if port not in self.servers:
            raise ConnectionRefusedError
        return await dial(ipaddress.IPv4Address("127.0.0.1"), self.servers[port])


@dataclass(slots=True)
class Outside:
    """A running loop; `egress` makes one on it."""

    loop: asyncio.AbstractEventLoop
    names: Names = field(default_factory=Names)
    dials: Dials = field(default_factory=Dials)
    warned: list[str] = field(default_factory=list)

    def egress(self, allow: Sequence[str], bounds: Bounds | None = None) -> Egress:
        async def make() -> Egress:
            return Egress(
                parse_rules(allow),
                warn=self.warned.append,
                resolver=self.names,
                dialer=self.dials,
                bounds=bounds,
            )

        return asyncio.run_coroutine_threadsafe(make(), self.loop).result(5)


@contextlib.contextmanager
def outside() -> Iterator[Outside]:
    """The loop in a thread of its own, ended with all that it serves."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="outside")
    thread.start()
    try:
        yield Outside(loop)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        loop.close()


@dataclass(slots=True)
class Server:
    """A TCP server on the host's loopback that answers each connection by a function."""

    port: int
    accepted: list[socket.socket] = field(default_factory=list)


@contextlib.contextmanager
def serving(handle: Callable[[socket.socket], None]) -> Iterator[Server]:
    """Runs `handle` in a thread for each connection, which it closes afterwards."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        server = Server(listener.getsockname()[1])
        threads: list[threading.Thread] = []

        def serve(connection: socket.socket) -> None:
            with connection, contextlib.suppress(OSError):
                handle(connection)

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                server.accepted.append(connection)
                threads.append(threading.Thread(target=serve, args=(connection,), daemon=True))
                threads[-1].start()

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        try:
            yield server
        finally:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            accepting.join(5)
