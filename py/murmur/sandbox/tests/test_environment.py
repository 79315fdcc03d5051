"""The environment of a command. spec/containment.md 22, spec/sessions.md 14.2."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.manifest.variables import (
    BACKSTOP,
    CREDENTIAL_PATTERNS,
    STRIP,
    matches,
    refused_by,
)
from murmur.sandbox.environment import command_environment

HOST = {
    "PATH": "/bin",
    "HOME": "/home/me",
    "TMPDIR": "/var/tmp",
    "EDITOR": "vi",
    "MURMUR_SESSION_ID": "forged",
    "MURMUR_OTHER": "x",
    "OPENAI_API_KEY": "secret",
    "AWS_REGION": "secret",
    "MY_TOKEN": "secret",
}


def made(**options: tuple[str, ...]) -> dict[str, str]:
    return command_environment(
        HOST,
        {"MURMUR_SESSION_ID": "ses_1"},
        home="/r/home",
        tmpdir="/tmp",
        runtime_dir="/s/runtime",
        **options,
    )


def test_only_the_baseline_and_the_runtimes_own_names_are_there() -> None:
    assert made() == {
        "PATH": "/bin",
        "MURMUR_SESSION_ID": "ses_1",
        "HOME": "/r/home",
        "USERPROFILE": "/r/home",
        "TMPDIR": "/tmp",
        "TMP": "/tmp",
        "TEMP": "/tmp",
        "MURMUR_RUNTIME_DIR": "/s/runtime",
    }


def test_everything_asked_for_brings_no_credential_and_no_forged_name() -> None:
    env = made(baseline_env=("*",))
    assert "secret" not in {value for name, value in env.items() if name != "MY_TOKEN"}
    assert env["EDITOR"] == "vi"
    assert env["MURMUR_SESSION_ID"] == "ses_1"
    assert "MURMUR_OTHER" not in env
    assert (env["HOME"], env["TMPDIR"]) == ("/r/home", "/tmp")


def test_strip_env_removes_even_the_baseline_but_not_the_forced_names() -> None:
    env = made(baseline_env=("*",), strip_env=("*TOKEN*", "PATH", "HOME", "MURMUR_*"))
    assert "MY_TOKEN" not in env
    assert "PATH" not in env
    assert "MURMUR_SESSION_ID" not in env
    assert env["HOME"] == "/r/home"
    assert env["MURMUR_RUNTIME_DIR"] == "/s/runtime"


@pytest.mark.parametrize(
    ("pattern", "name", "result"),
    [
        ("A", "A", True), ("A", "AB", False), ("A", "a", False),
        ("A*", "AB", True), ("A*", "BA", False), ("*A", "BA", True), ("*A", "AB", False),
        ("*A*", "BAB", True), ("*A*", "B", False), ("*", "anything", True),
    ],
)  # fmt: skip
def test_patterns(pattern: str, name: str, result: bool) -> None:
    assert matches(pattern, name) is result


def test_the_backstop_is_tried_before_strip_env() -> None:
    assert refused_by("AWS_KEY", ("AWS_KEY",)) == ("AWS_*", BACKSTOP)
    assert refused_by("MINE", ("MI*",)) == ("MI*", STRIP)
    assert refused_by("MINE") is None


@given(st.dictionaries(st.sampled_from(
    ["X_API_KEY", "AWS_A", "DOCKER_HOST", "GH_TOKEN", "FINE", "KUBECONFIG", "_API_KEY"]),
    st.just("v")))  # fmt: skip
def test_no_variable_of_a_command_matches_the_backstop(host: dict[str, str]) -> None:
    env = command_environment(
        host, {}, home="/h", tmpdir="/t", runtime_dir="/r", baseline_env=("*",)
    )
    assert not [name for name in env for each in CREDENTIAL_PATTERNS if matches(each, name)]
