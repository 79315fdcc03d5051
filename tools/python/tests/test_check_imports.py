"""The import check behind every murmur_library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tools.python import check_imports

MODULES = frozenset({"murmur", "murmur.core", "murmur.core.ids"})
SHIPPED = frozenset({"yaml"})


def complaints(text: str, path: str = "py/murmur/store/index.py") -> list[str]:
    return list(check_imports.complaints(path, text, "py", MODULES, SHIPPED))


def test_the_standard_library_own_modules_and_requirements_are_covered() -> None:
    text = (
        "import os.path\nimport yaml.nodes\nfrom murmur.core import ids\nimport murmur.core.ids\n"
    )
    assert complaints(text) == []


def test_an_import_of_another_package_is_refused_with_its_line() -> None:
    [line] = complaints("import os\nfrom murmur.session import board\n")
    assert line.startswith("py/murmur/store/index.py:2: imports board from murmur.session")


def test_a_late_import_and_one_for_type_checking_count() -> None:
    text = (
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import pydantic\n"
        "def f() -> None:\n    import starlette\n"
    )
    assert [line.split(":")[1] for line in complaints(text)] == ["3", "5"]


def test_a_relative_import_is_resolved_before_it_is_judged() -> None:
    assert complaints("from ..core import ids\n") == []
    assert len(complaints("from ..session import board\n")) == 1
    assert complaints("from . import core\n", "py/murmur/__init__.py") == []


def test_an_undeclared_distribution_is_refused() -> None:
    assert len(complaints("import wasmtime\n")) == 1


def test_a_generated_source_is_named_by_its_place_below_the_import_root() -> None:
    path = "bazel-out/k8-fastbuild/bin/py/murmur/core/made.py"
    assert complaints("from . import ids\n", path) == []


def test_the_program_writes_its_stamp_only_when_all_is_covered(tmp_path: Path) -> None:
    source = tmp_path / "one.py"
    stamp = tmp_path / "stamp"
    command = [sys.executable, check_imports.__file__, "--label", "//x", "--stamp", str(stamp)]

    source.write_text("import wasmtime\n")
    refused = subprocess.run([*command, "--source", str(source)], capture_output=True, text=True)
    assert refused.returncode == 1
    assert "//x needs deps or requirements for:" in refused.stderr
    assert not stamp.exists()

    source.write_text("import json\n")
    subprocess.run([*command, "--source", str(source)], check=True)
    assert stamp.exists()
