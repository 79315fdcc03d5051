"""Names of shell.allow on this host. spec/containment.md 15."""

import os
from pathlib import Path

import pytest

from murmur.sandbox import elf
from murmur.sandbox.binaries import inside, resolve, script_interpreter


def program(folder: Path, name: str, text: str = "#!/bin/sh\n", mode: int = 0o755) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text)
    path.chmod(mode)
    return path


def test_the_first_match_on_path_is_reported_and_every_match_is_granted(tmp_path: Path) -> None:
    first = program(tmp_path / "a", "tool")
    second = program(tmp_path / "b", "tool")
    program(tmp_path / "c", "tool", mode=0o644)
    path = f"{tmp_path}/a:{tmp_path}/c:{tmp_path}/b:relative:"
    found = resolve(["tool"], path, [])["tool"]
    assert found.path == str(first)
    assert found.all_paths == (str(first), str(second))
    assert found.interpreter == "sh"
    assert found.closure == ()


def test_a_link_is_followed_to_the_canonical_file(tmp_path: Path) -> None:
    real = program(tmp_path / "real", "tool-1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tool").symlink_to(real)
    assert resolve(["tool"], str(tmp_path / "bin"), [])["tool"].path == str(real)


@pytest.mark.parametrize("name", ["absent", "", "a/tool", "/bin/sh"])
def test_a_name_that_is_not_found_or_no_bare_name_is_left_out(name: str) -> None:
    assert resolve([name], "/bin:/usr/bin", []) == {}


def test_a_file_that_a_command_can_write_never_becomes_executable(tmp_path: Path) -> None:
    program(tmp_path / "work", "tool")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "tool").symlink_to(tmp_path / "work" / "tool")
    for folder in ("work", "outside"):
        assert resolve(["tool"], str(tmp_path / folder), [str(tmp_path / "work")]) == {}


def test_a_folder_is_inside_itself_but_not_inside_one_that_begins_like_it() -> None:
    assert inside("/a/b", ["/a/b"])
    assert inside("/a/b/c", ["/a/b"])
    assert inside("/a", ["/"])
    assert not inside("/a/bc", ["/a/b"])


@pytest.mark.parametrize(
    ("head", "interpreter"),
    [
        (b"#!/bin/sh\n", "sh"),
        (b"#! /usr/bin/python3 -I\n", "python3"),
        (b"#!/usr/bin/env python3\n", "python3"),
        (b"#!/usr/bin/env -S A=1 node --flag\n", "node"),
        (b"#!/usr/bin/env\n", "env"),
        (b"#!/bin/bash\r\n", "bash"),
        (b"#!\n", None),
        (b"\x7fELF", None),
        (b"", None),
    ],
)
def test_the_interpreter_of_a_script(tmp_path: Path, head: bytes, interpreter: str | None) -> None:
    path = tmp_path / "script"
    path.write_bytes(head)
    assert script_interpreter(str(path)) == interpreter


def test_the_closure_of_a_program_has_its_loader_and_libraries() -> None:
    shell = os.path.realpath("/bin/sh")
    names = {os.path.basename(path) for path in elf.closure([shell])}
    assert any(name.startswith(("ld-linux", "ld-musl")) for name in names)
    assert any(name.startswith("libc.") for name in names)
    assert shell not in elf.closure([shell])


def test_the_name_service_modules_that_libc_loads_are_in_the_closure() -> None:
    names = {os.path.basename(path) for path in elf.closure(["/bin/sh"])}
    if "libc.so.6" in names and os.path.exists("/lib/x86_64-linux-gnu/libnss_files.so.2"):
        assert "libnss_files.so.2" in names


@pytest.mark.parametrize(
    "content",
    [b"", b"\x7fELF", b"\x7fELF\x01\x01" + bytes(99), b"\x7fELF\x02\x01" + b"\xff" * 200],
)
def test_a_broken_file_has_no_closure_and_fails_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken"
    path.write_bytes(content)
    assert elf.closure([str(path)]) == ()


def test_damaged_programs_fail_nothing(tmp_path: Path) -> None:
    good = Path(os.path.realpath("/bin/true")).read_bytes()
    path = tmp_path / "damaged"
    for at in range(0, 1024, 4):
        path.write_bytes(good[:at] + b"\xff\xff\xff\x7f" + good[at + 4 :])
        elf.read_elf(str(path))
