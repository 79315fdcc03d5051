"""tool-editor: its operations, refusals, and that it never leaves its folder (spec 16.3)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from editor_tool import finding, reading
from editor_tool.editor import edit
from murmur_tooling.outcome import Outcome


def call(folder: Path, operation: str, **members: object) -> tuple[Outcome, dict[str, Any]]:
    outcome = edit(json.dumps({"operation": operation, **members}), folder)
    return outcome, json.loads(outcome.data)


def refused(folder: Path, kind: str, operation: str, **members: object) -> str:
    outcome, data = call(folder, operation, **members)
    assert data["ok"] is False
    assert data["error_kind"] == kind, data
    assert outcome.status == ("error" if kind == "invalid_input" else "failed")
    assert outcome.summary == data["message"]
    return str(data["message"])


def test_read_file_returns_the_text_and_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree")

    outcome, data = call(tmp_path, "read_file", path="./a.txt")

    assert outcome.status == "passed"
    assert data == {
        "ok": True,
        "path": "a.txt",
        "content": "one\ntwo\nthree",
        "start_line": 1,
        "end_line": 3,
        "total_lines": 3,
        "truncated": False,
    }
    assert outcome.metadata == (("state_effect", "read"), ("resource_id", "workdir:a.txt"))


def test_read_file_takes_a_range_of_lines(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n2\n3\n4\n")

    assert call(tmp_path, "read_file", path="a", start_line=2, end_line=3)[1]["content"] == "2\n3\n"
    assert call(tmp_path, "read_file", path="a", start_line=4, end_line=9)[1]["content"] == "4\n"
    refused(tmp_path, "out_of_range", "read_file", path="a", start_line=5)
    refused(tmp_path, "invalid_input", "read_file", path="a", start_line=3, end_line=2)
    refused(tmp_path, "invalid_input", "read_file", path="a", start_line=0)


def test_reads_are_capped_at_2000_lines(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n" * 2500)

    outcome, data = call(tmp_path, "read_file", path="a")

    assert (data["end_line"], data["total_lines"], data["truncated"]) == (2000, 2500, True)
    assert outcome.truncated
    assert call(tmp_path, "read_file", path="a", start_line=1000)[1]["end_line"] == 2500


def test_reads_are_capped_in_bytes_too(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("é" * reading.TEXT_BYTES)

    data = call(tmp_path, "read_file", path="a")[1]

    assert data["truncated"]
    assert len(data["content"].encode()) <= reading.TEXT_BYTES


def test_an_empty_file_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")

    data = call(tmp_path, "read_file", path="a")[1]

    assert (data["content"], data["total_lines"], data["start_line"]) == ("", 0, 0)


def test_write_file_creates_parents_and_replaces(tmp_path: Path) -> None:
    outcome, data = call(tmp_path, "write_file", dest_path="a/b/c.txt", content="é\r\n")

    assert data == {"ok": True, "path": "a/b/c.txt", "created": True, "bytes": 4}
    assert outcome.metadata == (("state_effect", "mutate"), ("resource_id", "workdir:a/b/c.txt"))
    assert (tmp_path / "a/b/c.txt").read_bytes() == b"\xc3\xa9\r\n"
    assert not call(tmp_path, "write_file", dest_path="a/b/c.txt", content="")[1]["created"]
    assert (tmp_path / "a/b/c.txt").read_bytes() == b""


def test_a_write_keeps_the_mode_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text("old")
    path.chmod(0o755)

    call(tmp_path, "write_file", dest_path="run.sh", content="new")

    assert path.stat().st_mode & 0o777 == 0o755


def test_replace_in_file_replaces_the_one_occurrence(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\r\ntwo\r\nthree\r\n")

    data = call(tmp_path, "replace_in_file", dest_path="a", old_string="two", new_string="2")[1]

    assert data == {"ok": True, "path": "a", "line": 2}
    assert (tmp_path / "a").read_bytes() == b"one\r\n2\r\nthree\r\n"


def test_replace_in_file_refuses_no_and_several_occurrences(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x x")
    given = {"dest_path": "a", "new_string": "y"}

    refused(tmp_path, "no_match", "replace_in_file", old_string="z", **given)
    assert "2 times" in refused(tmp_path, "not_unique", "replace_in_file", old_string="x", **given)
    refused(tmp_path, "invalid_input", "replace_in_file", old_string="", **given)
    assert (tmp_path / "a").read_text() == "x x"


def test_find_in_files_finds_lines_with_their_context(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/b.txt").write_text("0\n1\nneedle 2\n3\n")
    (tmp_path / "a.txt").write_text("needle\n")
    (tmp_path / "bin").write_bytes(b"needle\0")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/c").write_text("needle")

    outcome, data = call(tmp_path, "find_in_files", pattern="^need(le)", context_lines=1)

    assert data["matches"] == [
        {"path": "a.txt", "line": 1, "text": "needle", "before": [], "after": []},
        {"path": "sub/b.txt", "line": 3, "text": "needle 2", "before": ["1"], "after": ["3"]},
    ]
    assert outcome.metadata[0] == ("state_effect", "read")
    found = call(tmp_path, "find_in_files", pattern="needle", recursive=False)[1]["matches"]
    assert [match["path"] for match in found] == ["a.txt"]
    found = call(tmp_path, "find_in_files", pattern="needle", dir="sub")[1]["matches"]
    assert [match["path"] for match in found] == ["sub/b.txt"]


def test_find_in_files_says_what_it_cannot_do(tmp_path: Path) -> None:
    refused(tmp_path, "invalid_input", "find_in_files", pattern="(")
    refused(tmp_path, "invalid_input", "find_in_files", pattern="x", context_lines=21)
    refused(tmp_path, "not_found", "find_in_files", pattern="x", dir="none")


def test_find_in_files_shows_a_bounded_number_of_matches(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n" * (finding.MATCHES_SHOWN + 1))

    outcome, data = call(tmp_path, "find_in_files", pattern="x")

    assert len(data["matches"]) == finding.MATCHES_SHOWN
    assert outcome.truncated


def test_search_takes_plain_text_a_glob_and_a_number(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("f(x)\nF(X)\n")
    (tmp_path / "a.txt").write_text("f(x)\n")

    def lines(**members: object) -> list[str]:
        found = call(tmp_path, "search", pattern="f(x)", **members)[1]["matches"]
        return [f"{match['path']}:{match['line']}" for match in found]

    assert lines() == ["a.txt:1", "src/a.py:1"]
    assert lines(ignore_case=True, glob="*.py") == ["src/a.py:1", "src/a.py:2"]
    assert lines(glob="src/*") == ["src/a.py:1"]
    assert lines(dir="src", max_results=1, ignore_case=True) == ["src/a.py:1"]
    assert call(tmp_path, "search", pattern="f.x", regex=True)[1]["matches"][0]["line"] == 1
    assert call(tmp_path, "search", pattern="f.x")[1]["matches"] == []


def test_a_search_looks_at_a_bounded_number_of_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        (tmp_path / name).write_text("needle\n" * 100)
    monkeypatch.setattr(finding, "SEARCHED_BYTES", 1000)

    data = call(tmp_path, "search", pattern="nothing")[1]

    assert (data["truncated"], data["stopped_at"], data["files_searched"]) == (True, "b", 2)


def test_a_large_file_does_not_keep_a_search_from_those_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.log").write_text("x\n" * 1000 + "needle\n")
    (tmp_path / "b").write_text("needle\n")
    monkeypatch.setattr(finding, "FILE_SEARCHED_BYTES", 1000)

    data = call(tmp_path, "search", pattern="needle")[1]
    assert [match["path"] for match in data["matches"]] == ["b"]
    assert (data["truncated"], data["partly_searched"]) == (True, ["a.log"])
    alone = call(tmp_path, "search", pattern="needle", dir="a.log")[1]
    assert (alone["matches"][0]["line"], alone["truncated"]) == (1001, False)


def test_overlapping_matches_share_their_context(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x1\nx2\ny\n")

    data = call(tmp_path, "search", pattern="x", context_lines=2)[1]

    assert data["matches"] == [
        {"path": "a", "line": 1, "text": "x1", "before": [], "after": ["x2", "y"]},
        {"path": "a", "line": 2, "text": "x2", "before": ["x1"], "after": ["y"]},
    ]


def test_list_files_names_each_entry_with_its_kind(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d/f").write_text("123")
    (tmp_path / "l").symlink_to("/etc")

    assert call(tmp_path, "list_files")[1]["entries"] == [
        {"path": "d", "kind": "directory"},
        {"path": "l", "kind": "link"},
    ]
    assert call(tmp_path, "list_files", recursive=True)[1]["entries"][1] == {
        "path": "d/f",
        "kind": "file",
        "bytes": 3,
    }


@pytest.mark.parametrize(
    ("operation", "key"),
    [
        ("read_file", "path"),
        ("view", "path"),
        ("write_file", "dest_path"),
        ("create", "dest_path"),
        ("undo", "dest_path"),
        ("list_files", "dir"),
    ],
)
def test_no_path_leads_out_of_the_folder(tmp_path: Path, operation: str, key: str) -> None:
    folder = tmp_path / "work"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/file").write_text("secret")
    (folder / "abs").symlink_to(tmp_path / "secret")
    (folder / "rel").symlink_to("../secret")
    (folder / "loop").symlink_to("loop")
    more = {"content": "x"} if operation in ("write_file", "create") else {}

    absolute = str(tmp_path / "secret/file")
    refused(folder, "absolute_path", operation, **{key: absolute}, **more)
    outside = ("../secret/file", "sub/../../secret/file", "abs/file", "rel/file", "sub/../rel/file")
    for path in outside:
        refused(folder, "outside_workdir", operation, **{key: path}, **more)
    refused(folder, "io_error", operation, **{key: "loop/x"}, **more)
    assert (tmp_path / "secret/file").read_text() == "secret"
    assert os.listdir(tmp_path / "secret") == ["file"]


def test_links_that_stay_inside_are_followed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a/f").write_text("inside")
    (tmp_path / "b/link").symlink_to("../a/f")

    assert call(tmp_path, "read_file", path="b/link")[1]["path"] == "a/f"


@pytest.mark.parametrize(
    ("kind", "path"), [("not_found", "none"), ("not_found", "f/x"), ("is_directory", "d")]
)
def test_what_cannot_be_read_is_told_by_kind(tmp_path: Path, kind: str, path: str) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "f").write_text("")

    refused(tmp_path, kind, "read_file", path=path)


def test_what_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "nul").write_bytes(b"a\0b")
    (tmp_path / "image").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(1, 99)))
    (tmp_path / "noise").write_bytes(bytes(range(0x80, 0x100)) * 2)

    for path in ("nul", "image", "noise"):
        refused(tmp_path, "not_text", "read_file", path=path)
        refused(tmp_path, "not_text", "view", path=path)
        replaced = {"dest_path": path, "old_string": "a", "new_string": "b"}
        refused(tmp_path, "not_text", "replace", **replaced)


@pytest.mark.parametrize(
    "data",
    [
        None,
        "{",
        "[]",
        '{"operation":"delete_file","path":"a"}',
        '{"operation":"read_file"}',
        '{"operation":"read_file","path":""}',
        '{"operation":"read_file","path":"a\\u0000"}',
        '{"operation":"read_file","path":7}',
        '{"operation":"read_file","path":"a","start_line":"1"}',
        '{"operation":"write_file","path":"a","content":"x"}',
        '{"operation":"write_file","dest_path":"a","content":"\\ud800"}',
        '{"operation":"list_files","recursive":"yes"}',
        '{"operation":"search","pattern":""}',
        '{"operation":"search","pattern":"x","max_results":0}',
        '{"operation":"search","pattern":"(","regex":true}',
        '{"operation":"insert","dest_path":"a","line":-1,"content":"x"}',
        '{"operation":"replace","dest_path":"a","old_string":"x"}',
        '{"operation":"undo"}',
    ],
)
def test_input_that_makes_no_sense_is_an_error_and_changes_nothing(
    tmp_path: Path, data: str | None
) -> None:
    outcome = edit(data, tmp_path)

    assert outcome.status == "error"
    assert json.loads(outcome.data)["error_kind"] == "invalid_input"
    assert os.listdir(tmp_path) == []


def test_members_given_as_null_count_as_not_given(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")

    data = call(tmp_path, "read_file", path="a", start_line=None, dest_path=None)[1]

    assert data["content"] == "x"
