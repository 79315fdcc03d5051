"""tool-file-facts as the runtime starts it: one JSON object in, one out (spec 9)."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tool as the build made it, else compiled here."""
    named = os.environ.get("FILE_FACTS")
    if named:
        return Path(named).resolve()
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    made = tmp_path_factory.mktemp("native") / "tool-file-facts"
    sources = sorted(Path(__file__).parents[1].glob("*.c"))
    command = [compiler, "-std=c11", "-D_GNU_SOURCE", "-O1", "-o", str(made), *map(str, sources)]
    subprocess.run(command, check=True)
    return made


def send(program: Path, folder: Path, sent: str) -> dict[str, Any]:
    done = subprocess.run(
        [str(program)], cwd=folder, input=sent.encode(), capture_output=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, b"")
    value: dict[str, Any] = json.loads(done.stdout)
    assert value["metadata"] == {"state_effect": "read"}
    return value


def call(program: Path, folder: Path, **members: object) -> dict[str, Any]:
    return send(program, folder, json.dumps({"data": json.dumps(members), "log_path": None}))


def entries(program: Path, folder: Path, **members: object) -> dict[str, dict[str, Any]]:
    value = call(program, folder, **members)
    assert value["status"] == "passed", value
    return {entry["path"]: entry for entry in value["data"]["entries"]}


CONTENTS = {
    "empty": (b"", "empty"),
    "ascii.txt": (b"hello\n", "ASCII text"),
    "utf8.txt": ("é\n".encode(), "UTF-8 text"),
    "cut.txt": (("a" * 8191 + "é").encode(), "ASCII text"),
    "run.sh": (b"#!/bin/sh\necho\n", "ASCII text script"),
    "wide.txt": ("é".encode("utf-16"), "UTF-16 text, little endian"),
    "latin.txt": (b"\xe9t\xe9\n", "data"),
    "nul": (b"text\0text", "data"),
    "image.png": (b"\x89PNG\r\n\x1a\n" + bytes(20), "PNG image"),
    "module.wasm": (b"\0asm\1\0\0\0", "WebAssembly module"),
    "large": (b"x" * 300_000, "ASCII text"),
}


def test_files_are_told_by_size_mode_content_and_hash(program: Path, tmp_path: Path) -> None:
    for name, (content, _) in CONTENTS.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "run.sh").chmod(0o4750)
    os.utime(tmp_path / "empty", (0, 86_400))
    found = entries(program, tmp_path, hash=True)
    assert list(found) == sorted(CONTENTS)
    for name, (content, kind) in CONTENTS.items():
        told = found[name]
        assert (told["kind"], told["bytes"], told["content"]) == ("file", len(content), kind)
        assert told["sha256"] == hashlib.sha256(content).hexdigest()
    assert found["run.sh"]["mode"] == "4750"
    assert found["empty"]["modified"] == "1970-01-02T00:00:00Z"
    assert "sha256" not in entries(program, tmp_path)["large"]


def test_the_tool_knows_itself(program: Path) -> None:
    told = entries(program, program.parent, path=program.name)[program.name]
    machine = {"x86_64": "x86-64", "aarch64": "AArch64"}[os.uname().machine]
    assert told["content"].startswith(f"ELF 64-bit {machine} ")


def test_folders_are_walked_in_order_as_far_as_asked(program: Path, tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/c").write_text("")
    (tmp_path / "a.txt").write_text("")
    assert list(entries(program, tmp_path)) == ["a", "a.txt"]
    assert list(entries(program, tmp_path, recursive=True)) == ["a", "a/b", "a/b/c", "a.txt"]
    assert list(entries(program, tmp_path, path="./a//b/")) == ["a/b/c"]
    value = call(program, tmp_path, recursive=True, limit=2)
    assert (len(value["data"]["entries"]), value["truncated"]) == (2, True)


def test_links_and_pipes_are_told_of_and_not_opened(program: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/key").write_text("secret")
    (work / "link").symlink_to("../secret")
    (work / "absolute").symlink_to(tmp_path / "secret/key")
    os.mkfifo(work / "pipe")
    found = entries(program, work, recursive=True, hash=True)
    assert {name: told["kind"] for name, told in found.items()} == {
        "absolute": "link",
        "link": "link",
        "pipe": "pipe",
    }
    assert found["link"]["target"] == "../secret"
    assert entries(program, work, path="link")["link"]["kind"] == "link"
    assert call(program, work, path="link/key")["data"]["error_kind"] == "not_found"


def test_a_name_that_is_no_utf8_is_told_with_replacements(program: Path, tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b'a\xff"\n')).write_text("")
    assert list(entries(program, tmp_path)) == ['a\ufffd"\n']


@pytest.mark.parametrize(
    ("members", "status", "kind", "fact"),
    [
        ({"path": "/etc"}, "failed", "absolute_path", "relative to the work folder"),
        ({"path": "../x"}, "failed", "outside_workdir", ".."),
        ({"path": "a/../../x"}, "failed", "outside_workdir", "upwards"),
        ({"path": "none"}, "failed", "not_found", "none"),
        ({"path": ""}, "error", "invalid_input", "path"),
        ({"path": "a" * 5000}, "error", "invalid_input", "path"),
        ({"path": "a\0b"}, "error", "invalid_input", "path"),
        ({"path": 3}, "error", "invalid_input", "path"),
        ({"limit": 0}, "error", "invalid_input", "1 to 5000"),
        ({"limit": 1.5}, "error", "invalid_input", "1 to 5000"),
        ({"limit": 99999999999}, "error", "invalid_input", "1 to 5000"),
        ({"hash": "yes"}, "error", "invalid_input", "hash"),
        ({"pattern": "x"}, "error", "invalid_input", "path, recursive, hash and limit"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_is_allowed(
    program: Path, tmp_path: Path, members: dict[str, object], status: str, kind: str, fact: str
) -> None:
    value = call(program, tmp_path, **members)
    assert (value["status"], value["data"]["error_kind"]) == (status, kind), value
    assert fact in value["data"]["message"] and value["summary"] == value["data"]["message"]


def test_members_that_are_null_were_not_given(program: Path, tmp_path: Path) -> None:
    members = {"path": None, "hash": None, "limit": None, "other": None}
    assert entries(program, tmp_path, **members) == {}


@pytest.mark.parametrize("sent", ["", "x", "[]", '{"data": 3}', '{"data": "["}', '{"data": "'])
def test_what_is_no_call_is_refused(program: Path, tmp_path: Path, sent: str) -> None:
    assert send(program, tmp_path, sent)["data"]["error_kind"] == "invalid_input"


def test_without_input_the_work_folder_is_told_of(program: Path, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    for sent in ('{"data": null, "log_path": null}', "{}", ' { "data" : "{}" } '):
        told = send(program, tmp_path, sent)["data"]
        assert [entry["path"] for entry in told["entries"]] == ["a"]
