"""Network rules. seeds/manifest-schema.md, Network allow entries."""

import ipaddress
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.core.diagnostics import MurmurError
from murmur.manifest.network import (
    BadRule,
    NetworkRule,
    allows,
    canonical_host,
    narrow,
    parse_rule,
    parse_rules,
)


@pytest.mark.parametrize(
    ("entry", "scheme", "host", "port"),
    [
        ("https://api.example.com", "https", "api.example.com", None),
        ("HTTPS://API.Example.com.", "https", "api.example.com", None),
        ("http://localhost:8080", "http", "localhost", 8080),
        ("api.example.com", None, "api.example.com", None),
        ("localhost:11434", None, "localhost", 11434),
        ("10.0.0.1", None, "10.0.0.1", None),
        ("[::1]:80", None, "::1", 80),
        ("https://[2001:DB8:0::1]", "https", "2001:db8::1", None),
        ("a_b.example", None, "a_b.example", None),
        ("b\u00fccher.example", None, "xn--bcher-kva.example", None),
        ("https://B\u00dcCHER.example:8443", "https", "xn--bcher-kva.example", 8443),
        ("xn--bcher-kva.example", None, "xn--bcher-kva.example", None),
    ],
)
def test_the_accepted_forms(entry: str, scheme: str | None, host: str, port: int | None) -> None:
    assert parse_rule(entry) == NetworkRule(entry, scheme, host, port)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("https://api.example.com/v1", "a path"),
        ("https://api.example.com/", "a path"),
        ("https://api.example.com?x=1", "a query"),
        ("https://api.example.com#top", "a fragment"),
        ("ftp://example.com", "neither http nor https"),
        ("https://user:pw@example.com", "a user name"),
        ("*.example.com", "a wildcard"),
        ("*", "a wildcard"),
        ("", "neither a host name"),
        ("https://", "neither a host name"),
        ("example..com", "neither a host name"),
        ("-a.example", "neither a host name"),
        ("exa mple.com", "neither a host name"),
        ("example.com\n", "neither a host name"),
        ("fu\u00dfball.example", "two readings"),
        ("a\u200db.example", "two readings"),
        ("\uff11\uff12\uff17.0.0.1", "an address in other digits"),
        ("b\u00fccher..example", "no international host name"),
        ("127.1", "neither a host name"),
        ("0x7f000001", "neither a host name"),
        ("2130706433", "neither a host name"),
        ("256.1.1.1", "neither a host name"),
        ("localhost:", "is no port"),
        ("localhost:0", "is no port"),
        ("localhost:65536", "is no port"),
        ("localhost:+80", "is no port"),
        ("localhost:٨٠", "is no port"),
        ("::1", "needs brackets"),
        ("[::1", "do not match"),
        ("[::1]80", "do not match"),
        ("[fe80::1%eth0]", "neither a host name"),
    ],
)
def test_anything_else_is_refused_with_the_entry_and_the_reason(entry: str, reason: str) -> None:
    with pytest.raises(BadRule) as refusal:
        parse_rule(entry)
    assert refusal.value.entry == entry
    assert reason in refusal.value.reason
    with pytest.raises(MurmurError) as error:
        parse_rules(["ok.example", entry])
    assert error.value.code == "E-CAP-001"
    assert repr(entry) in error.value.message and reason in error.value.message


@pytest.mark.parametrize(
    ("entry", "scheme", "host", "port", "allowed"),
    [
        ("https://a.example", "https", "a.example", None, True),
        ("https://a.example", "https", "A.EXAMPLE.", 443, True),
        ("https://a.example", "https", "a.example", 8443, False),
        ("https://a.example", "http", "a.example", 443, False),
        ("https://a.example", None, "a.example", 443, True),
        ("https://a.example", None, "a.example", 80, False),
        ("http://a.example", "http", "a.example", None, True),
        ("a.example", "http", "a.example", 1234, True),
        ("a.example", "https", "b.a.example", None, False),
        ("a.example", "https", "aa.example", None, False),
        ("a.example", "https", "example", None, False),
        ("a.example:8080", "https", "a.example", 8080, True),
        ("a.example:8080", "https", "a.example", None, False),
        ("a.example", "ftp", "a.example", 21, False),
        ("a.example", None, "a.example", None, False),
        ("[::1]", "http", "::1", 80, True),
        ("[::1]", "http", "[0:0:0:0:0:0:0:1]", 80, True),
        ("127.0.0.1", "http", "127.1", 80, False),
        ("127.0.0.1", "http", "localhost", 80, False),
    ],
)
def test_matching_is_exact_and_case_insensitive(
    entry: str, scheme: str | None, host: str, port: int | None, allowed: bool
) -> None:
    rules = parse_rules([entry])
    assert (allows(rules, scheme, host, port) is rules[0]) == allowed
    assert (allows(rules, scheme, host, port) is None) == (not allowed)


