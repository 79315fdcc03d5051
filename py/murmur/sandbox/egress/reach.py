"""What commands may reach: the list, and which address was given for which name.

spec/containment.md 17.1, 17.4 and 17.5. A connection says an address and a port, the list says
names: an address is admitted through a name for which it was answered lately, or at launch.
"""

import time
from collections.abc import Callable, Iterable
from typing import Final

from murmur.core.ip_addresses import IPAddress, is_public
from murmur.manifest.network import (
    DEFAULT_PORTS,
    NetworkRule,
    allows,
    canonical_host,
    is_address,
    may_lead_to,
)

MOST_PORTS: Final = 16
BOUND_SECONDS: Final = 300.0

_MOST_BOUND: Final = 4096


def implied_ports(rules: Iterable[NetworkRule]) -> tuple[int, ...]:
    """The ports that need a listener: a rule's own, its scheme's, or both defaults; sorted."""
    ports: set[int] = set()
    for rule in rules:
        port = rule.effective_port
        ports.update(DEFAULT_PORTS.values() if port is None else (port,))
    return tuple(sorted(ports))


class Reach:
    """Decides for one session. Used on the event loop alone."""

    def __init__(
        self, rules: Iterable[NetworkRule], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rules = tuple(rules)
        self._clock = clock
        self._listed = frozenset(rule.host for rule in self._rules)
        self._bound: dict[tuple[IPAddress, str], float] = {}
        self._at_launch: dict[IPAddress, set[str]] = {}

    @property
    def hosts(self) -> tuple[str, ...]:
        """Every listed host, canonical, in the order of the rules."""
        return tuple(dict.fromkeys(rule.host for rule in self._rules))

    def listed_name(self, name: str) -> str | None:
        """The canonical form of a listed name; None for any other, and for every IP literal."""
        host = canonical_host(name)
        return host if host in self._listed and not is_address(host) else None

    def bind(self, name: str, addresses: Iterable[IPAddress]) -> None:
        """Notes that a command was told these addresses for a listed name."""
        now = self._clock()
        for address in addresses:
            self._bound.pop((address, name), None)  # to the end: the oldest stand first
            self._bound[address, name] = now + BOUND_SECONDS
        while self._bound:
            oldest, until = next(iter(self._bound.items()))
            if until > now and len(self._bound) <= _MOST_BOUND:
                break
            del self._bound[oldest]

    def bind_at_launch(self, host: str, addresses: Iterable[IPAddress]) -> None:
        """Notes what a listed host resolved to at launch; that holds for the session."""
        for address in addresses:
            self._at_launch.setdefault(address, set()).add(host)

    def admits(self, address: IPAddress, port: int) -> bool:
        """Whether a connection to this address and port, which has a listener, may go out.

        A public address of the launch may be reached at each such port. Any other address needs a
        rule for the very port: a name's, or, where the address is inside this machine or network,
        the address's own or `localhost`'s.
        """
        if allows(self._rules, None, str(address), port) is not None:
            return True
        now = self._clock()
        names = {name for name in self._listed if self._bound.get((address, name), 0.0) > now}
        launched = self._at_launch.get(address, set())
        return (bool(launched) and is_public(address)) or any(
            allows(self._rules, None, name, port) is not None
            and may_lead_to(self._rules, None, name, address, port)
            for name in names | launched
        )
