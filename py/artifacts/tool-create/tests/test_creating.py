"""tool-create: a new artifact whole, or nothing (spec 16.3)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from create_tool.creating import create


def call(folder: Path, **members: object) -> dict[str, Any]:
    outcome = create(json.dumps(members), folder)
    assert (outcome.status == "passed") is json.loads(outcome.data)["ok"]
    data: dict[str, Any] = json.loads(outcome.data)
    return data


@pytest.mark.parametrize(
    ("members", "files"),
    [
        ({"type": "tool"}, ["README.md", "capsule.wasm", "capsule.wat", "murmur.yaml"]),
        ({"type": "hook"}, ["README.md", "capsule.wasm", "capsule.wat", "murmur.yaml"]),
        ({"type": "tool", "runtime": "native"}, ["README.md", "bin/my-one", "murmur.yaml"]),
        ({"type": "skill"}, ["murmur.yaml", "skill.md"]),
    ],
)
def test_each_type_has_its_files(tmp_path: Path, members: dict[str, str], files: list[str]) -> None:
    data = call(tmp_path, name="my-one", **members)

    assert data["files"] == [f"tools/my-one/{file}" for file in files]
    for file in data["files"]:
        assert (tmp_path / file).stat().st_size
    assert os.listdir(tmp_path / "tools") == ["my-one"]
    manifest = (tmp_path / "tools/my-one/murmur.yaml").read_text()
    assert manifest.startswith("name: my-one\n") and f"runtime: {members['type']}\n" in manifest


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"name": "a"}, "type is missing; it must be one of tool, hook, skill"),
        ({"type": "driver", "name": "a"}, "'driver'"),
        ({"type": "tool"}, "name is missing"),
        ({"type": "tool", "name": "../a"}, "lower-case letters"),
        ({"type": "tool", "name": "Upper"}, "lower-case letters"),
        ({"type": "tool", "name": "x" * 101}, "at most 100"),
        ({"type": "tool", "name": "a", "runtime": "python"}, "wasm, native"),
        ({"type": "hook", "name": "a", "runtime": "native"}, "a hook is a component"),
        ({"type": "skill", "name": "a", "runtime": "wasm"}, "leave it out"),
        ({"type": "tool", "name": "a", "path": "b"}, "not path"),
    ],
)
def test_input_that_makes_no_sense_is_refused_and_writes_nothing(
    tmp_path: Path, members: dict[str, str], says: str
) -> None:
    data = call(tmp_path, **members)

    assert data["error_kind"] == "invalid_input" and says in data["message"]
    assert os.listdir(tmp_path) == []


def test_what_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "tools/mine").mkdir(parents=True)
    (tmp_path / "tools/mine/file").write_text("x")

    assert call(tmp_path, type="tool", name="mine")["error_kind"] == "exists"
    assert os.listdir(tmp_path / "tools") == ["mine"]
    assert os.listdir(tmp_path / "tools/mine") == ["file"]


def test_a_tools_folder_that_leads_out_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "tools").symlink_to("..")

    assert call(folder, type="tool", name="a")["error_kind"] == "outside_workdir"
    assert os.listdir(tmp_path) == ["work"]


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, content: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)

    assert "No space left" in call(tmp_path, type="skill", name="a")["message"]
    assert os.listdir(tmp_path / "tools") == []
