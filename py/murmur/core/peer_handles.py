"""Handles that let one peer fetch one file: minted by `share-file`, redeemed at the door.

spec/door.md 18. A handle is a token `mh1.<payload>.<MAC>`; it names a file and no version, works
until it expires, and is worth nothing to anybody who does not know for whom it was made. The key
lives in this process alone, so the session's end revokes every handle.
"""

import base64
import binascii
import dataclasses
import hashlib
import hmac
import json
import re
import secrets
import threading
import time
from typing import Any, Final, Literal

_PREFIX: Final = "mh1"
_DOMAIN: Final = b"murmur-peer-handle-v1"
_SEPARATOR: Final = b"\x1f"
_TOKEN: Final = re.compile(r"mh1\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_LONGEST: Final = 16384

HandleRefusal = Literal[
    "malformed_handle", "missing_audience", "handle_not_valid", "handle_expired"
]


class BadHandle(Exception):
    """A token that opens nothing; `code` is the peer plane's error word."""

    def __init__(self, code: HandleRefusal, reason: str) -> None:
        super().__init__(reason)
        self.code: HandleRefusal = code
        self.reason = reason


@dataclasses.dataclass(frozen=True, slots=True)
class Handle:
    """A minted handle. `token` is the secret; everything else may be told."""

    token: str
    expires_at_ms: int
    audience: str

    @property
    def id(self) -> str:
        return handle_id(self.token)


class PeerHandles:
    """Mints and reads the handles of one session. Safe to use from any thread."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._lock = threading.Lock()
        self._key: bytearray | None = bytearray(secrets.token_bytes(32))

    def mint(self, path: str, audience: str, lifetime_s: float) -> Handle:
        """A handle for `path`, relative to the root and canonical, that `audience` may redeem."""
        expires = time.time_ns() // 1_000_000 + int(lifetime_s * 1000)
        payload = {
            "v": 1,
            "iss": self._session_id,
            "p": path,
            "exp": expires,
            "n": secrets.token_hex(16),
        }
        packed = _pack(json.dumps(payload, separators=(",", ":"), ensure_ascii=False).encode())
        audience = audience.lower()
        return Handle(f"{_PREFIX}.{packed}.{_pack(self._mac(packed, audience))}", expires, audience)

    def path_of(self, token: str, audience: str | None) -> str:
        """The path that a token opens to `audience`, the value of `x-murmur-audience`.

        Raises BadHandle with the first check it fails: shape, audience, MAC, session, expiry.
        """
        packed, given, payload = _read(token)
        if not audience:
            raise BadHandle("missing_audience", "x-murmur-audience is missing")
        wanted = self._mac(packed, audience.lower())
        if not hmac.compare_digest(wanted, given) or payload["iss"] != self._session_id:
            raise BadHandle("handle_not_valid", "the handle is not valid")
        if time.time_ns() // 1_000_000 >= payload["exp"]:
            raise BadHandle("handle_expired", "the handle has expired")
        return str(payload["p"])

    def revoke(self) -> None:
        """Overwrites the key: from now on no handle opens anything."""
        with self._lock:
            if self._key is not None:
                self._key[:] = bytes(len(self._key))
                self._key = None

    def _mac(self, packed: str, audience: str) -> bytes:
        with self._lock:
            if self._key is None:
                raise BadHandle("handle_not_valid", "the handle is not valid")
            key = bytes(self._key)
        text = _SEPARATOR.join([_DOMAIN, packed.encode(), audience.encode("utf-8", "replace")])
        return hmac.new(key, text, hashlib.sha256).digest()


def handle_id(token: str) -> str:
    """How traces and errors name a token: 16 hex digits of its SHA-256."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()[:16]


def hide_tokens(value: Any) -> Any:
    """A JSON value with every token in its strings replaced by `<handle:ID>`."""
    if isinstance(value, str):
        return _TOKEN.sub(lambda found: f"<handle:{handle_id(found[0])}>", value)
    if isinstance(value, dict):
        return {hide_tokens(key): hide_tokens(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [hide_tokens(item) for item in value]
    return value


def _read(token: str) -> tuple[str, bytes, dict[str, Any]]:
    """Payload segment, MAC and payload of a token. Raises BadHandle `malformed_handle`."""
    try:
        if len(token) > _LONGEST or not _TOKEN.fullmatch(token):
            raise ValueError("shape")
        _, packed, mac = token.split(".")
        payload = json.loads(_unpack(packed))
        if not isinstance(payload, dict) or payload.get("v") != 1:
            raise ValueError("version")
        for key, kind in (("iss", str), ("p", str), ("exp", int), ("n", str)):
            if not isinstance(payload.get(key), kind):
                raise ValueError(key)
        return packed, _unpack(mac), payload
    except (ValueError, RecursionError):
        raise BadHandle("malformed_handle", "the handle is not shaped like one") from None


def _pack(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _unpack(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as bad:
        raise ValueError(str(bad)) from None
