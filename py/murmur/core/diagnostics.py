"""Diagnostics: one registry of codes, one way to raise and one way to print.

A code's text and hint stand once, in `murmur.core.codes`; raising one is `raise error(code,
fact=value)`. Printed shapes follow spec/diagnostics.md 1, exit statuses follow its section 2.
"""

import dataclasses
from collections.abc import Mapping
from typing import Final

PHASES: Final = ("usage", "parse", "preflight", "staging", "launch", "run", "command")
_DOCS: Final = "https://docs.murmur.nexus/reference/diagnostics/#"


@dataclasses.dataclass(frozen=True, slots=True)
class Template:
    """The fixed part of a diagnostic.

    `text` and `hint` are format strings over the facts given when it is raised. `origin` is the
    bracketed prefix of a warning's line (without the brackets), `url` says where a warning's link
    stands: "inline", "below" or "none". `phase` says when the code comes up: one of `PHASES`, or
    several joined by `/`. `label` is off for the two hints that stand without the word `hint:`.
    """

    text: str
    hint: str = ""
    origin: str = ""
    url: str = "inline"
    phase: str = ""
    label: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class Diagnostic:
    """One diagnostic with its facts filled in; `details` are further lines under the head."""

    code: str
    message: str
    hint: str = ""
    origin: str = ""
    url: str = "inline"
    details: tuple[str, ...] = ()
    label: bool = True

    @property
    def is_error(self) -> bool:
        return self.code.startswith("E-")

    @property
    def link(self) -> str:
        return _DOCS + self.code.lower()


class MurmurError(Exception):
    """A refusal with a code. The command that catches it prints it and exits `exit_status`."""

    exit_status = 1

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(f"{diagnostic.code}: {diagnostic.message}")
        self.diagnostic = diagnostic

    @property
    def code(self) -> str:
        return self.diagnostic.code

    @property
    def message(self) -> str:
        return self.diagnostic.message

    @property
    def hint(self) -> str:
        return self.diagnostic.hint


def _format(code: str, text: str, facts: Mapping[str, object]) -> str:
    """Formats a template; a missing fact is a programming error and says which code."""
    try:
        return text.format_map(facts)
    except (KeyError, IndexError) as missing:
        raise LookupError(f"{code}: no fact {missing} for {text!r}") from None


def _fill(
    code: str, template: Template, facts: Mapping[str, object], details: tuple[str, ...]
) -> Diagnostic:
    return Diagnostic(
        code=code,
        message=_format(code, template.text, facts),
        hint=_format(code, template.hint, facts),
        origin=template.origin,
        url=template.url,
        details=details,
        label=template.label,
    )


def error(code: str, *, details: tuple[str, ...] = (), **facts: object) -> MurmurError:
    """The refusal `code` with its facts, ready to be raised.

    Raises LookupError when the code is not registered or a fact of its text is missing.
    """
    from murmur.core.codes.errors import ERRORS

    return MurmurError(_fill(code, ERRORS[code], facts, details))


def warning(code: str, *, details: tuple[str, ...] = (), **facts: object) -> Diagnostic:
    """The warning `code` with its facts. Raises LookupError as `error` does."""
    from murmur.core.codes.warnings import WARNINGS

    return _fill(code, WARNINGS[code], facts, details)


def printable(text: str) -> str:
    """`text` on one line of a terminal: nothing that it quotes can steer the cursor or break it."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def render(diagnostic: Diagnostic) -> str:
    """The diagnostic as printed, without a final newline. spec/diagnostics.md 1.1 and 1.2.

    Control characters in its message, details and hint are escaped here, once for everybody.
    """
    message, link = printable(diagnostic.message), diagnostic.link
    prefix = f"[{diagnostic.origin}] " if diagnostic.origin else ""
    kind = "error" if diagnostic.is_error else "warning"
    head = f"{prefix}{kind}[{diagnostic.code}]: {message}"
    linked = "none" if diagnostic.is_error else diagnostic.url
    lines = [f"{head} ({link})" if linked == "inline" else head]
    lines += [f"  {printable(detail)}" for detail in diagnostic.details]
    if diagnostic.hint:
        lines.append(f"  {'hint: ' if diagnostic.label else ''}{printable(diagnostic.hint)}")
    if linked == "below":
        lines.append(f"  ({link})")
    return "\n".join(lines)
