"""tool-editor: encodings and line ends stay as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from editor_tool.editor import edit
from editor_tool.texts import encoding_of

CODECS = {
    "utf-8": ("utf-8", b""),
    "utf-8-bom": ("utf-8", b"\xef\xbb\xbf"),
    "utf-16-le": ("utf-16-le", b"\xff\xfe"),
    "utf-16-be": ("utf-16-be", b"\xfe\xff"),
    "latin-1": ("latin-1", b""),
}


def call(folder: Path, operation: str, **members: object) -> dict[str, Any]:
    outcome = edit(json.dumps({"operation": operation, **members}), folder)
    data: dict[str, Any] = json.loads(outcome.data)
    return data


@pytest.fixture(params=CODECS)
def encoding(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def in_bytes(encoding: str, text: str) -> bytes:
    codec, mark = CODECS[encoding]
    return mark + text.encode(codec)


def test_every_change_keeps_the_encoding_and_the_line_ends(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(in_bytes(encoding, "één\r\ntwo\r\nthrëe\r\n"))

    read = call(tmp_path, "read_file", path="a")
    assert read["content"] == "één\r\ntwo\r\nthrëe\r\n"
    assert read.get("encoding", "utf-8") == encoding
    assert call(tmp_path, "view", path="a", end_line=1)["content"] == "     1\téén\n"

    assert call(tmp_path, "replace", dest_path="a", old_string="één\ntwo", new_string="1\n2")["ok"]
    assert path.read_bytes() == in_bytes(encoding, "1\r\n2\r\nthrëe\r\n")
    assert call(tmp_path, "insert", dest_path="a", line=1, content="ü")["ok"]
    assert path.read_bytes() == in_bytes(encoding, "1\r\nü\r\n2\r\nthrëe\r\n")
    diff = "@@ -2,2 +2,3 @@\n ü\n-2\n+zwei\n+zwö\n"
    assert call(tmp_path, "patch", dest_path="a", patch=diff)["ok"]
    assert path.read_bytes() == in_bytes(encoding, "1\r\nü\r\nzwei\r\nzwö\r\nthrëe\r\n")
    assert call(tmp_path, "write_file", dest_path="a", content="é\n")["ok"]
    assert path.read_bytes() == in_bytes(encoding, "é\n")
    assert len(call(tmp_path, "search", pattern="é")["matches"]) == 1
    for _ in range(4):
        assert call(tmp_path, "undo", dest_path="a")["ok"]
    assert path.read_bytes() == in_bytes(encoding, "één\r\ntwo\r\nthrëe\r\n")


def test_what_an_encoding_cannot_hold_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xe9\n")

    for given in (
        {"operation": "replace", "old_string": "\n", "new_string": "€"},
        {"operation": "write_file", "content": "€"},
    ):
        data = json.loads(edit(json.dumps({"dest_path": "a", **given}), tmp_path).data)
        assert data["error_kind"] == "not_encodable"
        assert "'€'" in data["message"] and "latin-1" in data["message"]
    assert (tmp_path / "a").read_bytes() == b"\xe9\n"


def test_mixed_line_ends_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1\r\n2\n3\r\n")

    call(tmp_path, "replace", dest_path="a", old_string="2\n", new_string="zwei\n")

    assert (tmp_path / "a").read_bytes() == b"1\r\nzwei\n3\r\n"


@pytest.mark.parametrize(
    ("head", "whole", "encoding"),
    [
        (b"", True, "utf-8"),
        (b"abc\xc3", False, "utf-8"),
        (b"abc\xc3", True, "latin-1"),
        (b"caf\xe9 \x1b[1m", True, "latin-1"),
        (b"\x93quoted\x94", True, "latin-1"),
        (b"\x01\xff", True, None),
        (b"a\0", True, None),
        (b"\xff\xfea\0", True, "utf-16-le"),
    ],
)
def test_an_encoding_is_told_from_the_first_bytes(
    head: bytes, whole: bool, encoding: str | None
) -> None:
    assert encoding_of(head, whole=whole) == encoding
