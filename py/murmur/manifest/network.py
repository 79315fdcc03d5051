"""Network rules: the entries of every `network.allow` list, and the one matcher over them.

Pure Python without YAML or pydantic: the runtime's gateway, the scope report and the guest hosts
all decide with this module. seeds/manifest-schema.md, Network allow entries; spec/containment.md
17.5. A rule that names a scheme admits an HTTP request of that scheme alone; for a connection
whose scheme nobody knows (a command's), the scheme counts through its default port.
"""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from murmur.core.ip_addresses import IPAddress, is_public

DEFAULT_PORTS: Final = {"http": 80, "https": 443}

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMERIC: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PORT: Final = re.compile(r"[0-9]{1,5}")
_LONGEST_HOST: Final = 253


class BadRule(ValueError):
    """An entry in none of the accepted forms; `entry` as written and the `reason`."""

    def __init__(self, entry: str, reason: str) -> None:
        super().__init__(f"{entry!r}: {reason}")
        self.entry = entry
        self.reason = reason


def canonical_host(host: str) -> str | None:
    """`host` as rules compare it, or None when it is no host at all.

    Lower case, one trailing dot removed, an IPv6 address in its shortest form without brackets.
    Number-like spellings of IPv4 addresses (`127.1`, `0x7f000001`) are no hosts: a resolver would
    turn them into addresses that no rule names.
    """
    if host.startswith("["):
        return _ipv6(host[1:-1]) if host.endswith("]") else None
    if ":" in host:
        return _ipv6(host)
    name = host.lower().removesuffix(".")
    if not name or len(name) > _LONGEST_HOST or not name.isascii():
        return None
    labels = name.split(".")
    if _NUMERIC.fullmatch(labels[-1]):
        try:
            return str(ipaddress.IPv4Address(name))
        except ValueError:
            return None
    return name if all(_LABEL.fullmatch(label) for label in labels) else None


def _ipv6(text: str) -> str | None:
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return None
    return None if address.scope_id else str(address)


@dataclass(frozen=True, slots=True)
class NetworkRule:
    """One entry. `scheme` None admits both, `port` None every port; `host` is canonical."""

    text: str
    scheme: str | None
    host: str
    port: int | None

    @property
    def effective_port(self) -> int | None:
        """The port the rule admits, a scheme's default included; None for every port."""
        if self.port is None and self.scheme is not None:
            return DEFAULT_PORTS[self.scheme]
        return self.port

    @property
    def is_address(self) -> bool:
        """Whether the rule names an IP address literally rather than a name."""
        return is_address(self.host)

    def matches(self, scheme: str | None, host: str, port: int) -> bool:
        """Whether the rule admits `port` of the canonical `host`; `scheme` None is unknown."""
        if self.host != host or self.effective_port not in (None, port):
            return False
        return scheme is None or self.scheme is None or self.scheme == scheme

    def covers(self, other: "NetworkRule") -> bool:
        """Whether all that `other` admits is admitted here too."""
        if self.host != other.host or self.scheme not in (None, other.scheme):
            return False
        return self.effective_port in (None, other.effective_port)


