"""An artifact's `upstream_auth:` block: the header that carries a gateway's key.

Read only where the capsule's entry declares `gateway:`. spec/artifacts.md 12.1;
spec/formations-and-newer-manifest.md A2.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from murmur.manifest.config import kind_of

FORBIDDEN: Final = frozenset(
    (
        "host",
        "origin",
        "referer",
        "cookie",
        "connection",
        "content-length",
        "content-type",
        "content-encoding",
        "expect",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
_PLACEHOLDER: Final = "{key}"
_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}")
_VALUE: Final = re.compile(r"[\x20-\x7e]{1,1024}")


@dataclass(frozen=True, slots=True)
class UpstreamAuth:
    """The header's name, and its value with `{key}` in it exactly once."""

    header: str
    value: str

    def render(self, key: str) -> str:
        """The header's value with the key in place."""
        return self.value.replace(_PLACEHOLDER, key)


class BadUpstreamAuth(ValueError):
    """Why a block cannot be used; the reason of E-RUN-025."""


def parse_upstream_auth(block: object) -> UpstreamAuth:
    """The block as it is used. Raises BadUpstreamAuth when it is absent or malformed."""
    if block is None:
        raise BadUpstreamAuth("its manifest declares no upstream_auth")
    if not isinstance(block, Mapping):
        raise BadUpstreamAuth(f"upstream_auth is {kind_of(block)}, not a mapping")
    header, value = block.get("header"), block.get("value")
    for key, found in (("header", header), ("value", value)):
        if not isinstance(found, str):
            raise BadUpstreamAuth(f"upstream_auth.{key} is {kind_of(found)}, not a string")
    assert isinstance(header, str) and isinstance(value, str)
    if not _HEADER.fullmatch(header):
        raise BadUpstreamAuth("upstream_auth.header is no valid header name")
    if header.lower() in FORBIDDEN:
        raise BadUpstreamAuth(f"upstream_auth.header must not be {header}")
    if not _VALUE.fullmatch(value):
        raise BadUpstreamAuth("upstream_auth.value holds a character that a header cannot hold")
    if value.count(_PLACEHOLDER) != 1:
        raise BadUpstreamAuth("upstream_auth.value must hold {key} exactly once")
    return UpstreamAuth(header, value)
