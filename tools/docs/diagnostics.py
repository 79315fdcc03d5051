"""docs/reference/diagnostics.md, from core.codes."""

import re
from collections.abc import Iterator

from murmur.core.codes.errors import ERRORS
from murmur.core.codes.unprovoked import UNPROVOKED
from murmur.core.codes.warnings import WARNINGS
from murmur.core.diagnostics import PHASES, Template
from tools.docs.markdown import MADE, page, table

_FACT = re.compile(r"\{(\w+)(![rsa])?\}")
_PHASES = {
    "usage": "the command line is read",
    "parse": "the manifest is read",
    "preflight": "a launch is checked, and nothing is made yet",
    "staging": "artifacts are verified and compiled, before the session's directories exist",
    "launch": "the session's directories exist, its door is not open yet",
    "run": "the session runs",
    "command": "any command but `mur run` works",
}


def diagnostics_page() -> str:
    """Every code with its message, hint and phase."""
    assert set(_PHASES) == set(PHASES)
    introduction = (
        f"{MADE}\n\n"
        "An error ends a command with exit status 1, a warning changes no exit status. Both go to "
        "standard error, under `--json` too. Words in *italics* stand for what the message names."
    )
    phases = ["## Phases", "", *table(("Phase", "When"), _PHASES.items())]
    return page(
        "Diagnostics",
        introduction,
        phases,
        _rows("Errors", ERRORS),
        _rows("Warnings", WARNINGS),
    )


def _rows(title: str, rows: dict[str, Template]) -> list[str]:
    lines = [f"## {title}"]
    for code, template in rows.items():
        lines += ["", f"### {code}", "", *_row(code, template)]
    return lines


def _row(code: str, template: Template) -> Iterator[str]:
    yield f"> {_shown(template.text)}"
    if template.hint:
        yield ">"
        yield f"> {_shown(template.hint)}"
    yield ""
    phases = " or ".join(template.phase.split("/"))
    later = " This build does not raise it yet." if code in UNPROVOKED else ""
    yield f"Phase: {phases}.{later}"


def _shown(text: str) -> str:
    """A template as prose: facts in italics, literal braces as they are printed."""
    marked = _FACT.sub(lambda fact: f"*{fact[1]}*", text)
    for plain, escaped in (("{{", "{"), ("}}", "}"), ("<", r"\<")):
        marked = marked.replace(plain, escaped)
    return marked
