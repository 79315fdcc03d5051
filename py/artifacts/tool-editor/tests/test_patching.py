"""tool-editor: unified diffs are applied whole, where their lines stand, or not at all."""

from __future__ import annotations

import difflib
import json
from pathlib import Path

import pytest
from editor_tool import patching
from editor_tool.editor import edit
from hypothesis import given
from hypothesis import strategies as st
from murmur_tooling.members import ToolError

LINES = st.lists(st.sampled_from(["", "a", "b", "c", "-", "+x", "@@", "\\"]), max_size=12)


def diff_of(old: str, new: str) -> str:
    lines = difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True))
    return "".join(
        line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines
    )


@given(LINES, LINES, st.booleans(), st.booleans())
def test_the_diff_of_two_texts_turns_one_into_the_other(
    old: list[str], new: list[str], old_ended: bool, new_ended: bool
) -> None:
    before = "\n".join(old) + ("\n" if old and old_ended else "")
    after = "\n".join(new) + ("\n" if new and new_ended else "")
    diff = diff_of(before, after)
    if diff:
        assert patching.apply(patching.parse(diff), before, "a") == after


@given(st.text(max_size=200))
def test_no_text_breaks_the_parser(text: str) -> None:
    try:
        patching.parse("@@ -1 +1 @@\n" + text)
    except ToolError as refusal:
        assert refusal.kind == "bad_patch"


def patched(folder: Path, diff: str, path: str = "a.txt") -> dict[str, object]:
    request = {"operation": "patch", "dest_path": path, "patch": diff}
    data: dict[str, object] = json.loads(edit(json.dumps(request), folder).data)
    return data


def test_hunks_are_found_where_their_lines_have_moved_to(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("new\nnew\n1\n2\n3\n4\n5\n6\n7\n")
    diff = (
        "--- a/a.txt\t2024-01-01\n+++ b/a.txt\n@@ -1,2 +1,2 @@ def f():\n-1\n+one\n 2\n"
        "@@ -6,2 +6,1 @@\n 6\n-7\n"
    )

    data = patched(tmp_path, diff)

    assert data == {
        "ok": True,
        "path": "a.txt",
        "hunks": 2,
        "added_lines": 1,
        "removed_lines": 2,
    }
    assert (tmp_path / "a.txt").read_text() == "new\nnew\none\n2\n3\n4\n5\n6\n"


def test_a_patch_creates_a_file_that_is_not_there(tmp_path: Path) -> None:
    diff = "--- /dev/null\n+++ b/sub/a.txt\n@@ -0,0 +1,2 @@\n+1\n+2\n"

    assert patched(tmp_path, diff, "sub/a.txt")["created"] is True
    assert (tmp_path / "sub/a.txt").read_text() == "1\n2\n"
    assert patched(tmp_path, diff, "sub/a.txt")["error_kind"] == "exists"


@pytest.mark.parametrize(
    ("diff", "kind", "says"),
    [
        ("@@ -1,2 +1,2 @@\n 1\n-two\n+2\n", "patch_failed", "line 2 should be 'two'"),
        ("@@ -9,1 +9,1 @@\n-9\n+x\n", "patch_failed", "has no such line"),
        ("@@ -1,3 +1,2 @@\n 1\n-2\n", "bad_patch", "hunk 1 counts 3 old and 2 new lines"),
        ("@@ -1,1 +1,1 @@\n-1\n+x\n+y\n", "bad_patch", "behind the last line"),
        ("@@ here @@\n-1\n+x\n", "bad_patch", "no hunk header"),
        ("-1\n+x\n", "bad_patch", "no hunk"),
        ("--- a/b\n+++ b/b\n@@ -1 +1 @@\n-1\n+x\n", "patch_mismatch", "not of a.txt"),
        ("--- a/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n", "patch_mismatch", "deletes"),
        (
            "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-1\n+x\n--- b\n+++ b\n@@ -1 +1 @@\n-1\n+x\n",
            "bad_patch",
            "second file",
        ),
    ],
)
def test_a_patch_that_does_not_fit_says_why_and_changes_nothing(
    tmp_path: Path, diff: str, kind: str, says: str
) -> None:
    (tmp_path / "a.txt").write_text("1\n2\n3\n")

    data = patched(tmp_path, diff)

    assert data["error_kind"] == kind, data
    assert says in str(data["message"])
    assert (tmp_path / "a.txt").read_text() == "1\n2\n3\n"
