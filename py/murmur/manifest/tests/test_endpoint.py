"""Gateway endpoints. spec/formations-and-newer-manifest.md A4."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.manifest.endpoint import BadEndpoint, Endpoint, parse_endpoint


@pytest.mark.parametrize(
    ("text", "endpoint", "authority"),
    [
        ("https://api.anthropic.com", ("https", "api.anthropic.com", 443, ""), "api.anthropic.com"),
        ("https://h.example/v1/", ("https", "h.example", 443, "/v1"), "h.example"),
        ("https://h.example:8443/a/b", ("https", "h.example", 8443, "/a/b"), "h.example:8443"),
        ("http://localhost:11434", ("http", "localhost", 11434, ""), "localhost:11434"),
        ("http://127.9.0.1", ("http", "127.9.0.1", 80, ""), "127.9.0.1"),
        ("http://[::1]:8080/x", ("http", "::1", 8080, "/x"), "[::1]:8080"),
        ("HTTPS://H.Example", ("https", "h.example", 443, ""), "h.example"),
    ],
)
def test_the_accepted_endpoints(
    text: str, endpoint: tuple[str, str, int, str], authority: str
) -> None:
    found = parse_endpoint(text)
    assert found == Endpoint(*endpoint)
    assert found.authority == authority
    assert parse_endpoint(found.url) == found


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("http://api.example.com", "loopback"),
        ("http://0.0.0.0", "loopback"),
        ("http://[::ffff:127.0.0.1]", "loopback"),
        ("http://localhost.evil.example", "loopback"),
        ("api.anthropic.com", "does not begin"),
        ("not a url", "does not begin"),
        ("ftp://example.com", "does not begin"),
        ("https://user:secret@example.com", "user name"),
        ("https://${HOST}", "reference"),
        ("https://h.example?key=secret", "query"),
        ("https://h.example#x", "query or a fragment"),
        ("https://", "host"),
        ("https://h.example:99999", "port"),
        ("https://h.example:0", "port"),
        ("https://h.example:x", "host"),
        ("https://h.example/a b", "path"),
        ("https://h.example/%zz", "path"),
        ("https://h.example/\r\nX: y", "does not begin|path"),
        ("http://127.1", "host"),
    ],
)
def test_anything_else_is_refused_without_quoting_it(text: str, reason: str) -> None:
    with pytest.raises(BadEndpoint, match=reason) as refusal:
        parse_endpoint(text)
    assert "secret" not in str(refusal.value)


@given(
    st.text(max_size=60) | st.text("htps:/[]@?#$.{}%a1\r\n", max_size=40).map("https://".__add__)
)
def test_any_text_is_an_endpoint_or_refused(text: str) -> None:
    try:
        endpoint = parse_endpoint(text)
    except BadEndpoint:
        return
    assert parse_endpoint(endpoint.url) == endpoint
    assert endpoint.url.isascii() and endpoint.url.isprintable() and " " not in endpoint.url
