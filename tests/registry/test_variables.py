"""Every environment variable that the source names stands in the table of its reference page."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from murmur.core.variables import GIVEN, READ

ROOT = Path("pyproject.toml").resolve().parent
SOURCE = ROOT / "py" / "murmur"
_OURS = re.compile(r"MURMUR_[A-Z0-9_]*[A-Z0-9]")
TABLE = {variable.name for variable in (*READ, *GIVEN)}


def _trees() -> Iterator[ast.AST]:
    for path in sorted(SOURCE.rglob("*.py")):
        inside = path.relative_to(SOURCE).parts
        if "tests" not in inside and inside != ("core", "variables.py"):
            yield ast.parse(path.read_text())


def _named() -> set[str]:
    """What stands as a whole string or as a keyword, or is asked of an environment."""
    found = set()
    for tree in _trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                if _OURS.fullmatch(node.value):
                    found.add(node.value)
            elif isinstance(node, ast.keyword) and node.arg and _OURS.fullmatch(node.arg):
                found.add(node.arg)
            elif isinstance(node, ast.Call) and node.args:
                found |= _asked(node.func, node.args[0])
            elif isinstance(node, ast.Subscript):
                found |= _environment(node.value, node.slice)
    return found


def _asked(function: ast.expr, name: ast.expr) -> set[str]:
    if isinstance(function, ast.Attribute) and function.attr == "get":
        return _environment(function.value, name)
    return set()


def _environment(holder: ast.expr, name: ast.expr) -> set[str]:
    last = holder.attr if isinstance(holder, ast.Attribute) else getattr(holder, "id", "")
    if last == "environ" and isinstance(name, ast.Constant) and isinstance(name.value, str):
        return {name.value}
    return set()


def test_every_variable_in_the_source_is_in_the_table_and_no_other() -> None:
    assert _named() == TABLE
