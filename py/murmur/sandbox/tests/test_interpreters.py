"""Interpreters and what they read. spec/containment.md 16."""

import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from murmur.core.safefs import Root, open_root
from murmur.sandbox import interpreters
from murmur.sandbox.binaries import resolve
from murmur.sandbox.elf import closure, read_elf
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


@pytest.fixture
def asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An interpreter whose library is `tmp_path/library`; one entry for each time it is asked."""
    (tmp_path / "library" / "package").mkdir(parents=True)
    asked: list[str] = []

    def answer(*_: object) -> list[str]:
        asked.append("yes")
        return [str(tmp_path / "library")]

    monkeypatch.setattr(interpreters, "_answer", answer)
    monkeypatch.setattr(interpreters, "_is", lambda *_: True)
    return asked


def test_a_record_holds_what_is_documented_and_nothing_of_a_session(
    facts: Root, tmp_path: Path, asking: list[str]
) -> None:
    needed = tmp_path / "needed.so"
    _elf_needing(needed)
    _elf_needing(tmp_path / "library" / "package" / "module.so", str(needed))
    runtimes(resolve(["sh"], PATH, []), PATH, ["/nowhere"], facts)
    (name,) = facts.list()
    record = json.loads(facts.read_bytes(name))
    assert list(record) == ["format", "sha256", "facts"] and record["format"] == 3
    held = record["facts"]
    assert list(held) == ["binary", "interpreter", "path", "folders", "libraries"]
    assert held["interpreter"] is True and held["path"] == [str(tmp_path / "library")]
    assert set(held["folders"]) == {f"{tmp_path}/library", f"{tmp_path}/library/package"}
    assert set(held["libraries"]) == {f"{tmp_path}/library/package/module.so", str(needed)}
    status = os.stat(needed)
    assert held["libraries"][str(needed)][0] == [
        status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns,
        status.st_mode,
    ]  # fmt: skip
    assert "/nowhere" not in json.dumps(record)


def test_a_changed_module_library_or_folder_far_below_costs_asking_again(
    facts: Root, tmp_path: Path, asking: list[str]
) -> None:
    needed, other = tmp_path / "needed.so", tmp_path / "other.so"
    _elf_needing(other)
    _elf_needing(needed)
    module = tmp_path / "library" / "package" / "module.so"
    _elf_needing(module, str(needed))
    binaries = resolve(["sh"], PATH, [])

    def files() -> tuple[str, ...]:
        return runtimes(binaries, PATH, [], facts)["sh"].files

    assert files() == files() == (str(needed),)
    assert len(asking) == 1
    _elf_needing(needed, str(other))
    assert files() == (str(needed), str(other))
    _elf_needing(module, str(other))
    assert files() == (str(other),)
    (module.parent / "new.so").write_bytes(module.read_bytes())
    assert files() == (str(other),)
    module.parent.chmod(0o711)
    assert files() == (str(other),)
    assert len(asking) == 5


def test_a_flipped_byte_costs_working_it_out_again_and_nothing_else(
    facts: Root, tmp_path: Path, asking: list[str]
) -> None:
    _elf_needing(tmp_path / "needed.so")
    _elf_needing(tmp_path / "library" / "module.so", str(tmp_path / "needed.so"))
    binaries = resolve(["sh"], PATH, [])
    whole = runtimes(binaries, PATH, [], facts)
    (name,) = facts.list()
    sound = facts.read_bytes(name)
    for at in range(0, len(sound), 7):
        damaged = bytearray(sound)
        damaged[at] ^= 1 << at % 8
        facts.write_atomic(name, bytes(damaged))
        assert runtimes(binaries, PATH, [], facts) == whole
        assert facts.read_bytes(name) == sound or json.loads(damaged) == json.loads(sound)


def test_a_session_with_other_writable_folders_decides_from_the_same_facts(
    facts: Root, tmp_path: Path, asking: list[str]
) -> None:
    _elf_needing(tmp_path / "needed.so")
    _elf_needing(tmp_path / "library" / "module.so", str(tmp_path / "needed.so"))
    binaries = resolve(["sh"], PATH, [])
    assert runtimes(binaries, PATH, [], facts)["sh"].files == (f"{tmp_path}/needed.so",)
    assert runtimes(binaries, PATH, [f"{tmp_path}/library"], facts) == {}
    assert runtimes(binaries, PATH, [f"{tmp_path}/needed.so"], facts)["sh"].files == ()
    assert len(asking) == 1


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


def _python() -> str:
    for folder in PATH.split(":"):
        if Path(folder, "python3").exists():
            return str(Path(folder, "python3").resolve())
    pytest.skip("no python3 here")


def _environment(place: Path, planted: Path) -> Path:
    """A virtual environment whose site-packages run code when an interpreter starts with it."""
    (place / "bin").mkdir(parents=True)
    (place / "bin" / "python3").symlink_to(_python())
    home = Path(_python()).parent
    (place / "pyvenv.cfg").write_text(f"home = {home}\ninclude-system-site-packages = false\n")
    version = subprocess.run(
        [_python(), "-I", "-c", "import sys; print('python%d.%d' % sys.version_info[:2])"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    packages = place / "lib" / version / "site-packages"
    packages.mkdir(parents=True)
    program = f"open({str(planted)!r}, 'w')"
    (packages / "evil.pth").write_text(f"import sys; {program}\n{place}\n")
    (packages / "sitecustomize.py").write_text(program)
    return packages


def test_asking_executes_nothing_of_an_environment_on_path(tmp_path: Path) -> None:
    packages = _environment(tmp_path / "venv", tmp_path / "planted")
    path = f"{tmp_path}/venv/bin:{PATH}"
    control = subprocess.run(["python3", "-I", "-c", ""], env={"PATH": path}, check=True)
    assert control.returncode == 0
    (tmp_path / "planted").unlink()  # raises if the plant does not work at all
    derived = runtimes(resolve(["python3"], path, []), path, [], None)
    assert not (tmp_path / "planted").exists()
    assert str(packages) in derived["python3"].folders
    assert str(tmp_path / "venv") in derived["python3"].folders, "a plain line of a .pth file"


def test_an_environment_in_the_work_folder_is_not_asked(tmp_path: Path) -> None:
    _environment(tmp_path / "work" / ".venv", tmp_path / "planted")
    path = f"{tmp_path}/work/.venv/bin:.:{PATH}"
    writable = [str(tmp_path / "work")]
    derived = runtimes(resolve(["python3"], path, writable), path, writable, None)
    assert not (tmp_path / "planted").exists()
    assert not any(each.startswith(str(tmp_path)) for each in derived["python3"].folders)


def test_an_answer_is_kept_for_one_path(
    facts: Root, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "library").mkdir()
    asked: list[str] = []

    def answer(_: object, __: object, path: str) -> list[str]:
        asked.append(path)
        return [str(tmp_path / "library")]

    monkeypatch.setattr(interpreters, "_answer", answer)
    monkeypatch.setattr(interpreters, "_is", lambda *_: True)
    for path in (PATH, f"/opt:{PATH}", PATH):
        runtimes(resolve(["sh"], PATH, []), path, [], facts)
    assert asked == [PATH, f"/opt:{PATH}"]


def test_a_silent_interpreter_is_not_kept_and_counts_for_nothing(
    facts: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpreters, "_is", lambda *_: True)
    monkeypatch.setattr(interpreters, "_answer", lambda *_: [])
    binaries = resolve(["sh", "cat"], PATH, [])
    assert interpreters.keep(binaries, PATH, facts) == 0 and facts.list() == []
    monkeypatch.setattr(interpreters, "_is", lambda *_: False)
    assert interpreters.keep(binaries, PATH, facts) == 2


def test_what_a_module_says_it_needs_is_believed_of_libraries_alone(tmp_path: Path) -> None:
    secret = tmp_path / "key"
    secret.write_text("secret")
    library = tmp_path / "library.so"
    library.write_bytes(Path(_python()).read_bytes()[:64])
    module = tmp_path / "module.so"
    _elf_needing(module, str(secret), str(library))
    assert read_elf(str(module)) is not None
    assert closure([str(module)]) == (str(library),)


def _elf_needing(path: Path, *names: str) -> None:
    """A shared object of nothing but a dynamic section that needs these names."""
    strings = b"\0" + b"".join(os.fsencode(name) + b"\0" for name in names)
    offsets = [strings.index(os.fsencode(name)) for name in names]
    head, entry = 64, 56
    text_at = head + 2 * entry
    table_at = text_at + len(strings)
    table = b"".join(struct.pack("<qQ", 1, each) for each in offsets)
    table += struct.pack("<qQqQqQ", 5, text_at, 10, len(strings), 0, 0)
    whole = table_at + len(table)
    elf = b"\x7fELF\x02\x01\x01" + bytes(9)
    elf += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, head, 0, 0, 64, entry, 2, 0, 0, 0)
    elf += struct.pack("<IIQQQQQQ", 1, 4, 0, 0, 0, whole, whole, 4096)
    elf += struct.pack("<IIQQQQQQ", 2, 4, table_at, table_at, table_at, len(table), len(table), 8)
    path.write_bytes(elf + strings + table)
