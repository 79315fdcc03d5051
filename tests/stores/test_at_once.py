"""Many `mur install` and `mur list` at once on one store: no lost entry, no torn index."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import murmur
from murmur.store.listing import listing
from murmur.store.lock import read_lock
from murmur.store.platforms import host_platform
from murmur.store.stores import Store, global_store, project_store
from murmur.store.tests.components import wasm_zip

# Two hundred in the long suite, all of them at a time.
PROCESSES = int(os.environ.get("MURMUR_PROCESSES", "24"))
AT_A_TIME = int(os.environ.get("MURMUR_AT_A_TIME", "8"))
ROOT = str(Path(murmur.__file__ or "").parents[1])


class Ground:
    """One home and one project that everybody works in."""

    def __init__(self, root: Path) -> None:
        self.files = root / "files"
        self.home = root / "home"
        self.project = root / "project"
        for folder in (self.files, self.home, self.project):
            folder.mkdir()
        (self.project / "murmur.yaml").write_text("name: c\nversion: 0.1.0\nruntime: capsule\n")

    @property
    def machine(self) -> Store:
        return global_store(self.home / ".murmur" / "artifacts")

    def file(self, name: str, version: str = "1.0.0", padding: bytes = b"") -> str:
        folder = self.files / f"{name}-{version}-{len(list(self.files.iterdir()))}"
        folder.mkdir()
        path = folder / f"{name}-{version}.mur.zip"
        path.write_bytes(wasm_zip(name, version, padding=padding))
        return str(path)

    @property
    def environ(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": os.pathsep.join([ROOT, *sys.path]),
        }

    def mur(self, *arguments: str) -> str:
        """What one command prints; it must succeed."""
        done = subprocess.run(
            [sys.executable, "-m", "murmur.cli", *arguments],
            cwd=self.project,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=True,
        )
        return done.stdout

    def all(self, commands: Sequence[Sequence[str]]) -> list[tuple[Sequence[str], str]]:
        """Runs every command, AT_A_TIME together; each must succeed. What each printed."""
        printed: list[str] = []
        for start in range(0, len(commands), AT_A_TIME):
            printed += self._together(commands[start : start + AT_A_TIME])
        return list(zip(commands, printed, strict=True))

    def _together(self, commands: Sequence[Sequence[str]]) -> list[str]:
        """Processes that have loaded the program and wait, then all go on at one moment."""
        there, arrive = os.pipe()
        gate, opener = os.pipe()
        started = [
            subprocess.Popen(
                [sys.executable, "-c", _HELD, str(arrive), str(gate), *command],
                cwd=self.project,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                pass_fds=(arrive, gate),
            )
            for command in commands
        ]
        os.close(arrive)
        waiting = 0
        while waiting < len(commands) and (bytes_read := os.read(there, 4096)):
            waiting += len(bytes_read)
        os.close(opener)
        ended = [process.communicate(timeout=300) for process in started]
        os.close(there)
        os.close(gate)
        for command, process, (_, complaint) in zip(commands, started, ended, strict=True):
            assert (process.returncode, complaint) == (0, ""), command
        return [output for output, _ in ended]


_HELD = """
import os, runpy, sys
import murmur.cli.install, murmur.cli.list, murmur.cli.main, murmur.store.install
_, arrive, gate, *sys.argv[1:] = sys.argv
os.write(int(arrive), b"x")
os.close(int(arrive))
os.read(int(gate), 1)
runpy.run_module("murmur.cli", run_name="__main__")
"""


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def rows(output: str) -> list[list[str]]:
    return [line.split() for line in output.splitlines()[1:]]


def mixed(installs: Sequence[Sequence[str]], lists: Sequence[str]) -> Iterator[Sequence[str]]:
    for install in installs:
        yield install
        yield lists


def test_different_artifacts_installed_at_once_are_all_stored_pinned_and_listed(
    ground: Ground,
) -> None:
    names = [f"tool-{number}" for number in range(PROCESSES // 2)]
    installs = [("install", "--no-precompile", ground.file(name)) for name in names]
    for command, output in ground.all(list(mixed(installs, ("list",)))):
        if command[0] == "list":
            # Whatever is shown is whole: a torn entry would have no role, or refuse.
            assert all(row[1:] == ["1.0.0", "tool", "—"] for row in rows(output)), output
    expected = sorted(f"local/{name}" for name in names)
    held = listing(project_store(ground.project))
    assert [each.name.text for each in held] == expected
    lock = read_lock(ground.project / "murmur.lock")
    assert lock is not None and sorted(pin.name.text for pin in lock.pins) == expected
    for pin in lock.pins:
        stored = project_store(ground.project).find(pin.name, "1.0.0", host_platform())
        assert stored is not None and stored.open().sha256 == pin.any
    assert [row[0] for row in rows(ground.mur("list"))] == expected


def test_the_same_version_in_other_bytes_installed_at_once_is_never_a_mixture(
    ground: Ground,
) -> None:
    files = [ground.file("one", padding=bytes([65 + kind]) * 9999) for kind in range(4)]
    installs = [
        ("install", "-g", "--no-precompile", files[number % 4]) for number in range(PROCESSES // 2)
    ]
    for command, output in ground.all(list(mixed(installs, ("list", "-g")))):
        if command[0] == "list" and "No artifacts" not in output:
            assert rows(output) == [["local/one", "1.0.0", "tool", "—"]]
    (held,) = listing(ground.machine)
    stored = ground.machine.find(held.name, held.version, host_platform())
    assert stored is not None and stored.open().manifest.name == "one"


def test_versions_of_one_artifact_installed_at_once_are_all_there(ground: Ground) -> None:
    versions = [f"1.{number}.0" for number in range(PROCESSES // 2)]
    installs = [
        ("install", "-g", "--no-precompile", ground.file("one", version)) for version in versions
    ]
    ground.all(list(mixed(installs, ("search", "one", "--index", "local"))))
    assert sorted(held.version for held in listing(ground.machine)) == sorted(versions)
    leftovers = list(ground.home.rglob("*.tmp"))
    assert leftovers == []
