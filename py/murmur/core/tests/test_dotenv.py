"""`.env` loading: spec/sessions.md 5."""

from pathlib import Path

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.core.dotenv import parse_dotenv, with_dotenv


def test_lines_are_split_at_the_first_equals_and_one_pair_of_quotes_is_removed() -> None:
    text = "# note\n\n A = 1=2 \nB='x'\nC=\"'y'\"\nexport D=$A\n"
    assert parse_dotenv(text, ".env") == {"A": "1=2", "B": "x", "C": "'y'", "D": "$A"}


def test_only_a_word_of_its_own_is_a_shells_export() -> None:
    text = "export\tA=1\nexportB=2\nexport=3\n"
    assert parse_dotenv(text, ".env") == {"A": "1", "exportB": "2", "export": "3"}


@pytest.mark.parametrize(("text", "line"), [("A=1\nbroken\n", 2), ("=x", 1)])
def test_a_line_that_is_no_pair_is_refused_with_file_and_line(text: str, line: int) -> None:
    with pytest.raises(MurmurError) as refusal:
        parse_dotenv(text, "/p/.env")
    assert refusal.value.code == "E-IO-003"
    assert refusal.value.message.startswith(f"/p/.env:{line}: ")


def test_a_variable_already_set_stays_even_when_it_is_empty(tmp_path: Path) -> None:
    (tmp_path / "murmur.yaml").write_text("")
    (tmp_path / ".env").write_text("A=file\nB=file\n")
    (tmp_path / "deep").mkdir()
    assert with_dotenv({"A": ""}, tmp_path / "deep") == {"A": "", "B": "file"}


def test_without_a_file_nothing_is_added(tmp_path: Path) -> None:
    assert with_dotenv({"A": "1"}, tmp_path) == {"A": "1"}
