"""One session's egress: what commands may reach, served by the runtime's event loop.

spec/containment.md 9.1 (steps 6 to 8) and 17. Commands start in a worker thread, everything here
runs on the loop; `serve` and `close` are the bridge.
"""

import asyncio
import contextlib
import ipaddress
import socket
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from murmur.core.resolver import NameUnknown, Resolver, system_resolver
from murmur.manifest.network import NetworkRule, is_address
from murmur.sandbox.egress.proxy import Bounds, Dialer, Proxy, dial
from murmur.sandbox.egress.reach import Reach, implied_ports
from murmur.sandbox.egress.responder import Responder

_CLOSE_S: Final = 2.0


class Egress:
    """Made once a session, on its event loop; at once the listed names are resolved.

    `warn` is called on the loop with a line for the operator for each name whose resolver did not
    answer. Connections by name work whatever happened at launch.
    """

    def __init__(
        self,
        rules: Iterable[NetworkRule],
        *,
        warn: Callable[[str], object],
        resolver: Resolver | None = None,
        dialer: Dialer = dial,
        bounds: Bounds | None = None,
    ) -> None:
        rules = tuple(rules)
        self.ports = implied_ports(rules)
        """Where a listener is needed."""
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._reach = Reach(rules)
        self._resolver = resolver or system_resolver()
        self._warn = warn
        self._dialer = dialer
        self._bounds = bounds or Bounds()
        self._launched = self._loop.create_task(self._resolve())
        self._responder: Responder | None = None
        self._proxy: Proxy | None = None
        self._closed = False

    def serve(self, dns: socket.socket, listeners: Sequence[socket.socket]) -> None:
        """Takes over the session's sockets, the listeners in the order of `ports`. Thread-safe.

        What arrives before the loop comes to it waits in the kernel.
        """
        self._loop.call_soon_threadsafe(self._begin, dns, tuple(listeners))

    def close(self) -> None:
        """Drops every connection and the sockets. Thread-safe, and safe to call again.

        Other threads wait until that is done; on the loop it is only begun.
        """
        if self._loop.is_closed():  # and with it all that it served
            return
        ending = asyncio.run_coroutine_threadsafe(self._end(), self._loop)
        if self._thread != threading.get_ident():
            with contextlib.suppress(TimeoutError):
                ending.result(_CLOSE_S)

    def _begin(self, dns: socket.socket, listeners: tuple[socket.socket, ...]) -> None:
        if self._closed:
            for each in (dns, *listeners):
                each.close()
            return
        self._responder = Responder(dns, self._reach, self._resolver)
        self._proxy = Proxy(listeners, self._reach, self._launched, self._dialer, self._bounds)

    async def _end(self) -> None:
        self._closed = True
        self._launched.cancel()
        if self._responder is not None:
            self._responder.close()
        if self._proxy is not None:
            await self._proxy.close()
        self._responder = self._proxy = None

    async def _resolve(self) -> None:
        """The addresses of the launch: what is reached by a literal address."""
        async with asyncio.TaskGroup() as group:
            for host in self._reach.hosts:
                group.create_task(self._resolve_one(host))

    async def _resolve_one(self, host: str) -> None:
        if is_address(host):
            self._reach.bind_at_launch(host, (ipaddress.ip_address(host),))
            return
        try:
            self._reach.bind_at_launch(host, await self._resolver.addresses(host))
        except NameUnknown:
            pass  # it adds no address
        except (OSError, ValueError):
            self._warn(
                f"the network allowlist host '{host}' could not be resolved at launch: the "
                "resolver did not answer within 5s (a subprocess reaching it by literal address "
                "is denied for this run)"
            )
