"""Which paths a read-only entry covers. seeds/manifest-schema.md, Read-only paths."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.read_only.subtrees import Covered, subtrees


@pytest.mark.parametrize("path", ["tests", "tests/a", "tests/a/b", "./tests/a", "x/../tests/a"])
def test_an_entry_covers_its_subtree_however_it_is_spelled(tmp_path: Path, path: str) -> None:
    found = subtrees(str(tmp_path), ["tests"]).covering(path)
    assert found is not None and found.rule == "tests"
    assert found.path == os.path.normpath(path)


def test_an_absolute_path_into_the_work_folder_gives_the_same_rule_and_path(tmp_path: Path) -> None:
    protected = subtrees(str(tmp_path), ["tests"])
    assert protected.covering(f"{tmp_path}/tests/a") == protected.covering("tests/a")


@pytest.mark.parametrize(
    "path", ["tests2", "testsuite/a", "atests", "build/tests", "", "/tests/a", "../tests", "a\0b"]
)
def test_an_entry_covers_nothing_else(tmp_path: Path, path: str) -> None:
    assert subtrees(str(tmp_path), ["tests"]).covering(path) is None


def test_a_link_into_the_subtree_is_the_path_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "way").symlink_to("tests")
    found = subtrees(str(tmp_path), ["tests"]).covering("way/a")
    assert found == Covered("tests/a", "tests")


def test_an_entry_that_is_a_link_protects_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "tests").symlink_to("real")
    protected = subtrees(str(tmp_path), ["tests"])
    assert (
        protected.covering("tests/a") == protected.covering("real/a") == Covered("real/a", "tests")
    )


def test_a_path_that_resolves_outside_the_work_folder_is_in_no_subtree(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "tests").mkdir(parents=True)
    (work / "tests" / "out").symlink_to("../../elsewhere")
    assert subtrees(str(work), ["tests"]).covering("tests/out") is None


def test_removing_a_link_counts_where_the_link_stands(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "link").symlink_to("../free")
    protected = subtrees(str(tmp_path), ["tests"])
    assert protected.covering("tests/link") is None
    assert protected.covering("tests/link", entry=True) == Covered("tests/link", "tests")


def test_a_work_folder_behind_a_link_and_a_loop_of_links_are_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "work").symlink_to("real")
    (tmp_path / "real" / "loop").symlink_to("loop")
    protected = subtrees(str(tmp_path / "work"), ["tests"])
    assert protected.covering(f"{tmp_path}/work/tests") == Covered("tests", "tests")
    assert protected.covering("loop/x") is None


def test_a_base_is_where_relative_paths_start(tmp_path: Path) -> None:
    protected = subtrees(str(tmp_path), ["cache/fixed"])
    assert protected.covering("fixed/a", f"{tmp_path}/cache") == Covered(
        "cache/fixed/a", "cache/fixed"
    )
    assert protected.covering("fixed/a") is None


@given(st.text(max_size=40), st.text(max_size=10))
def test_any_path_is_answered_and_only_below_the_entry_covered(path: str, entry: str) -> None:
    found = subtrees("/nonexistent/work", [entry] if "\0" not in entry else []).covering(path)
    assert found is None or found.rule == entry


_NAMES = st.text(st.characters(codec="ascii", exclude_characters="/\0"), min_size=1).filter(
    lambda name: name not in (".", "..")
)


@given(st.lists(_NAMES, min_size=1, max_size=4), st.lists(_NAMES, min_size=1, max_size=4))
def test_matching_goes_component_by_component(entry: list[str], path: list[str]) -> None:
    found = subtrees("/nonexistent/work", ["/".join(entry)]).covering("/".join(path))
    assert (found is not None) == (path[: len(entry)] == entry)
