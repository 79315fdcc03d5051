"""Door tokens: who may call an authenticated door, and what for. spec/door.md 5.

Tokens are minted at launch under a key that lives in this process's memory, so none outlives the
session. They stand in the session's running record and nowhere else; no message quotes one.
"""

import base64
import binascii
import hashlib
import hmac
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from murmur.core.tasks import Caller
from murmur.door.errors import HttpRefusal
from murmur.door.methods import SCOPES

OPERATOR: Final = "operator"

_TAG: Final = "mdt1"
_DOMAIN: Final = b"murmur-door-token-v1\x1f"
_KEY_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Credential:
    """What a valid token proves."""

    name: str
    scopes: frozenset[str]

    @property
    def caller(self) -> Caller:
        return Caller("operator") if self.name == OPERATOR else Caller("credential", self.name)


class DoorTokens:
    """The tokens of one session: the operator's, and one per credential of the manifest.

    `credentials` maps a credential's name to its scopes; `realm` is the capsule's name.
    """

    def __init__(self, realm: str, credentials: Mapping[str, Sequence[str]]) -> None:
        self._realm = realm
        self._key = os.urandom(_KEY_BYTES)
        self.operator: Final = self._mint(OPERATOR, SCOPES)
        self.credentials: Final[Mapping[str, str]] = {
            name: self._mint(name, credentials[name]) for name in sorted(credentials)
        }

    def check(self, authorization: Sequence[str]) -> Credential:
        """The credential that a request's `Authorization` header lines prove.

        Raises the 401 HttpRefusal, which never says why a token is not valid.
        """
        challenge = f'Bearer realm="{self._realm}"'
        if not authorization:
            raise HttpRefusal(
                401,
                "unauthenticated",
                "this door wants a door token as Authorization: Bearer",
                {"www-authenticate": challenge},
            )
        credential = self._verify(authorization[0]) if len(authorization) == 1 else None
        if credential is None:
            raise HttpRefusal(
                401,
                "invalid_token",
                "the credential is none that this session gave out",
                {"www-authenticate": f'{challenge}, error="invalid_token"'},
            )
        return credential

    def require(self, credential: Credential, scope: str) -> None:
        """Raises the 403 HttpRefusal when the credential does not hold `scope`."""
        if scope not in credential.scopes:
            raise HttpRefusal(
                403,
                "insufficient_scope",
                f"credential '{credential.name}' does not reach {scope}",
                {
                    "www-authenticate": f'Bearer realm="{self._realm}", '
                    f'error="insufficient_scope", scope="{scope}"'
                },
            )

    def _mint(self, name: str, scopes: Sequence[str]) -> str:
        payload = json.dumps(
            {"credential": name, "scopes": list(scopes)},
            separators=(",", ":"),
            ensure_ascii=False,
        )
        segment = packed(payload.encode())
        return f"{_TAG}.{segment}.{packed(self._mac(segment))}"

    def _mac(self, segment: str) -> bytes:
        return hmac.digest(self._key, _DOMAIN + segment.encode("ascii"), hashlib.sha256)

    def _verify(self, header: str) -> Credential | None:
        scheme, _, token = header.partition(" ")
        segments = token.split(".")
        if scheme.lower() != "bearer" or len(segments) != 3 or segments[0] != _TAG:
            return None
        if not token.isascii():
            return None
        # The text of the MAC is compared, so that each token has one spelling.
        if not hmac.compare_digest(packed(self._mac(segments[1])), segments[2]):
            return None
        return _read_payload(segments[1])


def _read_payload(segment: str) -> Credential | None:
    try:
        payload = json.loads(base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4)))
        name, scopes = payload["credential"], payload["scopes"]
    except (ValueError, binascii.Error, KeyError, TypeError):
        return None
    if not isinstance(name, str) or not isinstance(scopes, list):
        return None
    if not all(isinstance(scope, str) and scope in SCOPES for scope in scopes):
        return None
    return Credential(name, frozenset(scopes))


def packed(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")
