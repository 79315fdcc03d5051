"""Which address may be reached through which name. spec/containment.md 17.1, 17.4 and 17.5."""

import ipaddress

import pytest

from murmur.manifest.network import parse_rules
from murmur.sandbox.egress.reach import BOUND_SECONDS, Reach, implied_ports


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def ip(text: str) -> ipaddress.IPv4Address:
    return ipaddress.IPv4Address(text)


def reach(*allow: str, clock: Clock | None = None) -> Reach:
    return Reach(parse_rules(allow), clock or Clock())


@pytest.mark.parametrize(
    ("allow", "ports"),
    [
        ([], ()),
        (["api.example.com"], (80, 443)),
        (["https://api.example.com", "https://b.example.com"], (443,)),
        (["http://api.example.com", "b.example.com:8443"], (80, 8443)),
        (["https://api.example.com:9443", "localhost:11434"], (9443, 11434)),
    ],
)
def test_a_listener_is_needed_for_each_implied_port(allow: list[str], ports: tuple[int]) -> None:
    assert implied_ports(parse_rules(allow)) == ports


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        ("api.example.com", "api.example.com"),
        ("API.Example.Com.", "api.example.com"),
        ("sub.api.example.com", None),
        ("example.com", None),
        ("api.example.com.evil.net", None),
        ("1.2.3.4", None),
        ("", None),
        (".", None),
        ("api.example.com..", None),
    ],
)
def test_names_are_compared_whole_and_addresses_are_no_names(name: str, listed: str | None) -> None:
    assert reach("api.example.com", "1.2.3.4").listed_name(name) == listed


def test_an_answered_address_is_admitted_for_the_names_own_ports_and_a_while() -> None:
    clock = Clock()
    made = reach("https://api.example.com", "other.example.com:8443", clock=clock)
    assert not made.admits(ip("93.184.215.14"), 443)
    made.bind("api.example.com", [ip("93.184.215.14")])
    assert made.admits(ip("93.184.215.14"), 443)
    assert not made.admits(ip("93.184.215.14"), 8443), "the other name's port"
    assert not made.admits(ip("93.184.215.15"), 443)
    clock.now += BOUND_SECONDS - 1
    assert made.admits(ip("93.184.215.14"), 443)
    clock.now += 2
    assert not made.admits(ip("93.184.215.14"), 443)


def test_an_address_shared_by_two_names_keeps_the_rules_of_both() -> None:
    made = reach("https://a.example.com", "b.example.com:8443")
    for name in ("a.example.com", "b.example.com"):
        made.bind(name, [ip("93.184.215.14")])
    assert made.admits(ip("93.184.215.14"), 443) and made.admits(ip("93.184.215.14"), 8443)
    assert not made.admits(ip("93.184.215.14"), 80)


def test_a_public_address_of_the_launch_is_admitted_at_every_listener() -> None:
    made = reach("https://api.example.com", "other.example.com:8443")
    made.bind_at_launch("api.example.com", [ip("93.184.215.14")])
    assert made.admits(ip("93.184.215.14"), 8443)


def test_an_inner_address_needs_a_rule_of_its_own_for_the_port() -> None:
    made = reach("https://api.example.com", "10.0.0.5:8443", "localhost:11434")
    made.bind_at_launch("api.example.com", [ip("10.0.0.5"), ip("10.0.0.6")])
    made.bind_at_launch("localhost", [ip("127.0.0.1")])
    made.bind("api.example.com", [ip("10.0.0.5"), ip("127.0.0.1")])
    assert made.admits(ip("10.0.0.5"), 8443)
    assert not made.admits(ip("10.0.0.5"), 443), "listed for another port"
    assert not made.admits(ip("10.0.0.6"), 443)
    assert not made.admits(ip("127.0.0.1"), 443), "the host's own services"
    assert made.admits(ip("127.0.0.1"), 11434)


def test_what_was_answered_is_forgotten_before_it_fills_the_memory() -> None:
    clock = Clock()
    made = reach("https://api.example.com", clock=clock)
    first = ip("93.184.0.1")
    made.bind("api.example.com", [first])
    for number in range(5000):
        made.bind("api.example.com", [ip("94.0.0.0") + number])
    assert not made.admits(first, 443)
    assert made.admits(ip("94.0.0.0") + 4999, 443)
    assert len(made._bound) == 4096
    clock.now += BOUND_SECONDS + 1
    made.bind("api.example.com", [first])
    assert len(made._bound) == 1
