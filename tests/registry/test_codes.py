"""Every diagnostic that the source raises stands in the registry, with the facts its text names."""

import ast
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

from murmur.core.codes.errors import ERRORS
from murmur.core.codes.warnings import WARNINGS
from murmur.core.diagnostics import Template

ROOT = Path("pyproject.toml").resolve().parent
SOURCE = ROOT / "py" / "murmur"
REGISTRY = {"error": ERRORS, "warning": WARNINGS}


def _raises() -> Iterator[tuple[str, str, str, frozenset[str]]]:
    """Each `error("CODE", fact=...)` and `warning(...)` in the runtime's source."""
    for path in sorted(SOURCE.rglob("*.py")):
        if "tests" in path.relative_to(ROOT).parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
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
    source = "\n".join(
        path.read_text()
        for path in SOURCE.rglob("*.py")
        if not {"tests", "codes"} & set(path.relative_to(ROOT).parts)
    )
    unused = [code for table in REGISTRY.values() for code in table if f'"{code}"' not in source]
    assert unused == []
