"""Which IP addresses a name may lead to. design/decisions.md 10."""

import ipaddress
from typing import Final, TypeAlias

IPAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_NAT64_LOCAL: Final = ipaddress.IPv6Network("64:ff9b:1::/48")
_COMPATIBLE: Final = ipaddress.IPv6Network("::/96")
_BENCHMARK: Final = ipaddress.IPv4Network("198.18.0.0/15")


def is_public(address: IPAddress) -> bool:
    """False for an address that a name must not lead to unless the address itself is listed.

    Loopback, link-local, private, shared, multicast, reserved and unspecified ranges, also inside
    the IPv6 forms that carry an IPv4 address (mapped, compatible, NAT64, 6to4, Teredo).
    """
    if isinstance(address, ipaddress.IPv4Address):
        return (
            address.is_global
            and not address.is_multicast
            and not address.is_reserved
            and address not in _BENCHMARK
        )
    carried = _carried(address)
    if not all(is_public(inner) for inner in carried) or address in _NAT64_LOCAL:
        return False
    if carried:
        return True
    return address.is_global and not (
        address.is_multicast or address.is_reserved or address.is_site_local
    )


def _carried(address: ipaddress.IPv6Address) -> tuple[ipaddress.IPv4Address, ...]:
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    if address in _NAT64 or address in _COMPATIBLE:
        return (ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF),)
    return ()
