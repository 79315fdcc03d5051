"""tool-code-coverage: coverage.py's recordings, LCOV of two real packages, refusals (spec 16.3)."""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import click
import pytest
import starlette.datastructures
import starlette.requests
from click.testing import CliRunner
from code_coverage.localizing import localize
from code_graph.graph import answer

CAPTURED = Path(__file__).parent / "captured"


def call(folder: Path, **members: object) -> tuple[str, dict[str, Any]]:
    given = {"operation": "localize", "coverage_dir": "cov", **members}
    outcome = localize(json.dumps(given), folder)
    return outcome.status, json.loads(outcome.data)


def ask(folder: Path, **members: object) -> dict[str, Any]:
    status, data = call(folder, **members)
    assert status == "passed", data
    return data


def index(folder: Path, repository: str = ".") -> None:
    given = {"operation": "index_repository", "repo_path": repository}
    assert answer(json.dumps(given), folder).status == "passed"


@pytest.fixture
def cart(tmp_path: Path) -> Path:
    """A repository with a fault in `discount`, and a folder for coverage."""
    shutil.copy(CAPTURED / "cart.py.txt", tmp_path / "cart.py")
    (tmp_path / "test_cart.py").write_text("def test_small(): ...\n")
    (tmp_path / "cov").mkdir()
    index(tmp_path)
    return tmp_path


def _put(folder: Path, form: str) -> None:
    if form == "coverage.json":
        shutil.copy(CAPTURED / form, folder / "cov")
        return
    with sqlite3.connect(folder / "cov/.coverage") as data:
        data.executescript((CAPTURED / form).read_text())
    data.close()


@pytest.mark.parametrize("form", ["coverage.json", "lines.sql", "branches.sql"])
def test_what_coverage_py_recorded_leads_to_the_fault(cart: Path, form: str) -> None:
    _put(cart, form)
    data = ask(cart, failing_tests=["test_cart.py::test_small"])
    assert data["tests"] == 3 and data["failing_tests"] == ["test_cart.py::test_small"]
    first, second = data["symbols"]
    assert (first["symbol_id"], first["score"], first["callers"]) == ("cart.py#discount", 1.0, 1)
    # Line 4 is the one that only the failing test reached.
    assert first["lines"][0] == {"line": 4, "score": 1.0}
    assert (first["failing"], first["passing"]) == (1, 1)
    assert second["symbol_id"] == "cart.py#total" and second["score"] < 1
    assert data["unknown_files"] == [] and data["unmatched"] == []


def test_tests_may_be_named_by_the_end_of_their_name(cart: Path) -> None:
    _put(cart, "coverage.json")
    data = ask(cart, failing_tests=["test_small", "test_other"], limit=1)
    assert (data["failing_tests"], data["unmatched"]) == (
        ["test_cart.py::test_small"],
        ["test_other"],
    )
    assert (len(data["symbols"]), data["symbol_count"], data["truncated"]) == (1, 2, True)


def _lines_of(run: Callable[[], object], package: Path) -> dict[str, set[int]]:
    """What `run` executes below a package, as a coverage tool finds out."""
    ran: dict[str, set[int]] = {}

    def local(frame: FrameType, event: str, _: object) -> Any:
        ran[frame.f_code.co_filename].add(frame.f_lineno)
        return local

    def trace(frame: FrameType, event: str, _: object) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(str(package)):
            return None
        ran.setdefault(name, set()).add(frame.f_lineno)
        return local

    held = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(held)
    return ran


def _lcov(test: str, ran: dict[str, set[int]]) -> str:
    files = "".join(
        f"SF:{name}\n" + "".join(f"DA:{line},1\n" for line in sorted(lines)) + "end_of_record\n"
        for name, lines in ran.items()
    )
    return f"TN:{test}\n{files}"


@click.command()
@click.option("--count", type=click.IntRange(1, 3))
@click.option("--name", type=click.Choice(["a", "b"]))
def command(count: int | None, name: str | None) -> None:
    click.echo(f"{count} {name}")


