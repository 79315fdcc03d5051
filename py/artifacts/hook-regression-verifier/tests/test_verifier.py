"""Which runs count, which tests failed, and what is a regression."""

import pytest
from verifier_hook.results import Watch, failing, feedback, is_test_run


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q",
        "python3 -m pytest tests",
        "cd x && cargo test",
        "go test ./...",
        "npm run test",
        "make test",
        "./node_modules/.bin/jest",
        "python -m unittest",
    ],
)
def test_a_command_that_names_a_runner_is_a_test_run(command: str) -> None:
    assert is_test_run(command)


@pytest.mark.parametrize("command", ["ls tests", "cat pytestx", "make", "cargo build", "go vet"])
def test_other_commands_are_not(command: str) -> None:
    assert not is_test_run(command)


@pytest.mark.parametrize(
    ("output", "names"),
    [
        ("FAILED tests/a.py::test_x - assert 1\nPASSED y", {"tests/a.py::test_x"}),
        ("--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/sub (0.00s)", {"TestA", "TestA/sub"}),
        ("test mod::works ... ok\ntest mod::breaks ... FAILED", {"mod::breaks"}),
        ("FAIL: test_x (pkg.T.test_x)", {"test_x (pkg.T.test_x)"}),
        ("  ✕ adds numbers (3 ms)", {"adds numbers"}),
        ("ok 1 - a\nnot ok 2 - b", {"b"}),
        ("all good", set()),
    ],
)
def test_failing_tests_are_found_by_name(output: str, names: set[str]) -> None:
    assert failing(output) == names


def test_a_test_that_failed_before_the_edits_is_no_regression() -> None:
    watch = Watch()
    watch.ran("FAILED t::old", 1)
    watch.edited = True
    watch.ran("FAILED t::old\nFAILED t::new", 1)
    assert watch.regressions() == ["t::new"]
    watch.ran("FAILED t::old", 1)
    assert watch.regressions() == []


def test_without_a_run_before_and_after_nothing_can_be_said() -> None:
    watch = Watch(edited=True)
    watch.ran("FAILED t::x", 1)
    assert watch.regressions() == []
    early = Watch()
    early.ran("", 0)
    assert early.regressions() == []


def test_a_run_that_failed_without_naming_a_test_says_nothing() -> None:
    watch = Watch()
    watch.ran("", 0)
    watch.edited = True
    watch.ran("no such file", 2)
    assert watch.regressions() == []


def test_the_feedback_names_the_tests() -> None:
    assert "- t::new" in feedback(["t::new"])
    assert "and 5 more" in feedback([f"t{number}" for number in range(25)])
