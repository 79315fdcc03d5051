"""One registry, one printed shape: spec/diagnostics.md 1."""

import string
from typing import Any

import pytest

from murmur.core.codes.errors import ERRORS
from murmur.core.codes.warnings import WARNINGS
from murmur.core.diagnostics import Diagnostic, Template, error, render, warning


def _facts(template: Template) -> dict[str, Any]:
    fields = string.Formatter().parse(template.text + template.hint)
    return {name: f"<{name}>" for _, name, _, _ in fields if name}


@pytest.mark.parametrize("code", ERRORS)
def test_an_error_prints_its_head_and_at_most_one_hint(code: str) -> None:
    failure = error(code, **_facts(ERRORS[code]))
    lines = render(failure.diagnostic).splitlines()
    assert lines[0].startswith(f"error[{code}]: ")
    assert len(lines) <= 2
    start = "  hint: " if ERRORS[code].label else "  "
    assert all(line.startswith(start) for line in lines[1:])
    for name in _facts(ERRORS[code]):
        assert f"<{name}>" in "\n".join(lines)


@pytest.mark.parametrize("code", WARNINGS)
def test_a_warning_prints_its_link_where_its_family_puts_it(code: str) -> None:
    found = warning(code, **_facts(WARNINGS[code]))
    text = render(found)
    assert f"warning[{code}]: " in text
    link = f"https://docs.murmur.nexus/reference/diagnostics/#{code.lower()}"
    if found.url == "none":
        assert link not in text
    elif found.url == "inline":
        assert text.splitlines()[0].endswith(f"({link})")
    else:
        assert text.splitlines()[-1] == f"  ({link})"


def test_codes_are_sorted_and_well_formed() -> None:
    assert list(ERRORS) == sorted(ERRORS)
    assert list(WARNINGS) == sorted(WARNINGS)
    assert all(code.startswith("E-") for code in ERRORS)
    assert all(code.startswith("W-") for code in WARNINGS)


def test_a_missing_fact_is_a_programming_error_that_names_the_code() -> None:
    with pytest.raises(LookupError, match="E-RUN-008"):
        error("E-RUN-008")


def test_facts_are_never_read_as_templates() -> None:
    failure = error("E-RUN-007", reason="{0} {reason} %s")
    assert "{0} {reason} %s" in failure.message


def test_detail_lines_stand_between_head_and_hint() -> None:
    text = render(Diagnostic("E-X-001", "head", "mend", details=("one", "two")))
    assert text == "error[E-X-001]: head\n  one\n  two\n  hint: mend"


def test_what_a_diagnostic_quotes_cannot_steer_the_terminal_or_break_its_line() -> None:
    found = Diagnostic("E-X-001", "a\x1b[2Jb\nc", "d\u202ee", details=("f\rg", "caf\u00e9 \udc80"))
    text = render(found)
    assert text == (
        "error[E-X-001]: a\\x1b[2Jb\\nc\n  f\\rg\n  caf\u00e9 \\udc80\n  hint: d\\u202ee"
    )


def test_a_hint_may_stand_without_its_label() -> None:
    failure = error("E-CAP-015", count="1 name")
    assert "hint:" not in render(failure.diagnostic)
    assert render(failure.diagnostic).splitlines()[1].startswith("  a capsule may declare")