def is_address(host: str) -> bool:
    """Whether a canonical host is an IP address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def parse_rule(entry: str) -> NetworkRule:
    """The rule that `entry` spells: `host`, `host:port` or `http(s)://host[:port]`.

    Raises BadRule with the reason.
    """
    scheme, rest = None, entry
    if url := _SCHEME.fullmatch(entry):
        scheme, rest = url[1].lower(), url[2]
        if scheme not in DEFAULT_PORTS:
            raise BadRule(entry, f"the scheme {scheme} is neither http nor https")
    if unwanted := next((part for sign, part in _UNWANTED if sign in rest), None):
        raise BadRule(entry, f"{unwanted} cannot be part of an entry")
    host_text, port = _split_port(entry, rest)
    host = canonical_host(host_text if host_text.isascii() else _ascii_host(entry, host_text))
    if host is None:
        raise BadRule(entry, f"{host_text!r} is neither a host name nor an IP address")
    return NetworkRule(entry, scheme, host, port)


def _ascii_host(entry: str, host: str) -> str:
    """The `xn--` form of an international name, which is what requests and resolvers carry.

    Characters that the two IDNA standards read differently are refused: the rule would admit
    another host than the author sees.
    """
    if any(character in _AMBIGUOUS for character in host):
        raise BadRule(entry, f"{host!r} has two readings; write the host in its xn-- form")
    try:
        name = host.encode("idna").decode("ascii")
    except UnicodeError:
        raise BadRule(entry, f"{host!r} is no international host name") from None
    if is_address(name) or _NUMERIC.fullmatch(name.rpartition(".")[2]):
        raise BadRule(entry, f"{host!r} is an address in other digits")
    return name


# U+00DF, U+03C2 and the two joiners: mapped away by IDNA 2003, kept by IDNA 2008.
_AMBIGUOUS: Final = "\u00df\u1e9e\u03c2\u200c\u200d"

_UNWANTED: Final = (
    ("?", "a query"),
    ("#", "a fragment"),
    ("/", "a path"),
    ("@", "a user name"),
    ("*", "a wildcard"),
    ("\\", "a backslash"),
)


def _split_port(entry: str, rest: str) -> tuple[str, int | None]:
    """Host and port of `host[:port]`; an IPv6 address needs brackets."""
    if rest.startswith("["):
        host, bracket, tail = rest.partition("]")
        if not bracket or (tail and not tail.startswith(":")):
            raise BadRule(entry, "the brackets around an IPv6 address do not match")
        host, separator, port = host + bracket, tail[:1], tail[1:]
    else:
        host, separator, port = rest.partition(":")
        if ":" in port:
            raise BadRule(entry, "an IPv6 address needs brackets around it")
    if not separator:
        return host, None
    if not _PORT.fullmatch(port) or not 1 <= int(port) <= 65535:
        raise BadRule(entry, f"{port!r} is no port from 1 to 65535")
    return host, int(port)


def parse_rules(entries: Iterable[str]) -> tuple[NetworkRule, ...]:
    """The rules of one allow list, in order. Raises E-CAP-001 for the first bad entry."""
    try:
        return tuple(parse_rule(entry) for entry in entries)
    except BadRule as bad:
        from murmur.core.diagnostics import error

        raise error("E-CAP-001", entry=bad.entry, reason=bad.reason) from None


def allows(
    rules: Iterable[NetworkRule], scheme: str | None, host: str, port: int | None
) -> NetworkRule | None:
    """The first rule that admits a connection, or None.

    `host` as the caller has it (any case, brackets, a trailing dot); `port` None means the
    scheme's default. A scheme other than http, https and None (unknown) is never admitted.
    """
    wanted = canonical_host(host)
    if scheme is not None:
        scheme = scheme.lower()
        if scheme not in DEFAULT_PORTS:
            return None
        port = port if port is not None else DEFAULT_PORTS[scheme]
    if wanted is None or port is None:
        return None
    return next((rule for rule in rules if rule.matches(scheme, wanted, port)), None)


def may_lead_to(
    rules: Iterable[NetworkRule], scheme: str | None, host: str, address: IPAddress, port: int
) -> bool:
    """Whether an address that an admitted `host` resolved to may be dialled.

    An address that is not public must be on the list itself, or be this machine's loopback under
    the listed name `localhost`: else whoever answers for the name would choose a machine of this
    network. design/decisions.md 10.
    """
    if is_public(address) or (host == "localhost" and address.is_loopback):
        return True
    return allows(rules, scheme, str(address), port) is not None


def narrow(
    declared: Iterable[NetworkRule], ceiling: Iterable[NetworkRule]
) -> tuple[tuple[NetworkRule, ...], tuple[NetworkRule, ...]]:
    """Splits an artifact's own rules into those under the ceiling and those outside it.

    seeds/manifest-schema.md, Tool and driver capabilities: the second part is dropped, one
    W-SEC-007 each.
    """
    above = tuple(ceiling)
    kept: list[NetworkRule] = []
    dropped: list[NetworkRule] = []
    for rule in declared:
        (kept if any(top.covers(rule) for top in above) else dropped).append(rule)
    return tuple(kept), tuple(dropped)
