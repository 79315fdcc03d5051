"""Strings written as YAML scalars that YAML 1.1 and 1.2 readers alike take for those strings."""

import re
from typing import Final

_PLAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./+-]*")
# What some YAML reader, of 1.1 or 1.2, would not take for a string.
_NOT_A_STRING: Final = re.compile(
    r"[0-9_]+(\.[0-9_]*)?([eE][-+]?[0-9]+)?|0[xob][0-9a-fA-F_]+|[0-9]+(:[0-9]+)+"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*|true|false|yes|no|on|off|null|y|n",
    re.IGNORECASE,
)


def yaml_scalar(text: str) -> str:
    """`text` plain where every reader takes that for this string, else in double quotes."""
    if _PLAIN.fullmatch(text) and not _NOT_A_STRING.fullmatch(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
