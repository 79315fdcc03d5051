"""Hashes of what was sent to a driver, and under `capture: content` the bodies behind them.

spec/observability.md 6. Every hash is taken over the very pieces of the payload that is handed to
the driver, in the canonical JSON that the whole payload is serialized with.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from murmur.core.diagnostics import error
from murmur.core.safefs import Root

BLOBS: Final = "blobs"


def canonical(value: object) -> bytes:
    """`value` as canonical compact JSON: keys sorted by code point, non-ASCII text raw.

    A lone surrogate, which UTF-8 cannot hold, keeps its JSON escape. Raises ValueError for a
    number that JSON lacks and TypeError for what is no JSON value.
    """
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode("utf-8", "backslashreplace")


def encoded(text: str) -> bytes:
    """Text as the UTF-8 that is hashed; lone surrogates do not fail."""
    return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class Hashed:
    """A value's canonical JSON and the SHA-256 of its bytes."""

    text: str
    sha: str

    @classmethod
    def of(cls, value: object) -> "Hashed":
        """Raises as `canonical` does."""
        data = canonical(value)
        return cls(data.decode("utf-8"), hashlib.sha256(data).hexdigest())


class Capture:
    """What the level `none`, `meta` or `content` keeps; blobs go below the records directory."""

    def __init__(self, level: str, records: Root) -> None:
        if level not in ("none", "meta", "content"):
            raise ValueError(f"no capture level: {level!r}")
        self.level = level
        self._records = records
        self._stored: set[str] = set()

    def keep(self, body: bytes) -> str:
        """The hash of `body`, which at level `content` is stored under it. Raises E-RUN-007."""
        name = hashlib.sha256(body).hexdigest()
        if self.level == "content":
            self._store(name, body)
        return name

    def _store(self, name: str, body: bytes) -> None:
        try:
            with self._records.sub(BLOBS, create=True) as blobs:
                if not blobs.exists(name):
                    blobs.write_atomic(name, body)
            self._stored.add(name)
        except OSError as failure:
            reason = f"{BLOBS}/{name} cannot be written: {failure.strerror or failure}"
            raise error("E-RUN-007", reason=reason) from None

    def system_prompt(self, prompt: str | None) -> str | None:
        """`session_start.system_prompt_sha256`: before the `[Capsule]` block, at every level."""
        return None if prompt is None else self.keep(encoded(prompt))

    def message(self, text: str) -> str | None:
        """`a2a_task_received.message_sha256`; None at level `none`."""
        return None if self.level == "none" else self.keep(encoded(text))

    def output(self, text: str) -> str | None:
        """`tool_call.output`: the text at level `content` only."""
        return text if self.level == "content" else None

    def inference(
        self, system: str, tools: Sequence[object], messages: Sequence[Hashed], response: str
    ) -> dict[str, Any]:
        """The hash fields of a successful `inference` line; empty at level `none`.

        The first three are what was serialized for the driver, `response` is its raw answer.
        """
        if self.level == "none":
            return {}
        fields: dict[str, Any] = {
            "system_sha": self.keep(encoded(system)),
            "tools_sha": self.keep(canonical(tools)),
            "response_sha": self.keep(encoded(response)),
        }
        if messages:
            fields["message_shas"] = [message.sha for message in messages]
        if self.level == "content":
            for message in messages:
                if message.sha not in self._stored:
                    self._store(message.sha, message.text.encode("utf-8"))
        return fields