def _run(*arguments: str) -> Callable[[], object]:
    return lambda: CliRunner().invoke(command, arguments)


def _query(text: str) -> Callable[[], object]:
    return lambda: starlette.datastructures.QueryParams(text).multi_items()


CASES = {
    "click": (
        Path(str(click.__file__)).parent,
        {"test_range": _run("--count", "7"), "test_choice": _run("--name", "a"), "test_no": _run()},
        "test_range",
        "click/types.py#_NumberRangeBase.convert",
    ),
    "starlette": (
        Path(starlette.requests.__file__).parent,
        {
            "test_cookie": lambda: starlette.requests.cookie_parser("a=b; c"),
            "test_query": _query("a=1"),
            "test_url": lambda: starlette.datastructures.URL("http://x/y").replace(path="/z"),
        },
        "test_cookie",
        "starlette/requests.py#cookie_parser",
    ),
}


@pytest.mark.parametrize("package", CASES)
def test_in_a_real_package_the_code_of_the_failing_test_comes_first(
    tmp_path: Path, package: str
) -> None:
    source, tests, failing, expected = CASES[package]
    left_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(source, tmp_path / "repo" / package, ignore=left_out)
    (tmp_path / "cov").mkdir()
    for name, run in tests.items():
        (tmp_path / "cov" / f"{name}.info").write_text(_lcov(name, _lines_of(run, source)))
    index(tmp_path, "repo")
    data = ask(tmp_path, failing_tests=[failing], repo_path="repo")
    best = [each["symbol_id"] for each in data["symbols"] if each["score"] == 1]
    assert expected in best
    assert data["unknown_files"] == [] and len(data["read"]) == 3


def test_what_is_missing_is_said_with_what_to_do(cart: Path) -> None:
    small = ["test_small"]
    assert "cov-context=test" in _refused(cart, "no_coverage", failing_tests=small)
    _put(cart, "coverage.json")
    told = _refused(cart, "unknown_tests", failing_tests=["test_none"])
    assert "3 recorded tests" in told and "test_cart.py::test_empty" in told
    _refused(cart, "not_found", failing_tests=small, coverage_dir="none")
    _refused(cart, "not_found", failing_tests=small, coverage_dir="cart.py")
    _refused(cart, "outside_workdir", failing_tests=small, coverage_dir="..")
    told = _refused(cart, "not_indexed", failing_tests=small, repo_path="cov")
    assert "index_repository" in told
    _refused(cart, "invalid_input", failing_tests=[])
    _refused(cart, "invalid_input", failing_tests="test_small")
    _refused(cart, "invalid_input", failing_tests=small, limit=0)
    _refused(cart, "invalid_input")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.info", b"TN:a\nSF:b\nDA:x,1\n"),
        ("b.json", b'{"meta": {}, "files": {"a": {"contexts": {"x": ["t"]}}}}'),
        ("c.json", b'{"meta": '),
        (".coverage", b"SQLite format 3\0" + b"\1" * 4000),
    ],
)
def test_a_damaged_file_is_named(cart: Path, name: str, content: bytes) -> None:
    (cart / "cov" / name).write_bytes(content)
    told = _refused(cart, "damaged_coverage", failing_tests=["t"])
    assert f"cov/{name}" in told


def test_what_is_no_coverage_is_passed_over(cart: Path) -> None:
    (cart / "cov/notes.txt").write_text("hello")
    (cart / "cov/package.json").write_text('{"name": "x"}')
    (cart / "cov/link.info").symlink_to("/etc/passwd")
    _put(cart, "coverage.json")
    assert ask(cart, failing_tests=["test_small"])["read"] == ["cov/coverage.json"]


def _refused(folder: Path, kind: str, **members: object) -> str:
    status, data = call(folder, **members)
    assert status == ("error" if kind == "invalid_input" else "failed"), data
    assert data["error_kind"] == kind, data
    return str(data["message"])
