"""Path patterns that protect files, in the way of .gitignore.

A pattern ending in `/` covers a folder and what lies below it, any other a file or folder. One
without another `/` covers that name wherever it stands, one with a `/` in it that path below the
work folder. `*` and `?` stay within a name. A hook does not know where the work folder lies, so an
absolute path is covered when any end of it is: rather one refusal too many.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from posixpath import normpath

from murmur.read_only.subtrees import Covered

DEFAULT_PROTECT = ("tests/", "test_*", "*_test.*", "spec/", "conftest.py")


@dataclass(frozen=True)
class Patterns:
    """What is protected, but for what is allowed again (`murmur.read_only.subtrees.Protected`)."""

    rules: tuple[str, ...]
    allow: tuple[str, ...] = ()
    workdir: str = "."

    def covering(
        self, path: str, base: str | None = None, *, entry: bool = False
    ) -> Covered | None:
        """The path and the pattern that protects it, or None."""
        whole = path if path.startswith("/") else f"{base or '.'}/{path}"
        parts = [part for part in normpath(whole).split("/") if part not in ("", ".")]
        if not parts:
            return None
        anywhere = whole.startswith("/") or parts[0] == ".."
        if _first(self.allow, parts, anywhere):
            return None
        rule = _first(self.rules, parts, anywhere)
        return Covered("/".join(parts), rule) if rule else None


def _first(patterns: Iterable[str], parts: Sequence[str], anywhere: bool) -> str | None:
    return next((each for each in patterns if _covers(each, parts, anywhere)), None)


def _covers(pattern: str, parts: Sequence[str], anywhere: bool) -> bool:
    wanted = [part for part in pattern.split("/") if part not in ("", ".")]
    if not wanted:
        return False
    anchored = len(wanted) > 1 or pattern.startswith("/")
    starts = range(len(parts)) if anywhere or not anchored else (0,)
    return any(
        len(parts) - start >= len(wanted)
        and all(fnmatchcase(part, want) for part, want in zip(parts[start:], wanted, strict=False))
        for start in starts
    )
