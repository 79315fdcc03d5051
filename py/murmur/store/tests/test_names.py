"""spec/registry.md 1."""

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.store.names import (
    FullName,
    bare_name_fault,
    parse_full_name,
    version_fault,
    version_order,
)


@pytest.mark.parametrize("name", ["a", "a--b", "7", "x" * 100, "tool-git"])
def test_a_bare_name_is_lowercase_letters_digits_and_inner_hyphens(name: str) -> None:
    assert bare_name_fault(name) is None


@pytest.mark.parametrize("name", ["", "x" * 101, "-a", "a-", "A", "a b", "a_b", "a/b", "a\\b", "ä"])
def test_anything_else_is_no_bare_name(name: str) -> None:
    assert bare_name_fault(name)


def test_a_full_name_has_exactly_one_slash() -> None:
    name = parse_full_name("murmur/tool-git")
    assert (name.scope, name.name, str(name)) == ("murmur", "tool-git", "murmur/tool-git")
    for text in ("tool-git", "a/b/c", "/b", "a/", "A/b", "a/b_"):
        with pytest.raises(MurmurError) as refusal:
            parse_full_name(text)
        assert refusal.value.code == "E-REG-007" and text in refusal.value.message


def test_full_names_are_ordered_as_their_plain_text() -> None:
    assert sorted([FullName("a-b/c"), FullName("a/z")]) == [FullName("a-b/c"), FullName("a/z")]


@pytest.mark.parametrize("version", ["", ".", "..", "a/b", "a\\b", "a\nb", "\x7f"])
def test_a_version_that_is_no_path_segment_is_refused(version: str) -> None:
    assert version_fault(version)


def test_newest_is_by_semver_precedence_with_unparsable_versions_lowest() -> None:
    ascending = [
        "1.0",
        "zzz",
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-alpha.beta",
        "1.0.0-beta.2",
        "1.0.0-beta.11",
        "1.0.0",
        "1.0.10",
        "1.2.0",
        "10.0.0",
    ]
    shuffled = ascending[5:] + ascending[:5][::-1]
    assert sorted(shuffled, key=version_order) == ascending
