"""The word splitter: spec/sessions.md 14.1."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.core.words import split_words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a b\tc\n d", ["a", "b", "c", "d"]),
        ("'a b' c", ["a b", "c"]),
        ("a'b c'd", ["ab cd"]),
        ('"it\'s"', ["it's"]),
        (r"a\ b", ["a b"]),
        (r"'a\'b'", ["a'b"]),
        ("'never closed", ["never closed"]),
        ("trailing\\", ["trailing"]),
        ('"" x', ["x"]),
        ("$HOME *", ["$HOME", "*"]),
        ("", []),
    ],
)
def test_words_are_split_as_the_reference_says(line: str, words: list[str]) -> None:
    assert split_words(line) == words


@given(st.lists(st.text(min_size=1)))
def test_a_word_with_every_character_escaped_comes_back_whole(words: list[str]) -> None:
    line = " ".join("".join("\\" + character for character in word) for word in words)
    assert split_words(line) == words
