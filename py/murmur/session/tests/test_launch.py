"""What a run was asked for. spec/sessions.md 6.1 and 6.3."""

import os
from pathlib import Path

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.session.launch import Flags, read_launch, task_text


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    return {"HOME": str(tmp_path / "home"), "SET": "", "PATH": "/usr/bin"}


def _code(flags: Flags, environ: dict[str, str]) -> str:
    with pytest.raises(MurmurError) as caught:
        read_launch(flags, environ)
    return caught.value.code


def test_an_existing_file_is_copied_byte_for_byte(tmp_path: Path) -> None:
    (tmp_path / "task.txt").write_bytes("one\r\ntwo é\n".encode())
    assert task_text(str(tmp_path / "task.txt")) == "one\r\ntwo é\n"


@pytest.mark.parametrize(
    "text", ["", "Do it.", "a/b/c", "/no/such/file", "x" * 100_000, "a\0b", ".", "line\r\nline"]
)
def test_any_other_value_is_the_task_verbatim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert task_text(text) == text


def test_a_pipe_of_the_shell_is_read(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, b"from a pipe")
    os.close(write)
    assert task_text(f"/dev/fd/{read}") == "from a pipe"
    os.close(read)


def test_an_argument_that_is_no_utf_8_is_made_text() -> None:
    assert task_text("caf\udce9") == "caf�"


def test_a_task_file_that_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    (tmp_path / "task.bin").write_bytes(b"\xff\xfe")
    with pytest.raises(MurmurError) as caught:
        task_text(str(tmp_path / "task.bin"))
    assert caught.value.code == "E-IO-003"
    assert "task.bin" in caught.value.message and "UTF-8" in caught.value.message


def test_home_is_looked_at_before_the_manifest(tmp_path: Path) -> None:
    flags = Flags(manifest=tmp_path / "murmur.yaml")
    assert _code(flags, {"HOME": ""}) == "E-IO-004"
    assert _code(flags, {"HOME": "relative"}) == "E-IO-004"


def test_env_is_looked_at_before_the_manifest(tmp_path: Path, environ: dict[str, str]) -> None:
    (tmp_path / ".env").write_text("no equals sign\n")
    flags = Flags(manifest=tmp_path / "murmur.yaml")
    assert _code(flags, environ) == "E-IO-003"
    assert _code(Flags(manifest=flags.manifest, env_file=False), environ) == "E-IO-001"


def test_env_never_overrides_what_is_set_even_to_empty(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    (tmp_path / "murmur.yaml").write_text("name: x\n")
    (tmp_path / ".env").write_text("SET=changed\nNEW='it is'\n")
    launch = read_launch(Flags(manifest=tmp_path / "murmur.yaml"), environ)
    assert (launch.environ["SET"], launch.environ["NEW"]) == ("", "it is")
    plain = read_launch(Flags(manifest=tmp_path / "murmur.yaml", env_file=False), environ)
    assert "NEW" not in plain.environ


@pytest.mark.parametrize("path", ["murmur.yaml", "nowhere/murmur.yaml", "file/murmur.yaml", "."])
def test_a_manifest_that_is_not_there_is_e_io_001(
    tmp_path: Path, environ: dict[str, str], path: str
) -> None:
    (tmp_path / "file").touch()
    assert _code(Flags(manifest=tmp_path / path), environ) == "E-IO-001"


def test_a_manifest_that_is_no_utf_8_is_e_io_003(tmp_path: Path, environ: dict[str, str]) -> None:
    (tmp_path / "murmur.yaml").write_bytes(b"name: \xff\n")
    assert _code(Flags(manifest=tmp_path / "murmur.yaml"), environ) == "E-IO-003"


def test_a_current_directory_that_is_gone_is_e_io_003(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert _code(Flags(), environ) == "E-IO-003"


def test_nothing_is_made_by_reading(tmp_path: Path, environ: dict[str, str]) -> None:
    (tmp_path / "murmur.yaml").write_text("name: x\n")
    read_launch(Flags(manifest=tmp_path / "murmur.yaml"), environ)
    assert list((tmp_path / "home").iterdir()) == []
