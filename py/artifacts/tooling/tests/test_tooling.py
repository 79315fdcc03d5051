"""What the tools share: members, paths, and one writer at a time in the durable store."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from murmur_tooling import documents, state
from murmur_tooling.members import Members, ToolError, read_members
from murmur_tooling.places import resolve
from murmur_tooling.state import granted_state, replace_file, sole_writer

OPERATIONS = {"look": ("path", "limit"), "rest": ()}


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        (None, "operation is missing"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "a list"),
        ('{"operation":"burn"}', "'burn'; it must be one of look, rest"),
        ('{"operation":3}', "a number"),
        ('{"operation":"look","size":1}', "look takes path, limit, not size"),
        ('{"operation":"rest","path":"a"}', "rest takes no member, not path"),
    ],
)
def test_what_is_no_call_is_refused_with_what_was_found(data: str | None, fact: str) -> None:
    with pytest.raises(ToolError) as refusal:
        read_members(data, OPERATIONS)
    assert refusal.value.kind == "invalid_input"
    assert fact in str(refusal.value)


def test_a_member_that_is_null_was_not_given() -> None:
    given = {"operation": "look", "path": "a", "limit": None}
    operation, members = read_members(json.dumps(given), OPERATIONS)
    assert (operation, members.text("path"), members.given("limit")) == ("look", "a", False)
    assert members.whole("limit", 5, 1, 9) == 5


@pytest.mark.parametrize(
    ("read", "fact"),
    [
        (lambda members: members.text("none"), "none is missing"),
        (lambda members: members.text("number"), "number is a number"),
        (lambda members: members.text("half"), "surrogate"),
        (lambda members: members.whole("number", None, 1, 9), "number is 10"),
        (lambda members: members.whole("flag", None, 1, 9), "1 to 9"),
        (lambda members: members.choice("word", ["a", "b"]), "'c'; it must be one of a, b"),
        (lambda members: members.texts("word", 3), "a list of non-empty strings"),
        (lambda members: members.texts("many", 3), "4 entries"),
        (lambda members: members.mapping("many"), "it must be an object"),
    ],
)
def test_a_wrong_member_is_named_with_what_is_allowed(
    read: Callable[[Members], object], fact: str
) -> None:
    values = {"number": 10, "flag": True, "word": "c", "many": list("abcd"), "half": "\ud800"}
    with pytest.raises(ToolError) as refusal:
        read(Members(values))
    assert refusal.value.kind == "invalid_input"
    assert fact in str(refusal.value)


def test_json_is_read_as_deep_as_a_component_can() -> None:
    deep = "[" * documents.DEEPEST + "]" * documents.DEEPEST
    assert documents.read_json(deep.encode()) == json.loads(deep)
    wide = "[" + ",".join(["[]", '"[[[[ \\" [["'] * documents.DEEPEST) + "]"
    assert len(documents.read_json(wide)) == 2 * documents.DEEPEST
    for refused in (f"[{deep}]", '{"a":' * 100_000, b"\xff", "", '"' * 100_001):
        with pytest.raises(ValueError):
            documents.read_json(refused)


def test_paths_lead_only_below_their_folder(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "link").symlink_to("../b")
    (tmp_path / "out").symlink_to("../..")
    assert resolve(tmp_path, "a/./link/x") == "b/x"
    kinds = {"/etc": "absolute_path", "../x": "outside_workdir", "out/x": "outside_workdir"}
    for path, kind in {**kinds, "": "invalid_input"}.items():
        with pytest.raises(ToolError) as refusal:
            resolve(tmp_path, path)
        assert refusal.value.kind == kind


def test_a_folder_named_state_in_the_work_folder_is_not_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        with pytest.raises(ToolError) as refusal:
            granted_state()
        assert refusal.value.kind == "state_unavailable"
        assert "capabilities: {state: {}}" in str(refusal.value)
        (tmp_path / "state").mkdir(exist_ok=True)


def _count(folder: Path, times: int) -> None:
    for _ in range(times):
        with sole_writer(folder, "count"):
            number = int((folder / "count").read_text())
            replace_file(folder / "count", str(number + 1).encode())


def test_only_one_writes_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "count").write_text("0")
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_count, args=(tmp_path, 25)) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    assert (tmp_path / "count").read_text() == "100"
    assert os.listdir(tmp_path) == ["count"]


def test_a_lock_left_by_a_killed_call_stops_nobody_for_long(tmp_path: Path) -> None:
    long_ago = time.time() - state.LOCK_SECONDS - 1
    for name in ("x.lock", "x.lock.judge"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (long_ago, long_ago))
    with sole_writer(tmp_path, "x"):
        assert (tmp_path / "x.lock").stat().st_mtime > long_ago + 1
    assert os.listdir(tmp_path) == []


def test_a_lock_that_stays_taken_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "WAIT_SECONDS", 0.05)
    (tmp_path / "x.lock").touch()
    with pytest.raises(ToolError) as refusal, sole_writer(tmp_path, "x"):
        pass
    assert "x.lock" in str(refusal.value)
    assert os.listdir(tmp_path) == ["x.lock"]
