"""What a controller may show and change, between the door that hears it and the session that acts.

spec/door.md 19. The door checks what HTTP brings; the session judges names and values.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

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
