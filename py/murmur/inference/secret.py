"""A key as the runtime holds it: nothing prints it by accident. spec/artifacts.md 12.2."""

import hmac
import re
from collections.abc import Iterable
from typing import Final, NoReturn

_HEADER_SAFE: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?", re.ASCII)
_SHORTEST_REDACTED: Final = 6
REDACTED: Final = "[redacted]"


class Secret:
    """One key. Its repr, str and format hide it; it compares in constant time; it never pickles.

    Raises ValueError (without the value) when the text could not stand in one header line, so that
    no later layer meets it in a message of its own.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        if not _HEADER_SAFE.fullmatch(text):
            raise ValueError("the key is empty or holds characters that no header line can carry")
        self._text = text

    def reveal(self) -> str:
        """The key itself, for the one place that writes it on the wire."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(…)"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._text.encode(), other._text.encode())

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret is never serialised")


def redact(text: str, secrets: Iterable[Secret]) -> str:
    """`text` with every key in it replaced by `[redacted]`, for traces, results and messages.

    Keys under six characters are left alone: replacing them would shred ordinary words and protect
    nothing. spec/observability.md 5.3.
    """
    for secret in secrets:
        key = secret.reveal()
        if len(key) >= _SHORTEST_REDACTED:
            text = text.replace(key, REDACTED)
    return text
