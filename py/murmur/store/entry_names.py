"""Which entry names an archive may hold, alone and together. spec/registry.md 2.

Names are judged for every system that may ever unpack or copy them, not just this one: what is
one file here is two elsewhere, or a device, or somewhere else altogether. Stricter than reading
needs, since stores never unpack; so a bad name is found out when an archive is opened, not when
somebody else's tool meets it.
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

LENGTH_LIMIT: Final = 1024
SEGMENT_LIMIT: Final = 255

_DRIVE: Final = re.compile(r"[A-Za-z]:")
_DEVICE: Final = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|clock\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3])(?:\..*)?",
    re.IGNORECASE,
)
_UNSAFE_CATEGORIES: Final = ("Cc", "Cf", "Cs", "Zl", "Zp")


def name_fault(name: str) -> str | None:
    """Why an entry may not be called `name` (`/`-separated); None when it may."""
    if not name:
        return "its name is empty"
    if len(name.encode("utf-8", "surrogatepass")) > LENGTH_LIMIT:
        return f"its name is longer than {LENGTH_LIMIT} bytes"
    for character in name:
        if unicodedata.category(character) in _UNSAFE_CATEGORIES:
            return f"its name holds the invisible character U+{ord(character):04X}"
    if "\\" in name:
        return "its name holds a backslash"
    if name.startswith("/"):
        return "its name is absolute"
    if _DRIVE.match(name):
        return "its name starts with a drive"
    return next(filter(None, map(_segment_fault, name.split("/"))), None)


def _segment_fault(segment: str) -> str | None:
    if segment == "..":
        return "its name climbs out with .."
    if segment in ("", "."):
        return f"its name has the segment {segment!r}"
    if len(segment.encode("utf-8", "surrogatepass")) > SEGMENT_LIMIT:
        return f"its name has a segment of more than {SEGMENT_LIMIT} bytes"
    if ":" in segment:
        return "its name holds a colon"
    if segment[-1] in ". ":
        return f"its name has the segment {segment!r}, whose end some systems drop"
    if _DEVICE.fullmatch(segment):
        return f"its name is that of a device: {segment}"
    return None


def folded(name: str) -> str:
    """What names have in common that a file system blind to case or Unicode form takes for one."""
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())


def collision(files: Iterable[str], folders: Iterable[str] = ()) -> tuple[str, str, str] | None:
    """Two names that cannot be told apart everywhere, and how they are alike; None for none.

    `folders` are names of entries for folders, without their last `/`.
    """
    seen: dict[str, str] = {}
    for name in files:
        other = seen.setdefault(folded(name), name)
        if other is not name:
            return other, name, "twice" if other == name else _likeness(other, name)
    above: dict[str, str] = {}
    for name in (*seen.values(), *(f"{folder}/" for folder in folders)):
        parent = name
        while "/" in parent:
            parent = parent.rpartition("/")[0]
            above.setdefault(folded(parent), parent)
    for key, folder in above.items():
        if key in seen:
            return seen[key], f"{folder}/", "as a file and as a folder"
    return None


def _likeness(one: str, other: str) -> str:
    if unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other):
        return "in two Unicode forms"
    if one.casefold() == other.casefold():
        return "in two cases"
    return "in two cases and Unicode forms"
