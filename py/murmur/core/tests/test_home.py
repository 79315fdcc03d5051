"""`~/.murmur` is made and kept owner-only: spec/sessions.md 3."""

from pathlib import Path

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.core.home import find_home, open_home


def test_home_is_created_owner_only(tmp_path: Path) -> None:
    home = open_home({"HOME": str(tmp_path)})
    assert home.root == tmp_path / ".murmur"
    assert home.root.stat().st_mode & 0o777 == 0o700


def test_group_and_other_bits_are_stripped_and_owner_bits_left(tmp_path: Path) -> None:
    (tmp_path / ".murmur").mkdir(mode=0o500)
    (tmp_path / ".murmur").chmod(0o555)
    open_home({"HOME": str(tmp_path)})
    assert (tmp_path / ".murmur").stat().st_mode & 0o777 == 0o500


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"HOME": "relative/place"}])
def test_an_unset_or_relative_home_is_refused(environ: dict[str, str]) -> None:
    with pytest.raises(MurmurError) as refusal:
        open_home(environ)
    assert refusal.value.code == "E-IO-004"
    assert refusal.value.exit_status == 1


def test_a_home_that_cannot_hold_it_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MurmurError) as refusal:
        open_home({"HOME": str(tmp_path / "file")})
    assert refusal.value.code == "E-IO-004"
    assert str(tmp_path / "file" / ".murmur") in refusal.value.message


def test_finding_a_home_makes_nothing_and_changes_no_mode(tmp_path: Path) -> None:
    assert find_home({"HOME": str(tmp_path)}).root == tmp_path / ".murmur"
    assert list(tmp_path.iterdir()) == []
    (tmp_path / ".murmur").mkdir()
    (tmp_path / ".murmur").chmod(0o755)
    find_home({"HOME": str(tmp_path)})
    assert (tmp_path / ".murmur").stat().st_mode & 0o777 == 0o755


def test_finding_a_home_refuses_what_opening_it_would(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / ".murmur").symlink_to(tmp_path / "nowhere")
    for home in ("", "relative", str(tmp_path / "file"), str(tmp_path / "none" / "deep")):
        for look in (find_home, open_home):
            with pytest.raises(MurmurError) as refusal:
                look({"HOME": home})
            assert refusal.value.code == "E-IO-004"
    for look in (find_home, open_home):
        with pytest.raises(MurmurError):
            look({"HOME": str(tmp_path / "linked")})
