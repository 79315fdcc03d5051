"""tool-editor as the component that runs: files of its folder, nothing outside (spec 16.3)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from murmur.guest.client import Guests
from tests.artifacts.components import Artifact, compile_artifact


@pytest.fixture(scope="module")
def editor(guests: Guests, tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    return compile_artifact("tool-editor", guests, tmp_path_factory.mktemp("compiled"))


def test_files_are_written_patched_read_found_and_listed(editor: Artifact, tmp_path: Path) -> None:
    def do(operation: str, **members: object) -> dict[str, object]:
        called = editor.call({"operation": operation, **members}, tmp_path)
        assert called.result.status == "passed", called.data
        return called.data

    assert do("write_file", dest_path="a/b.txt", content="one\ntwo é\n")["created"] is True
    assert (tmp_path / "a/b.txt").read_text() == "one\ntwo é\n"
    assert do("replace_in_file", dest_path="a/b.txt", old_string="two", new_string="2")["line"] == 2
    assert do("read_file", path="a/b.txt")["content"] == "one\n2 é\n"
    assert do("find_in_files", pattern="^2 ")["matches"] == [
        {"path": "a/b.txt", "line": 2, "text": "2 é"}
    ]
    assert do("list_files", recursive=True)["entries"] == [
        {"path": "a", "kind": "directory"},
        {"path": "a/b.txt", "kind": "file", "bytes": 9},
    ]


def test_files_are_created_viewed_patched_searched_and_undone_in_their_encoding(
    editor: Artifact, tmp_path: Path
) -> None:
    def do(operation: str, **members: object) -> dict[str, object]:
        called = editor.call({"operation": operation, **members}, tmp_path)
        assert called.result.status == "passed", called.data
        return called.data

    latin, wide = "é\r\nb\r\n".encode("latin-1"), b"\xff\xfe" + "é\n".encode("utf-16-le")
    (tmp_path / "latin").write_bytes(latin)
    (tmp_path / "wide").write_bytes(wide)

    assert do("create", dest_path="n/a.txt", content="1\n2\n")["bytes"] == 4
    assert do("insert", dest_path="n/a.txt", line=2, content="3")["lines_inserted"] == 1
    diff = "--- a/n/a.txt\n+++ b/n/a.txt\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n"
    assert do("patch", dest_path="n/a.txt", patch=diff)["hunks"] == 1
    assert do("view", path="n/a.txt")["content"] == "     1\t1\n     2\ttwo\n     3\t3\n"
    assert os.listdir(tmp_path / "n") == ["a.txt"], "the new file's first name is gone"
    assert do("replace", dest_path="latin", old_string="é\nb", new_string="ü")["line"] == 1
    assert (tmp_path / "latin").read_bytes() == b"\xfc\r\n"
    assert do("insert", dest_path="wide", line=0, content="€")["line"] == 1
    assert (tmp_path / "wide").read_bytes() == b"\xff\xfe" + "€\né\n".encode("utf-16-le")
    found = do("search", pattern="É", ignore_case=True, glob="w*")["matches"]
    assert found == [{"path": "wide", "line": 2, "text": "é"}]
    for name in ("latin", "wide"):
        assert do("undo", dest_path=name)["removed"] is False
    assert ((tmp_path / "latin").read_bytes(), (tmp_path / "wide").read_bytes()) == (latin, wide)
    for _ in range(3):
        do("undo", dest_path="n/a.txt")
    assert os.listdir(tmp_path / "n") == []


def test_the_result_says_effect_and_resource(editor: Artifact, tmp_path: Path) -> None:
    write = {"operation": "write_file", "dest_path": "./a", "content": ""}
    written = editor.call(write, tmp_path).result
    read = editor.call({"operation": "read_file", "path": "a"}, tmp_path).result

    assert (written.note("state_effect"), read.note("state_effect")) == ("mutate", "read")
    assert written.note("resource_id") == read.note("resource_id") == "workdir:a"


def test_an_existing_files_mode_is_kept(editor: Artifact, tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("old")
    (tmp_path / "run.sh").chmod(0o750)

    editor.call({"operation": "write_file", "dest_path": "run.sh", "content": "new"}, tmp_path)

    assert (tmp_path / "run.sh").read_text() == "new"
    assert (tmp_path / "run.sh").stat().st_mode & 0o777 == 0o750


def test_nothing_outside_the_folder_is_read_or_written(editor: Artifact, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "secret").write_text("secret")
    (work / "absolute").symlink_to(tmp_path / "secret")
    (work / "relative").symlink_to("../secret")
    (work / "folder").symlink_to("..")

    kinds = {
        str(tmp_path / "secret"): "absolute_path",
        "../secret": "outside_workdir",
        "absolute": "outside_workdir",
        "relative": "outside_workdir",
        "folder/secret": "outside_workdir",
    }
    for path, kind in kinds.items():
        for given in (
            {"operation": "read_file", "path": path},
            {"operation": "write_file", "dest_path": path, "content": "changed"},
            {
                "operation": "replace_in_file",
                "dest_path": path,
                "old_string": "secret",
                "new_string": "x",
            },
        ):
            called = editor.call(given, work)
            assert called.result.status == "failed"
            assert called.data["error_kind"] == kind
    assert (tmp_path / "secret").read_text() == "secret"
    assert sorted(os.listdir(tmp_path)) == ["secret", "work"]


def test_without_a_folder_nothing_is_found(editor: Artifact) -> None:
    called = editor.call({"operation": "read_file", "path": "a"})

    assert called.data["error_kind"] == "not_found"
