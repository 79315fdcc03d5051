"""What `capabilities.install` lets a component install: patterns over full artifact names.

Four forms and no more: `*`, `<scope>/*`, `<scope>/<prefix>*` and `<scope>/<name>`.
spec/formations-and-newer-manifest.md A5.
"""

import re
from dataclasses import dataclass
from typing import Final

from murmur.manifest.names import is_bare_name, is_full_name

FORMS: Final = "*, <scope>/*, <scope>/<prefix>* or <scope>/<name>"
_LONGEST: Final = 100
# A prefix may end in the hyphen that a name cannot end in.
_PREFIX: Final = re.compile(r"[a-z0-9][a-z0-9-]*")


class BadPattern(ValueError):
    """An entry in none of the four forms; `hint` says what was probably meant."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class InstallPattern:
    """One entry. `scope` None is every scope; `prefix` is a whole name where `exact`."""

    text: str
    scope: str | None
    prefix: str
    exact: bool

    def matches(self, full_name: str) -> bool:
        """Whether the artifact `<scope>/<name>` may be installed under this entry."""
        if not is_full_name(full_name):
            return False
        scope, _, name = full_name.partition("/")
        if self.scope not in (None, scope):
            return False
        return name == self.prefix if self.exact else name.startswith(self.prefix)

    def covers(self, child: "InstallPattern") -> bool:
        """Whether every name that `child` matches is matched here too."""
        if self.scope is None:
            return True
        if self.scope != child.scope:
            return False
        if self.exact:
            return child.exact and child.prefix == self.prefix
        return child.prefix.startswith(self.prefix)


def parse_pattern(text: str) -> InstallPattern:
    """The pattern that `text` spells. Raises BadPattern."""
    if text == "*":
        return InstallPattern(text, None, "", False)
    scope, slash, name = text.partition("/")
    if not slash:
        hint = f"write <scope>/{text}, for example local/{text}" if is_bare_name(text) else ""
        raise BadPattern(f"'{text}' has no scope; the accepted forms are {FORMS}", hint)
    if is_bare_name(scope):
        prefix = name.removesuffix("*")
        if prefix == name and is_bare_name(name):
            return InstallPattern(text, scope, name, True)
        spelled = not prefix or (len(prefix) <= _LONGEST and _PREFIX.fullmatch(prefix))
        if prefix != name and spelled:
            return InstallPattern(text, scope, prefix, False)
    raise BadPattern(f"'{text}' is none of the accepted forms {FORMS}")
