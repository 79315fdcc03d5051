"""The fence around content that no one vouches for. spec/sessions.md 11.5."""

import re
from typing import Final

_MARKER: Final = re.compile(r"<(?=/?untrusted-content)", re.IGNORECASE | re.ASCII)
_NEUTRAL: Final = "<!MURMUR-NEUTRALISED!"


def fence(source: str, content: str) -> str:
    """`content` between the markers; markers inside it are made harmless.

    `source` is `tool:<name>`, `task:<origin>`, `member:<name>` or `delegation:<capsule>`.
    """
    name = source.replace(">", "_").replace("\r", " ").replace("\n", " ")
    body = _MARKER.sub(_NEUTRAL, content)
    return f"<untrusted-content source={name}>\n{body}\n</untrusted-content>"
