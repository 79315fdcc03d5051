"""tool-editor: files of any size are shown in part, without being loaded."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from editor_tool import reading
from editor_tool.editor import edit


def call(folder: Path, operation: str, **members: object) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(
        edit(json.dumps({"operation": operation, **members}), folder).data
    )
    return data


def test_a_large_file_is_read_without_being_loaded(tmp_path: Path) -> None:
    lines = 1_000_000
    with (tmp_path / "log").open("w") as file:
        for first in range(1, lines, 1000):
            file.write("".join(f"{number:015d}\n" for number in range(first, first + 1000)))
    tracemalloc.start()

    data = call(tmp_path, "read_file", path="log", start_line=999_998, end_line=999_999)

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert data["content"] == f"{999_998:015d}\n{999_999:015d}\n"
    assert (data["total_lines"], data["truncated"]) == (lines, False)
    assert peak < 8 * 1024 * 1024


def test_a_line_longer_than_everything_that_is_shown_is_cut(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x" * (reading.TEXT_BYTES + 5) + "\nnext\n")

    data = call(tmp_path, "read_file", path="a")
    assert (len(data["content"]), data["truncated"]) == (reading.TEXT_BYTES, True)
    assert (data["end_line"], data["total_lines"]) == (1, 2)
    assert call(tmp_path, "read_file", path="a", start_line=2)["content"] == "next\n"


def test_lines_too_many_to_count_have_no_total(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("line\n" * 1000)
    monkeypatch.setattr(reading, "_CHUNK", 100)
    monkeypatch.setattr(reading, "COUNTED_BYTES", 1000)

    data = call(tmp_path, "read_file", path="a", end_line=10)
    assert (data["total_lines"], data["truncated"]) == (None, False)
    assert call(tmp_path, "read_file", path="a", start_line=900)["total_lines"] == 1000


def test_view_numbers_the_lines_and_lists_folders(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1\r\n2\n3")

    assert call(tmp_path, "view", path="a", start_line=2) == {
        "ok": True,
        "path": "a",
        "content": "     2\t2\n     3\t3\n",
        "start_line": 2,
        "end_line": 3,
        "total_lines": 3,
        "truncated": False,
    }
    assert call(tmp_path, "view", path=".")["entries"] == [
        {"path": "a", "kind": "file", "bytes": 6}
    ]
