"""tool-editor: create, insert, replace and undo, and that a write is whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from editor_tool import files, history
from editor_tool.editor import edit


def call(folder: Path, operation: str, **members: object) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(
        edit(json.dumps({"operation": operation, **members}), folder).data
    )
    return data


def refused(folder: Path, kind: str, operation: str, **members: object) -> str:
    data = call(folder, operation, **members)
    assert (data["ok"], data.get("error_kind")) == (False, kind), data
    return str(data["message"])


def test_create_makes_a_file_and_replaces_none(tmp_path: Path) -> None:
    assert call(tmp_path, "create", dest_path="a/b", content="x") == {
        "ok": True,
        "path": "a/b",
        "bytes": 1,
    }
    assert "write_file" in refused(tmp_path, "exists", "create", dest_path="a/b", content="y")
    assert (tmp_path / "a/b").read_text() == "x"
    assert os.listdir(tmp_path / "a") == ["b"]


@pytest.mark.parametrize(
    ("old", "line", "content", "new"),
    [
        ("1\n2\n", 0, "0", "0\n1\n2\n"),
        ("1\n2\n", 1, "x\ny\n", "1\nx\ny\n2\n"),
        ("1\n2\n", 2, "3", "1\n2\n3\n"),
        ("1\n2", 2, "3", "1\n2\n3"),
        ("1\n2", 1, "", "1\n\n2"),
        ("", 0, "1", "1\n"),
    ],
)
def test_insert_puts_whole_lines_behind_one(
    tmp_path: Path, old: str, line: int, content: str, new: str
) -> None:
    (tmp_path / "a").write_text(old)

    data = call(tmp_path, "insert", dest_path="a", line=line, content=content)

    assert (tmp_path / "a").read_text() == new
    assert (data["line"], data["lines_inserted"]) == (line + 1, max(content.count("\n"), 1))


def test_insert_refuses_a_line_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n")

    assert "1 lines" in refused(
        tmp_path, "out_of_range", "insert", dest_path="a", line=2, content=""
    )


def test_replace_all_says_how_many(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\nx x\n")
    given = {"dest_path": "a", "old_string": "x", "new_string": "y"}

    assert "3 times" in refused(tmp_path, "not_unique", "replace", **given)
    data = call(tmp_path, "replace", replace_all=True, **given)

    assert data == {"ok": True, "path": "a", "line": 1, "replacements": 3}
    assert (tmp_path / "a").read_text() == "y\ny y\n"


def test_undo_takes_changes_back_newest_first(tmp_path: Path) -> None:
    call(tmp_path, "create", dest_path="a", content="1")
    call(tmp_path, "write_file", dest_path="./a", content="2")
    call(tmp_path, "write_file", dest_path="b", content="other")
    call(tmp_path, "write_file", dest_path="a", content="3")

    assert call(tmp_path, "undo", dest_path="a") == {"ok": True, "path": "a", "removed": False}
    assert (tmp_path / "a").read_text() == "2"
    assert call(tmp_path, "undo", dest_path="a")["ok"]
    assert (tmp_path / "a").read_text() == "1"
    assert call(tmp_path, "undo", dest_path="a")["removed"] is True
    assert not (tmp_path / "a").exists()
    refused(tmp_path, "nothing_to_undo", "undo", dest_path="a")
    assert (tmp_path / "b").read_text() == "other"


def test_undo_leaves_alone_what_somebody_else_has_changed(tmp_path: Path) -> None:
    call(tmp_path, "write_file", dest_path="a", content="1")
    (tmp_path / "a").write_text("mine")

    refused(tmp_path, "changed_since", "undo", dest_path="a")
    (tmp_path / "a").unlink()
    refused(tmp_path, "changed_since", "undo", dest_path="a")


def test_what_undo_needs_stays_out_of_sight_and_out_of_git(tmp_path: Path) -> None:
    call(tmp_path, "write_file", dest_path="a", content="needle")
    call(tmp_path, "write_file", dest_path="a", content="")

    assert (tmp_path / ".tool-editor/.gitignore").read_text() == "*\n"
    assert [each["path"] for each in call(tmp_path, "list_files")["entries"]] == ["a"]
    assert call(tmp_path, "find_in_files", pattern="needle")["matches"] == []
    refused(tmp_path, "permission_denied", "read_file", path="./.tool-editor/.gitignore")
    refused(tmp_path, "permission_denied", "list_files", dir=".tool-editor")


def test_the_history_is_bounded_and_says_what_it_does_not_keep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "ENTRIES_KEPT", 3)
    monkeypatch.setattr(history, "LARGEST_KEPT", 10)
    for number in range(5):
        call(tmp_path, "write_file", dest_path="a", content=str(number))
    assert len(list((tmp_path / ".tool-editor/undo").glob("*.json"))) == 3

    (tmp_path / "large").write_text("x" * 11)
    assert call(tmp_path, "write_file", dest_path="large", content="")["undo"] is False
    refused(tmp_path, "nothing_to_undo", "undo", dest_path="large")


def test_a_history_that_is_a_link_is_not_written_through(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    (tmp_path / "elsewhere").mkdir()
    folder.mkdir()
    (folder / ".tool-editor").symlink_to("../elsewhere")

    assert "is a link" in refused(folder, "io_error", "write_file", dest_path="a", content="x")
    assert os.listdir(tmp_path / "elsewhere") == []
    assert not (folder / "a").exists()


def test_a_write_that_fails_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("before")
    whole = files._write_all

    def full(descriptor: int, data: bytes) -> None:
        if data == b"before":
            return whole(descriptor, data)
        os.write(descriptor, data[:3])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "_write_all", full)
    assert "No space left" in refused(
        tmp_path, "io_error", "write_file", dest_path="a", content="new text"
    )

    assert (tmp_path / "a").read_text() == "before"
    refused(tmp_path, "nothing_to_undo", "undo", dest_path="a")


def test_a_write_that_was_cut_short_is_told_and_can_be_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("before")

    class Killed(BaseException):
        pass

    def torn(descriptor: int, data: bytes) -> None:
        os.write(descriptor, data[:3])
        raise Killed

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(files, "_write_all", torn)
        call(tmp_path, "write_file", dest_path="a", content="new text")
    assert (tmp_path / "a").read_text() == "newore"

    given = {"dest_path": "a", "old_string": "new", "new_string": "x"}
    assert "undo" in refused(tmp_path, "interrupted_write", "replace", **given)
    assert call(tmp_path, "undo", dest_path="a")["ok"]
    assert (tmp_path / "a").read_text() == "before"
    assert call(tmp_path, "write_file", dest_path="a", content="again")["ok"]


def test_a_new_file_appears_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "rename", _refusing)

    refused(tmp_path, "io_error", "write_file", dest_path="sub/a", content="x")

    assert os.listdir(tmp_path / "sub") == []


def _refusing(*_: object) -> None:
    raise OSError(5, "Input/output error")
