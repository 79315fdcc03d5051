"""Formatting, lint and types of every source in the repository, by the tools that the lock pins.

These run outside Bazel's sandbox, on the checkout itself: each is about all files there are, those
included that no BUILD file names.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path("pyproject.toml").resolve().parent
PYTHON = [
    "py",
    "tools",
    "tests",
    "third_party/rules_python/python/fetch_wheel.py",
    "c",
    "docs",
    "examples",
]


def program(variable: str) -> str:
    """The path of a checker, which the BUILD file names relative to the runfiles."""
    return str(Path(os.environ[variable]).absolute())


def sources(*patterns: str) -> list[str]:
    """The files of the checkout that match, without what Bazel links into it."""
    found = [
        str(path.relative_to(ROOT))
        for pattern in patterns
        for folder in sorted(ROOT.iterdir())
        if folder.is_dir() and not folder.is_symlink() and not folder.name.startswith(".")
        for path in folder.rglob(pattern)
    ]
    found += [path.name for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()]
    return sorted(found)


def check(*command: str) -> None:
    """Runs a checker at the root of the checkout; what it prints is the failure."""
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if result.returncode:
        pytest.fail(f"{result.stdout}\n{result.stderr}", pytrace=False)


def test_ruff_finds_nothing_to_mend() -> None:
    check(program("RUFF"), "check", "--no-cache", ".")


def test_python_is_formatted() -> None:
    check(program("RUFF"), "format", "--no-cache", "--diff", ".")


def test_mypy_strict_finds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = [place for place in PYTHON if next((ROOT / place).rglob("*.py"), None)]
    # What a guest imports of its world exists only when its component is built.
    monkeypatch.setenv("MYPYPATH", program("BINDINGS"))
    check(sys.executable, "-S", "-m", "mypy", f"--cache-dir={tmp_path}", *places)


def test_c_is_formatted() -> None:
    files = [name for name in sources("*.c", "*.h") if name.startswith("c/")]
    assert files
    check(program("CLANG_FORMAT"), "--dry-run", "-Werror", "--ferror-limit=1", *files)


def test_build_files_are_formatted_and_lint_clean() -> None:
    files = sources("BUILD.bazel", "*.bzl", "WORKSPACE")
    assert "BUILD.bazel" in files
    check(program("BUILDIFIER"), "-mode=check", "-lint=warn", *files)
