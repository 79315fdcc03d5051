"""Which paths a pattern covers."""

import pytest
from murmur_hooking.patterns import DEFAULT_PROTECT, Patterns


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("tests/", "tests", True),
        ("tests/", "tests/a/b", True),
        ("tests/", "a/tests/b", True),
        ("tests/", "tests2/a", False),
        ("test_*", "a/test_b.py", True),
        ("test_*", "a/btest_b.py", False),
        ("*_test.*", "x_test.go", True),
        ("a/b", "a/b/c", True),
        ("a/b", "x/a/b", False),
        ("a/b", "/work/a/b", True),
        ("/top", "top/x", True),
        ("/", "a", False),
        ("a/*/c", "a/b/c/d", True),
        ("a/*/c", "a/b/d/c", False),
        ("tests/", "x/../tests/a", True),
        ("tests/", "tests/../src", False),
        ("tests/", "../other/tests/a", True),
        ("tests/", ".", False),
    ],
)
def test_a_pattern_covers_names_folders_and_places(pattern: str, path: str, covered: bool) -> None:
    assert (Patterns((pattern,)).covering(path) is not None) is covered


def test_a_relative_path_starts_from_the_folder_that_a_script_changed_to() -> None:
    assert Patterns(("tests/",)).covering("x", "./tests") is not None


def test_what_is_allowed_again_is_not_covered() -> None:
    patterns = Patterns(DEFAULT_PROTECT, ("tests/tmp/",))
    assert patterns.covering("tests/a") is not None
    assert patterns.covering("tests/tmp/a") is None
