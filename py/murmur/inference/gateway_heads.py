"""The heads that the gateway writes: what of a parsed one travels on, and what is ours."""

from typing import Final

import h11

from murmur.inference.gateway_messages import Headers, end_to_end
from murmur.inference.gateway_routes import Destination, GatewayTarget
from murmur.inference.secret import Secret

FRAMING: Final = (b"content-length", b"transfer-encoding")


def request_head(
    request: h11.Request, destination: Destination, *, body_length: int | None = None
) -> Headers:
    """The fields that go out: the guest's end-to-end ones, our host, and a framing of ours."""
    framing = {name: value for name, value in request.headers if name in FRAMING}
    fields = [
        (name, value)
        for name, value in end_to_end(request.headers)
        if name not in (b"host", b"expect", *FRAMING)
    ]
    head = [(b"host", destination.host_header), *fields]
    if framing and body_length is not None:
        head.append((b"content-length", str(body_length).encode()))
    elif b"content-length" in framing:
        head.append((b"content-length", framing[b"content-length"]))
    elif framing:
        head.append((b"transfer-encoding", b"chunked"))
    head.append((b"connection", b"close"))
    return head


def signed_head(head: Headers, target: GatewayTarget, key: Secret | None) -> Headers:
    """`head` without fields of the credential's name, and with one of ours when there is a key."""
    name = target.header.encode("ascii")
    head = [field for field in head if not _same_field(field[0], name)]
    return [*head, (name, target.render(key))] if key is not None else head


def response_head(status: int, headers: Headers) -> Headers:
    """The fields that go back to the guest; a length only where it is the framing."""
    chunked = any(name == b"transfer-encoding" for name, _ in headers)
    drops_length = chunked or status == 204
    return [
        (name, value)
        for name, value in end_to_end(headers)
        if not (drops_length and name == b"content-length")
    ]


def retry_after(headers: Headers) -> str | None:
    """`name: value` of what the provider says about coming back, the finer unit first."""
    for wanted in (b"retry-after-ms", b"retry-after"):
        for name, value in headers:
            if name == wanted:
                return f"{name.decode('ascii')}: {value[:64].decode('latin-1')}"
    return None


def _same_field(left: bytes, right: bytes) -> bool:
    """Whether two names denote one field; case and `_` for `-` do not count, as on some servers."""
    return left.lower().replace(b"_", b"-") == right.lower().replace(b"_", b"-")
