"""The zipapp's builder and launcher, on a program of two files."""

from __future__ import annotations

import ast
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tools.pyz import build, unpacking

HERE = Path(build.__file__).parent
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
PROGRAM = """\
import sys
import greeting

def main():
    late = sorted(name for name in ("unpacking", "zipfile", "hashlib") if name in sys.modules)
    print(greeting.TEXT, sys.path[0], *late, *sys.argv[1:], sep="|")
    return 3
"""


def make(folder: Path, text: str = "hello", version: str = VERSION, machine: str = "") -> Path:
    """Builds a zipapp of two modules."""
    folder.mkdir(exist_ok=True)
    (folder / "program.py").write_text(PROGRAM)
    (folder / "greeting.py").write_text(f"TEXT = {text!r}\n")
    output = folder / "mur"
    command = [sys.executable, build.__file__, "--output", str(output), "--entry=program:main"]
    command += [f"--machine={machine or platform.machine()}", f"--version={version}"]
    command += [f"--launcher={HERE / name}" for name in ("__main__.py", "unpacking.py")]
    command += [f"--file={name}.py={folder / name}.py" for name in ("program", "greeting")]
    subprocess.run(command, check=True)
    return output


def start(program: Path, home: Path, **environment: str) -> subprocess.Popen[str]:
    """Starts the zipapp with nothing but a home around it, under an interpreter without site."""
    return subprocess.Popen(
        [sys.executable, "-S", str(program), "word"],
        env={"HOME": str(home), "TMPDIR": str(home.parent / "tmp"), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(program: Path, home: Path, **environment: str) -> tuple[int, list[str], str]:
    """Status, the fields printed, and standard error."""
    process = start(program, home, **environment)
    out, err = process.communicate(timeout=60)
    return process.returncode, out.strip().split("|"), err


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "tmp").mkdir()
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def test_the_first_start_unpacks_and_the_second_finds_it(tmp_path: Path, home: Path) -> None:
    program = make(tmp_path / "build")
    status, (text, folder, *rest), err = run(program, home)
    assert (status, text, rest[-1], err) == (3, "hello", "word", "")
    assert Path(folder).parent == home / ".murmur" / "bin"
    assert unpacking.mismatches(folder) == []
    assert list(Path(folder).glob("__pycache__/program.*.pyc"))

    before = Path(folder).stat()
    status, fields, _ = run(program, home)
    assert fields == ["hello", folder, "word"]  # nothing that unpacking needs was imported
    assert Path(folder).stat().st_ctime_ns == before.st_ctime_ns


def test_ten_first_starts_that_race_all_succeed_and_leave_one_folder(
    tmp_path: Path, home: Path
) -> None:
    program = make(tmp_path / "build")
    started = [start(program, home) for _ in range(10)]
    ends = [(*process.communicate(timeout=60), process.returncode) for process in started]
    assert [(err, status) for _, err, status in ends] == [("", 3)] * 10
    left = sorted(entry.name for entry in (home / ".murmur" / "bin").iterdir())
    assert len(left) == 2
    assert left[0] == ".unpacking"


def test_settling_second_keeps_what_the_first_unpacked(tmp_path: Path) -> None:
    for name in ("done", "sibling"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    folder = os.open(tmp_path, os.O_RDONLY)
    unpacking.settle(folder, "sibling", "done")
    os.close(folder)
    assert (tmp_path / "done" / "file").read_text() == "done"


def test_another_content_gets_another_folder(tmp_path: Path, home: Path) -> None:
    first = run(make(tmp_path / "one"), home)[1]
    second = run(make(tmp_path / "two", text="bye"), home)[1]
    assert (first[0], second[0]) == ("hello", "bye")
    assert first[1] != second[1]


@pytest.mark.parametrize("name", [".murmur", ".murmur/bin"])
def test_a_folder_that_others_can_write_to_is_not_used(
    tmp_path: Path, home: Path, name: str
) -> None:
    program = make(tmp_path / "build")
    run(program, home)
    (home / name).chmod(0o777)
    status, fields, _ = run(program, home)
    assert status == 3
    assert Path(fields[1]).is_relative_to(tmp_path / "tmp" / f"murmur-{os.geteuid()}")


def test_a_home_that_cannot_hold_it_leads_to_a_private_temporary_folder(
    tmp_path: Path, home: Path
) -> None:
    program = make(tmp_path / "build")
    (home / ".murmur").write_text("a file where the folder should be")
    status, fields, _ = run(program, home)
    private = tmp_path / "tmp" / f"murmur-{os.geteuid()}"
    assert status == 3
    assert Path(fields[1]).parent == private
    assert private.stat().st_mode & 0o777 == 0o700


def test_no_link_below_the_home_is_followed(tmp_path: Path, home: Path) -> None:
    program = make(tmp_path / "build")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (home / ".murmur").mkdir(mode=0o700)
    (home / ".murmur" / "bin").symlink_to(elsewhere)
    status, fields, _ = run(program, home)
    assert status == 3
    assert Path(fields[1]).is_relative_to(tmp_path / "tmp")
    assert list(elsewhere.iterdir()) == []


def test_nothing_that_can_hold_it_ends_with_one_line(tmp_path: Path, home: Path) -> None:
    program = make(tmp_path / "build")
    (tmp_path / "tmp" / f"murmur-{os.geteuid()}").write_text("taken")
    (home / ".murmur").write_text("taken")
    status, fields, err = run(program, home)
    assert (status, fields) == (1, [""])
    assert err.startswith("mur: cannot unpack itself: ")
    assert err.count("\n") == 1


def test_another_interpreter_gets_one_clear_line(tmp_path: Path, home: Path) -> None:
    status, fields, err = run(make(tmp_path / "build", version="3.99"), home)
    assert (status, fields) == (1, [""])
    assert err.startswith("mur: this build needs CPython 3.99 on linux ")
    assert f"cpython {VERSION}" in err
    assert err.count("\n") == 1
    assert list(home.iterdir()) == []


def test_another_machine_gets_one_clear_line(tmp_path: Path, home: Path) -> None:
    status, _, err = run(make(tmp_path / "build", machine="sparc64"), home)
    assert status == 1
    assert "on linux sparc64, and this is" in err


def test_the_launcher_parses_on_python_3_6() -> None:
    ast.parse((HERE / "__main__.py").read_text(), feature_version=(3, 6))


def test_two_builds_are_the_same_bytes(tmp_path: Path) -> None:
    first = make(tmp_path / "one").read_bytes()
    second = make(tmp_path / "two").read_bytes()
    assert first == second


def test_the_manifest_tells_what_was_changed_added_or_removed(tmp_path: Path, home: Path) -> None:
    folder = Path(run(make(tmp_path / "build"), home)[1][1])
    (folder / "greeting.py").write_text("TEXT = 'changed'\n")
    (folder / "program.py").unlink()
    (folder / "click.py").write_text("")
    assert unpacking.mismatches(str(folder)) == ["click.py", "greeting.py", "program.py"]


def test_what_is_installed_beside_the_interpreter_is_not_on_the_path(
    tmp_path: Path, home: Path
) -> None:
    other = tmp_path / "site-packages"
    other.mkdir()
    (other / "greeting.py").write_text("TEXT = 'theirs'\n")
    (other / "sitecustomize.py").write_text("")
    assert run(make(tmp_path / "build"), home, PYTHONPATH=str(other))[1][0] == "hello"
