"""Each class as each user is run once; the whole table is printed at the end."""

import functools
from collections.abc import Callable

import pytest

from tests.conformance.harness import Run, User, render, run_table
from tests.conformance.rows import ClassName

Runner = Callable[[ClassName, User], Run]

_RUNS: list[Run] = []


@functools.cache
def _run_once(class_: ClassName, user: User) -> Run:
    run = run_table(class_, user)
    _RUNS.append(run)
    return run


@pytest.fixture(scope="session")
def runner() -> Runner:
    return _run_once


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _RUNS:
        terminalreporter.write_sep("=", "escape table")
        terminalreporter.write_line(render(_RUNS))
