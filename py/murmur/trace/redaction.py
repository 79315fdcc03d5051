"""Keeping credentials out of the texts that a trace quotes.

spec/observability.md 5.2 and 5.3: an error's text is cut to 2,000 bytes after every known
credential in it was replaced.
"""

import json
import urllib.parse
from collections.abc import Callable, Iterable
from typing import Final

REDACTED: Final = "[redacted]"
_SHORTEST: Final = 4


class Redactor:
    """Replaces credentials. `secrets` is asked anew each time, because keys rotate."""

    def __init__(self, secrets: Callable[[], Iterable[str]] = tuple) -> None:
        self._secrets = secrets

    def __call__(self, text: str, limit: int | None = None) -> str:
        """`text` without credentials, cut to `limit` bytes of UTF-8.

        A credential is also found as JSON or a URL would spell it. Values shorter than four
        characters are left: replacing them would shred ordinary words.
        """
        for secret in sorted(self._spellings(), key=len, reverse=True):
            text = text.replace(secret, REDACTED)
        return text if limit is None else clip(text, limit)

    def _spellings(self) -> set[str]:
        found: set[str] = set()
        for secret in self._secrets():
            if len(secret) >= _SHORTEST:
                quoted = urllib.parse.quote(secret, safe="")
                found |= {secret, json.dumps(secret)[1:-1], quoted}
        return found


def clip(text: str, limit: int) -> str:
    """The longest beginning of `text` that is at most `limit` bytes of UTF-8."""
    data = text.encode("utf-8", "replace")
    return text if len(data) <= limit else data[:limit].decode("utf-8", "ignore")
