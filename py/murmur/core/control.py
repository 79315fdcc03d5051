"""What a controller may show and change, between the door that hears it and the session that acts.

spec/door.md 19. The door checks what HTTP brings; the session judges names and values. The token's
family (tag, payload and MAC domain) is this project's own choice, which the reference leaves open:
it is not interchangeable with a door token.
"""

import base64
import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

_TAG: Final = "ctl1"
_DOMAIN: Final = b"murmur-control-token-v1\x1f"

Kind = Literal["setting", "secret"]


class ControlRefused(Exception):
    """A change that is refused: an HTTP status, the trace's word, and one sentence."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting that was changed; it applies from the next inference call."""

    name: str
    previous: object
    value: object


class Controls(Protocol):
    """The declared settings and secrets of one session. Safe to use from any thread."""

    @property
    def settings(self) -> tuple[str, ...]:
        """The names a controller may change."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names a controller may supply."""

    def shown(self) -> Mapping[str, Any]:
        """The answer of `GET /control`; no secret's value is in it."""

    def change(self, name: str, value: object) -> SettingChange:
        """Changes a declared setting. Raises ControlRefused."""

    def supply(self, name: str, value: bytes) -> bool:
        """Takes a declared secret's value; whether one was held already. Raises ControlRefused."""

    def forget(self, name: str) -> None:
        """Drops a declared secret's value. Raises ControlRefused."""

    def note_refusal(self, status: int, reason: str, kind: Kind | None, name: str | None) -> None:
        """Records that the controller was refused."""


class ControlToken:
    """The one token of a session's control surface. The key that made it is forgotten at once."""

    def __init__(self, session_id: str) -> None:
        payload = json.dumps({"session": session_id}, separators=(",", ":")).encode()
        segment = _packed(payload)
        mac = hmac.digest(os.urandom(32), _DOMAIN + segment.encode("ascii"), hashlib.sha256)
        self.text: Final = f"{_TAG}.{segment}.{_packed(mac)}"

    @property
    def id(self) -> str:
        """How traces name it: 16 hex digits of its SHA-256."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]

    def proves(self, authorization: list[str]) -> bool:
        """Whether the header lines are one `Bearer` with this token; compared in constant time."""
        if len(authorization) != 1:
            return False
        scheme, _, token = authorization[0].partition(" ")
        same = hmac.compare_digest(token.encode("utf-8", "replace"), self.text.encode())
        return scheme.lower() == "bearer" and same


def _packed(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")
