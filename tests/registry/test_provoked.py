"""Every code that the source raises is provoked through the program by some test."""

import ast
import re
from pathlib import Path

from tests.registry.provoked import ELSEWHERE, NOT_BY_A_COMMAND
from tests.registry.test_codes import NAMED

ROOT = Path("pyproject.toml").resolve().parent
_CODE = re.compile(r'"([EW]-[A-Z-]+-\d{3})"')
# Tests of commands run them in a box of their own: box.refused("E-...", "index", ...).
_BOXED = re.compile(r'\bbox\.refused\(\s*"([EW]-[A-Z-]+-\d{3})"')
_FUNCTION = re.compile(r"[ew]_(?:[a-z]+_)+\d{3}")


def _here() -> set[str]:
    """The codes that tests of whole commands provoke, by a row, a call or a test's name."""
    found = set()
    for path in (ROOT / "py" / "murmur" / "cli" / "tests").glob("test_*.py"):
        found |= set(_BOXED.findall(path.read_text()))
    for path in (ROOT / "tests" / "endtoend").glob("test_codes_*.py"):
        text = path.read_text()
        found |= set(_CODE.findall(text))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for code in _FUNCTION.findall(node.name):
                    found.add(code.upper().replace("_", "-"))
    return found


HERE = _here()


def test_every_raised_code_is_provoked_or_listed_with_its_reason() -> None:
    missing = sorted(NAMED - HERE - set(ELSEWHERE) - set(NOT_BY_A_COMMAND))
    assert missing == [], "provoke it in tests/endtoend/test_codes_*.py, or list it in provoked.py"


def test_no_provoked_code_is_listed_as_out_of_reach() -> None:
    assert sorted((HERE | set(ELSEWHERE)) & set(NOT_BY_A_COMMAND)) == []


def test_no_listed_code_is_gone_from_the_source() -> None:
    assert sorted((set(ELSEWHERE) | set(NOT_BY_A_COMMAND)) - NAMED) == []


def test_a_test_that_is_named_exists_and_names_the_code() -> None:
    for code, (file, test) in ELSEWHERE.items():
        text = (ROOT / file).read_text()
        functions = {
            node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)
        }
        assert test in functions, f"{file} has no {test}"
        assert code in text, f"{file} says nothing of {code}"
