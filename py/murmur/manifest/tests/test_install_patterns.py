"""What a component may install. spec/formations-and-newer-manifest.md A5."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.manifest.install_patterns import BadPattern, parse_pattern
from murmur.manifest.names import is_full_name


@pytest.mark.parametrize(
    ("entry", "matched", "others"),
    [
        ("*", ["a/b", "z/y-1"], ["b", "a/b/c", "A/b", ""]),
        ("ana/*", ["ana/x", "ana/x-y"], ["bob/x", "ana", "ana/"]),
        (
            "ana/review-*",
            ["ana/review-a", "ana/review-a-b"],
            ["ana/review", "ana/rev", "b/review-a"],
        ),
        ("ana/rev*", ["ana/rev", "ana/review"], ["ana/re", "ana/xrev"]),
        ("ana/x", ["ana/x"], ["ana/xy", "bob/x", "x"]),
    ],
)
def test_an_entry_matches_its_form(entry: str, matched: list[str], others: list[str]) -> None:
    pattern = parse_pattern(entry)
    assert all(pattern.matches(name) for name in matched)
    assert not any(pattern.matches(name) for name in others)


@pytest.mark.parametrize(
    "entry",
    ["", "p*", "**", "*/x", "a/*x", "a/x*y", "a/-*", "A/*", "a/*/b", "a/", "/x", "a/X*", "a/_"],
)
def test_anything_else_is_refused_with_the_four_forms(entry: str) -> None:
    with pytest.raises(BadPattern) as refusal:
        parse_pattern(entry)
    for form in ("*, ", "<scope>/*", "<scope>/<prefix>*", "<scope>/<name>"):
        assert form in str(refusal.value)


def test_a_bare_name_has_the_hint_about_its_scope() -> None:
    with pytest.raises(BadPattern) as refusal:
        parse_pattern("tool-git")
    assert "local/tool-git" in refusal.value.hint


_PART = st.text(st.sampled_from("ab-"), min_size=1, max_size=3)
_NAME = st.tuples(_PART, _PART).map("/".join).filter(is_full_name)
_ENTRY = st.one_of(
    st.just("*"),
    st.sampled_from("ab").map(lambda scope: f"{scope}/*"),
    st.tuples(st.sampled_from("ab"), _PART).map(lambda parts: f"{parts[0]}/{parts[1]}*"),
    _NAME,
)


def _parsed(entry: str) -> bool:
    try:
        parse_pattern(entry)
    except BadPattern:
        return False
    return True


@given(_ENTRY.filter(_parsed), _ENTRY.filter(_parsed), st.lists(_NAME, min_size=1, max_size=20))
def test_what_covers_another_matches_all_that_the_other_matches(
    parent: str, child: str, names: list[str]
) -> None:
    above, below = parse_pattern(parent), parse_pattern(child)
    if above.covers(below):
        assert all(above.matches(name) for name in names if below.matches(name))
    else:
        # A witness: a name that the child alone matches.
        scope = below.scope or "zz"
        candidates = [f"{scope}/{below.prefix}{end}" for end in ("", "a", "b", "zz")]
        assert any(below.matches(name) and not above.matches(name) for name in candidates)


@given(_ENTRY.filter(_parsed))
def test_every_entry_covers_itself_and_is_covered_by_the_star(entry: str) -> None:
    pattern = parse_pattern(entry)
    assert pattern.covers(pattern) and parse_pattern("*").covers(pattern)
