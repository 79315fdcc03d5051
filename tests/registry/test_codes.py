"""Every diagnostic that the source raises stands in the registry, with the facts its text names."""

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

from murmur.core.codes.errors import ERRORS
from murmur.core.codes.unprovoked import UNPROVOKED
from murmur.core.codes.warnings import WARNINGS
from murmur.core.diagnostics import PHASES, Template

ROOT = Path("pyproject.toml").resolve().parent
SOURCE = ROOT / "py" / "murmur"
REGISTRY = {"error": ERRORS, "warning": WARNINGS}
ROWS = {**ERRORS, **WARNINGS}

# spec/diagnostics.md 8: retired or never assigned, and E-BLD-004, which design/decisions.md 1
# replaces by W-MAN-001.
_RETIRED = {
    "E-BLD": (4,),
    "E-DEPLOY": (2, 5),
    "E-RUN": (31, 51, 54),
    "W-RUN": (5, 6),
    "W-SEC": (20, 26),
}
GONE = frozenset(
    f"{family}-{number:03d}" for family, numbers in _RETIRED.items() for number in numbers
)


def _sources() -> Iterator[tuple[Path, str]]:
    for path in sorted(SOURCE.rglob("*.py")):
        if not {"tests", "codes"} & set(path.relative_to(ROOT).parts):
            yield path, path.read_text()


def _raises() -> Iterator[tuple[str, str, str, frozenset[str]]]:
    """Each `error("CODE", fact=...)` and `warning(...)` in the runtime's source."""
    for path, source in _sources():
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            if node.func.id not in REGISTRY or not node.args:
                continue
            code = node.args[0]
            if isinstance(code, ast.Constant) and isinstance(code.value, str):
                if any(keyword.arg is None for keyword in node.keywords):
                    continue  # facts passed on as a mapping
                facts = frozenset(str(keyword.arg) for keyword in node.keywords)
                where = f"{path.relative_to(ROOT)}:{node.lineno}"
                yield where, node.func.id, code.value, facts - {"details"}


RAISES = list(_raises())
NAMED = frozenset(
    code for _, source in _sources() for code in re.findall(r'"([EW]-[A-Z-]+-\d{3})"', source)
)


def _fields(template: Template) -> frozenset[str]:
    parsed = string.Formatter().parse(template.text + template.hint)
    return frozenset(name for _, name, _, _ in parsed if name)


def test_the_source_raises_something() -> None:
    assert len(RAISES) > 50


@pytest.mark.parametrize(("where", "kind", "code", "facts"), RAISES, ids=lambda value: str(value))
def test_a_raised_code_is_registered_with_just_these_facts(
    where: str, kind: str, code: str, facts: frozenset[str]
) -> None:
    assert code in REGISTRY[kind], f"{where}: {code} has no row"
    assert _fields(REGISTRY[kind][code]) == facts, where


def test_no_row_is_left_that_nothing_raises() -> None:
    unused = [code for code in ROWS if code not in NAMED and code not in UNPROVOKED]
    assert unused == [], "raise it, or list it in core/codes/unprovoked.py with its issue"


def test_no_raised_code_is_listed_as_unprovoked() -> None:
    listed = sorted(code for code in UNPROVOKED if code in NAMED)
    assert listed == [], "what is raised leaves core/codes/unprovoked.py"


def test_every_listed_code_has_a_row() -> None:
    assert [code for code in UNPROVOKED if code not in ROWS] == []


def test_every_row_says_in_which_phase_it_comes_up() -> None:
    wrong = {
        code: row.phase
        for code, row in ROWS.items()
        if not row.phase or not set(row.phase.split("/")) <= set(PHASES)
    }
    assert wrong == {}


def test_retired_and_unassigned_codes_have_no_row() -> None:
    assert sorted(GONE & set(ROWS)) == []


def test_the_numbers_of_a_family_have_no_gap_but_the_retired_ones() -> None:
    numbers: dict[str, set[int]] = {}
    for code in ROWS:
        family, _, number = code.rpartition("-")
        numbers.setdefault(family, set()).add(int(number))
    gaps = {
        f"{family}-{number:03d}"
        for family, found in numbers.items()
        for number in range(1, max(found) + 1)
        if number not in found
    }
    # E-BLD-005 to 007 and E-RUN-057 to 061 are assigned to nothing by any source.
    unassigned = {f"E-BLD-{n:03d}" for n in (5, 6, 7)} | {f"E-RUN-{n:03d}" for n in range(57, 62)}
    assert gaps == set(GONE) | unassigned
