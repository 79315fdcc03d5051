"""Names of pages in addresses."""

import re


def slug(title: str) -> str:
    """The title in small letters, with one hyphen where there is something else than letters."""
    return re.sub(r"[^a-z0-9]", "-", title.lower()).strip("-")
