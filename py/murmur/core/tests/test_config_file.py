"""Changing one key of a config.yaml: everything else stays. spec/registry.md 21."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur.core.config_file import change, edit, load
from murmur.core.diagnostics import MurmurError

COMMENTED = """\
# mine
registry:
  # where from
  sources:
    - {name: a, repo: a/b}   # the team's

inference:
    model: old   # kept
credentials: {ONE: x}
"""


def put(text: str, block: str, key: str, value: Any) -> str:
    return edit(text, load(Path("config.yaml"), text), block, key, value)


def test_a_new_file_holds_just_the_key() -> None:
    assert put("", "inference", "model", "m-1") == "inference:\n  model: m-1\n"


def test_a_value_is_replaced_in_place_and_comments_stay() -> None:
    assert put(COMMENTED, "inference", "model", "new") == COMMENTED.replace("old", "new")


def test_a_key_is_added_to_its_block() -> None:
    expected = COMMENTED.replace("    model:", "    provider: openai\n    model:")
    assert put(COMMENTED, "inference", "provider", "openai") == expected


def test_a_block_is_added_at_the_end() -> None:
    assert put(COMMENTED, "beta", "enabled", ["x", "y"]) == COMMENTED + (
        "beta:\n  enabled: [x, y]\n"
    )
    assert put("a: 1", "beta", "enabled", ["x"]) == "a: 1\nbeta:\n  enabled: [x]\n"


def test_a_block_in_flow_style_is_changed_too() -> None:
    edited = yaml.safe_load(put(COMMENTED, "credentials", "TWO", "y"))
    assert edited["credentials"] == {"ONE": "x", "TWO": "y"}
    assert edited["registry"] == {"sources": [{"name": "a", "repo": "a/b"}]}


@pytest.mark.parametrize(
    "value", ["yes", "012", "null", "a: b", "#x", "", " ", "a\nb", "ü", "\x07", "\x85"]
)
def test_any_text_comes_back_as_that_text(value: str) -> None:
    assert yaml.safe_load(put("", "credentials", "K", value)) == {"credentials": {"K": value}}


def test_a_file_written_anew_keeps_text_that_yaml_does_not_like() -> None:
    text = '{registry: {other: "a\\Nb \\u2028 ü"}}\n'
    edited = yaml.safe_load(put(text, "inference", "model", "m"))
    assert edited == {"registry": {"other": "a\x85b \u2028 ü"}, "inference": {"model": "m"}}


_NAMES = st.sampled_from(["registry", "inference", "other", "x y"])
_LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(_NAMES, st.none() | st.dictionaries(_NAMES, _VALUES, max_size=3), max_size=4),
    st.sampled_from([True, False, None]),
    st.text(max_size=10).filter(str.isprintable),
)
def test_whatever_the_file_holds_just_that_key_changes(
    document: dict[str, Any], flow: bool | None, value: str
) -> None:
    text = yaml.safe_dump(document, default_flow_style=flow)
    document = yaml.safe_load(text)  # which is not the same for every line break of Unicode
    expected = {**document, "inference": {**(document.get("inference") or {}), "other": value}}
    assert yaml.safe_load(put(text, "inference", "other", value)) == expected


def test_the_file_and_a_new_folder_are_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / ".murmur" / "config.yaml"
    old = os.umask(0)
    try:
        assert change(path, "inference", "model", lambda _: "a")
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_change_replaces_the_file_and_tightens_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("a: 1\n")
    path.chmod(0o644)
    before = path.stat().st_ino
    change(path, "inference", "model", lambda _: "a")
    assert path.stat().st_ino != before
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["config.yaml"]


def test_no_change_leaves_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("beta: {enabled: [a]}\n")
    before = path.stat()
    assert not change(path, "beta", "enabled", lambda present: None)
    assert path.stat() == before


@pytest.mark.parametrize("text", ["a: [", "- x\n", "inference: 3\n"])
def test_a_file_that_cannot_be_changed_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(MurmurError) as refusal:
        change(path, "inference", "model", lambda _: "a")
    assert refusal.value.code == "E-IO-003"
    assert path.read_text() == text


def test_links_are_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("a: 1\n")
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "config.yaml").symlink_to(victim)
    with pytest.raises(MurmurError):
        change(folder / "config.yaml", "inference", "model", lambda _: "a")
    (tmp_path / "linked").symlink_to(folder)
    with pytest.raises(MurmurError):
        change(tmp_path / "linked" / "config.yaml", "inference", "model", lambda _: "a")
    assert victim.read_text() == "a: 1\n"


def test_changes_at_once_lose_none(tmp_path: Path) -> None:
    path = tmp_path / ".murmur" / "config.yaml"
    program = (
        "import sys; from pathlib import Path; from murmur.core.config_file import change\n"
        "for n in range(5): change(Path(sys.argv[1]), 'credentials', sys.argv[2] + str(n),"
        " lambda _: 'v')"
    )
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(path), name],
            env={"PYTHONPATH": ":".join(sys.path)},
        )
        for name in "ABCD"
    ]
    assert [writer.wait(timeout=60) for writer in writers] == [0] * 4
    assert len(yaml.safe_load(path.read_text())["credentials"]) == 20
