"""Names of environment variables. spec/containment.md 22; spec/diagnostics.md, W-SEC-024."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.manifest.variables import CREDENTIAL_PATTERNS, looks_secret, matches, refused_by


@pytest.mark.parametrize(
    "name", ["MY_TOKEN", "db_password", "SecretSauce", "X_api_key_2", "SSH_AUTH", "A-KEY-B"]
)
def test_a_name_that_looks_like_a_credential(name: str) -> None:
    assert looks_secret(name)


@pytest.mark.parametrize("segment", ["key", "Pass", "DSN", "pat", "Cookie", "CREDS", "KEYS"])
def test_a_segment_counts_in_any_case(segment: str) -> None:
    assert looks_secret(f"MY_{segment}") and looks_secret(f"{segment}.x")
    assert not looks_secret(f"MY{segment}X")


@pytest.mark.parametrize("name", ["REGION", "MONKEY", "PATH", "COMPASS", "AUTHOR", "KEYBOARD", ""])
def test_a_name_that_does_not(name: str) -> None:
    assert not looks_secret(name)


@given(st.sampled_from(CREDENTIAL_PATTERNS), st.text(max_size=8))
def test_every_name_made_from_a_backstop_pattern_is_refused(pattern: str, filler: str) -> None:
    name = pattern.replace("*", filler)
    assert matches(pattern, name)
    found = refused_by(name)
    assert found is not None and found[1] == "credential backstop"


@given(st.text(max_size=10), st.lists(st.text(max_size=6), max_size=4))
def test_strip_env_refuses_just_what_one_of_its_patterns_matches(
    name: str, patterns: list[str]
) -> None:
    if refused_by(name) is None:
        assert (refused_by(name, patterns) is not None) == any(matches(p, name) for p in patterns)