def test_an_empty_list_allows_nothing() -> None:
    assert allows((), "https", "a.example", 443) is None


def test_a_bare_host_does_not_fit_under_a_scheme_bound_ceiling() -> None:
    ceiling = parse_rules(["https://api.example.com", "open.example"])
    declared = parse_rules(
        [
            "api.example.com",
            "https://api.example.com",
            "https://api.example.com:443",
            "api.example.com:443",
            "http://open.example:8080",
            "other.example",
        ]
    )
    kept, dropped = narrow(declared, ceiling)
    assert [rule.text for rule in kept] == [
        "https://api.example.com",
        "https://api.example.com:443",
        "http://open.example:8080",
    ]
    assert [rule.text for rule in dropped] == [
        "api.example.com",
        "api.example.com:443",
        "other.example",
    ]


_LABELS = st.from_regex(r"[a-z]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
_NAMES = st.lists(_LABELS, min_size=1, max_size=3).map(".".join)
_HOSTS = (
    _NAMES
    | st.ip_addresses(v=4).map(str)
    | st.ip_addresses(v=6).map(lambda address: f"[{address}]")
)
_PORTS = st.none() | st.integers(1, 65535)
_SCHEMES = st.sampled_from([None, "http", "https"])


@st.composite
def _entries(draw: st.DrawFn) -> str:
    scheme, host, port = draw(_SCHEMES), draw(_HOSTS), draw(_PORTS)
    prefix = f"{scheme}://" if scheme else ""
    return f"{prefix}{host}{'' if port is None else f':{port}'}"


_REQUESTS = st.tuples(st.sampled_from(["http", "https"]), _HOSTS, _PORTS)


@given(_entries())
def test_a_rule_admits_itself(entry: str) -> None:
    rule = parse_rule(entry)
    scheme, port = rule.scheme or "https", rule.effective_port or 1234
    assert allows([rule], scheme, rule.host.upper(), port) is rule
    assert allows([rule], None, rule.host, port) is rule
    assert rule.covers(rule)


# Few hosts and ports, so that two random entries often speak of the same thing.
_CLOSE = st.sampled_from(
    [
        f"{scheme}{host}{port}"
        for scheme in ("", "http://", "https://")
        for host in ("a.example", "b.example")
        for port in ("", ":80", ":443", ":8443")
    ]
)
_CLOSE_REQUESTS = st.tuples(
    st.sampled_from([None, "http", "https"]),
    st.sampled_from(["a.example", "B.example."]),
    st.sampled_from([80, 443, 8443, 1]),
)


@given(_CLOSE, _CLOSE, _CLOSE_REQUESTS)
def test_what_a_covered_rule_admits_its_ceiling_admits(
    above: str, below: str, request: tuple[str | None, str, int]
) -> None:
    top, rule = parse_rule(above), parse_rule(below)
    if top.covers(rule) and allows([rule], *request):
        assert allows([top], *request)


@given(_CLOSE, _CLOSE)
def test_a_rule_outside_the_ceiling_admits_something_the_ceiling_does_not(
    above: str, below: str
) -> None:
    top, rule = parse_rule(above), parse_rule(below)
    admitted = [
        (scheme, host, port)
        for scheme in ("http", "https")
        for host in ("a.example", "b.example")
        for port in (80, 443, 8443, 1)
        if allows([rule], scheme, host, port)
    ]
    assert top.covers(rule) == all(allows([top], *request) for request in admitted)


@given(st.lists(_entries(), max_size=4), _REQUESTS)
def test_only_a_listed_host_is_ever_admitted(
    entries: list[str], request: tuple[str, str, int | None]
) -> None:
    rule = allows(parse_rules(entries), *request)
    if rule is not None:
        assert rule.host == canonical_host(request[1])
        assert rule.scheme in (None, request[0])
        assert rule.text in entries


@given(st.text(max_size=40) | st.text("[]:./@?#*\\ %xX0123456789abf-_", max_size=30))
def test_any_text_is_a_rule_or_refused(text: str) -> None:
    try:
        rule = parse_rule(text)
    except BadRule:
        return
    assert canonical_host(rule.host) == rule.host
    assert rule.host.isascii() and not set(rule.host) & set("/?#@*\\ %[]")
    if rule.is_address:
        assert str(ipaddress.ip_address(rule.host)) == rule.host


def test_guest_hosts_import_the_matcher_without_pydantic_or_yaml() -> None:
    code = (
        "import sys, murmur.manifest.network, murmur.manifest.parse, murmur.manifest.artifact; "
        "print([m for m in ('pydantic', 'yaml') if m in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert out.stdout.strip() == "[]"
