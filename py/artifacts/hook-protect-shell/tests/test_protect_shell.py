"""What the hook refuses, and what it lets run."""

import json

import pytest
from murmur_hooking.settings import VARIABLE, BadConfig
from protect_shell.deciding import Policy, read_policy, refusal


def _policy(**config: object) -> Policy:
    return read_policy({VARIABLE: json.dumps(config)} if config else {})


def _shell(script: str, **config: object) -> str | None:
    return refusal(_policy(**config), ("bash", "-c", script), script, None)


@pytest.mark.parametrize(
    "script",
    [
        "echo x > tests/test_a.py",
        "rm -rf tests",
        "cd tests && touch new.txt",
        "sed -i s/a/b/ src/foo_test.go",
        "cp x conftest.py",
        "mv a src/test_b.py",
        "bash -c 'echo 1 >> spec/a'",
        "tee /somewhere/work/tests/x",
    ],
)
def test_a_write_to_a_protected_path_is_refused(script: str) -> None:
    reason = _shell(script)
    assert reason is not None and "is protected by" in reason


@pytest.mark.parametrize(
    "script",
    ["cat tests/test_a.py", "pytest tests", "echo x > src/app.py", "cp tests/a src/b", "true"],
)
def test_reading_and_writing_elsewhere_is_let_run(script: str) -> None:
    assert _shell(script) is None


def test_the_reason_names_path_rule_and_signal() -> None:
    assert _shell("echo x > ./tests/a") == (
        "tests/a is protected by tests/ (redirection >); it can still be read"
    )


def test_other_patterns_replace_the_default_and_allow_makes_exceptions() -> None:
    assert _shell("rm tests/a", protect=["docs/"]) is None
    assert _shell("rm docs/a", protect=["docs/"]) is not None
    assert _shell("rm docs/a", protect=["docs/"], allow=["docs/a"]) is None


def test_a_pattern_with_a_folder_in_it_stands_below_the_work_folder() -> None:
    assert _shell("rm a/b/c", protect=["a/b/"]) is not None
    assert _shell("rm x/a/b/c", protect=["a/b/"]) is None


def test_a_named_writer_may_not_be_given_a_protected_path() -> None:
    argv = ("snap", "--all", "tests/x")
    assert refusal(_policy(), argv, None, None) is None
    assert refusal(_policy(shell_write_binaries=["snap"]), argv, None, None) is not None
    assert _shell("snap tests/x", shell_write_binaries=["snap"]) is not None


def test_the_recipe_of_a_build_tool_is_read() -> None:
    assert refusal(_policy(), ("make", "all"), None, "rm -rf tests") is not None
    assert refusal(_policy(), ("make", "all"), None, "cc -o app app.c") is None


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ('{"protect":"tests"}', "config.protect"),
        ('{"allow":[1]}', "config.allow"),
        ('{"shell_write_binaries":[""]}', "config.shell_write_binaries"),
        ('{"protects":[]}', "config.protects: unknown; the keys are allow, protect"),
        ("[]", "must be a mapping"),
        ("{", "not JSON"),
    ],
)
def test_settings_that_cannot_be_followed_are_named(config: str, named: str) -> None:
    with pytest.raises(BadConfig, match=named):
        read_policy({VARIABLE: config})
