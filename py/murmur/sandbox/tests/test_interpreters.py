"""Interpreters and what they read. spec/containment.md 16."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from murmur.core.safefs import Root, open_root
from murmur.sandbox import interpreters
from murmur.sandbox.binaries import resolve
from murmur.sandbox.interpreters import runtimes

PATH = os.pathsep.join(["/usr/local/bin", "/usr/bin", "/bin"])


@pytest.fixture
def facts(tmp_path: Path) -> Iterator[Root]:
    (tmp_path / "facts").mkdir()
    with open_root(tmp_path / "facts") as root:
        yield root


def found(name: str) -> "dict[str, interpreters.Runtime]":
    return runtimes(resolve([name], PATH, []), PATH, [], None)


def test_a_python_is_recognised_and_its_library_is_read_but_not_executed() -> None:
    if not resolve(["python3"], PATH, []):
        pytest.skip("no python3 here")
    runtime = found("python3")["python3"]
    assert any(Path(folder, "os.py").exists() for folder in runtime.folders)
    assert "/" not in runtime.folders


def test_a_perl_is_recognised() -> None:
    if not resolve(["perl"], PATH, []):
        pytest.skip("no perl here")
    assert any(Path(folder, "strict.pm").exists() for folder in found("perl")["perl"].folders)


def test_another_program_has_no_entry_and_is_not_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("started")

    monkeypatch.setattr(subprocess, "run", never)
    assert found("sh") == {}


def test_an_answer_is_kept_until_the_binary_or_a_folder_changes(
    facts: Root, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "library"
    library.mkdir()
    asked: list[str] = []

    def answer(binary: object, *_: object) -> list[str]:
        asked.append("yes")
        return [str(library)]

    monkeypatch.setattr(interpreters, "_answer", answer)
    monkeypatch.setattr(interpreters, "_is", lambda *_: True)
    binaries = resolve(["sh"], PATH, [])
    for _ in range(3):
        assert runtimes(binaries, PATH, [], facts)["sh"].folders == (str(library),)
    assert len(asked) == 1
    (library / "new.py").touch()
    runtimes(binaries, PATH, [], facts)
    assert len(asked) == 2


def test_a_damaged_record_is_asked_anew(facts: Root, tmp_path: Path) -> None:
    binaries = resolve(["sh"], PATH, [])
    runtimes(binaries, PATH, [], facts)
    (name,) = facts.list()
    for damage in (b"", b"[]", b'{"format": 1}', b'{"format": 1, "stamps": []}', b"\xff"):
        facts.write_atomic(name, damage)
        assert runtimes(binaries, PATH, [], facts) == {}


def test_what_a_command_can_write_is_never_derived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpreters, "_answer", lambda *_: [str(tmp_path), "/usr/lib"])
    monkeypatch.setattr(interpreters, "_is", lambda *_: True)
    derived = runtimes(resolve(["sh"], PATH, []), PATH, [str(tmp_path)], None)
    assert derived["sh"].folders == ("/usr/lib",)


def test_this_interpreter_answers() -> None:
    name = Path(sys.executable).name
    folder = str(Path(sys.executable).parent)
    binaries = resolve([name], folder, [])
    runtime = runtimes(binaries, folder, [], None).get(name)
    assert runtime is not None
    assert any(Path(each, "json").is_dir() for each in runtime.folders)
