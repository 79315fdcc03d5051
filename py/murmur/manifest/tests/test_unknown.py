"""Unknown keys are reported, never refused. spec/formations-and-newer-manifest.md A0."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.core.diagnostics import render
from murmur.manifest.parse import load_capsule
from murmur.manifest.unknown import distance, is_newer, nearest

HEAD = "name: demo\nversion: '0.1.0'\n"


def lines(body: str, running: str = "1.2.3") -> list[str]:
    return [render(w) for w in load_capsule(HEAD + body, "murmur.yaml", running).warnings]


def test_every_unknown_key_is_named_with_its_block() -> None:
    found = lines(
        """
extra: 1
artifacts:
  - {name: a/b, version: '1', capabilities: {shell: {allow: [sh], alow: []}}}
capabilities:
  filesystem: {scop: .}
  shell:
    allow: [sh]
    interpreter_runtime:
      - {binary: sh, dirs: [{path: /a, list_dir: true}], why: x}
network: {authentication: {scheme: bearer, credentials: {ci: {scopes: [GetTask], scope: x}}}}
"""
    )
    expected = [
        "'extra' at the top level",
        "'alow' in artifacts[0].capabilities.shell",
        "'scop' in capabilities.filesystem",
        "'why' in capabilities.shell.interpreter_runtime[0]",
        "'scope' in network.authentication.credentials.ci",
    ]
    assert len(found) == len(expected)
    for line, fact in zip(found, expected, strict=True):
        assert line.startswith("[murmur-artifact] warning[W-SEC-019]: ")
        assert line.endswith(" (https://docs.murmur.nexus/reference/diagnostics/#w-sec-019)")
        assert fact in line
    assert "'allow'" in found[1] and "'scope'" in found[2] and "'scopes'" in found[4]
    assert "newer mur" in found[0] and "newer mur" in found[3]


def test_a_manifest_without_unknown_keys_prints_nothing() -> None:
    assert lines("mur_version: '99.0.0'\n") == []


@pytest.mark.parametrize(
    ("pin", "gap"),
    [
        ("'1.2.4'", 1),
        ("'2.0.0'", 1),
        ("'1.2.3'", 0),
        ("'1.2'", 0),
        ("'v9.0.0'", 0),
        ("9.0.0-rc1", 0),
    ],
)
def test_a_newer_pin_adds_one_line_after_the_keys(pin: str, gap: int) -> None:
    found = lines(f"mur_version: {pin}\nzzz: 1\n")
    assert len(found) == 1 + gap
    assert "'zzz'" in found[0]
    if gap:
        assert pin.strip("'") in found[1] and "1.2.3" in found[1]


def test_a_dev_build_counts_as_its_release() -> None:
    assert not is_newer("0.1.0", "0.1.0-dev") and is_newer("0.1.1", "0.1.0-dev")


@pytest.mark.parametrize(
    ("left", "right", "cost"),
    [("", "", 0), ("ab", "ba", 1), ("abc", "ca", 3), ("scope", "scop", 1), ("naïve", "naive", 1)],
)
def test_the_distance_is_restricted_damerau_levenshtein(left: str, right: str, cost: int) -> None:
    assert distance(left, right) == cost


@pytest.mark.parametrize(
    ("key", "known", "found"),
    [
        ("a", ["b"], "b"),
        ("ab", ["cd"], None),
        ("abcdef", ["abcdxy"], "abcdxy"),
        ("abcde", ["abcxy"], None),
        ("ax", ["ay", "az"], "ay"),
        ("alow", ["allow_all", "allow"], "allow"),
        ("alow", [], None),
    ],
)
def test_the_nearest_key_wins_and_the_first_of_equals(
    key: str, known: list[str], found: str | None
) -> None:
    assert nearest(key, known) == found


@given(st.text("abc", max_size=7), st.text("abc", max_size=7))
def test_the_distance_is_symmetric_and_bounded(left: str, right: str) -> None:
    found = distance(left, right)
    assert found == distance(right, left)
    assert abs(len(left) - len(right)) <= found <= max(len(left), len(right))
    assert (found == 0) == (left == right)
