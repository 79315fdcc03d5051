"""One folder of archives seeds a machine without a network: built, indexed, searched, installed.

Round trip of spec/registry.md 4, 8, 12 and 14; what was tampered with is refused before anything
is written. The default artifacts themselves go the same way.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import murmur
from murmur.store.tests.components import component

ROOT = str(Path(murmur.__file__ or "").parents[1])
ARTIFACTS = os.environ.get("MURMUR_TEST_ARTIFACTS", "")
NO_NETWORK = "http://127.0.0.1:9"


class Machine:
    """One user's home, and a project of theirs."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.project = root / "project"
        self.home.mkdir(parents=True)
        self.project.mkdir()

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "murmur.cli", *arguments],
            cwd=self.project,
            env={
                "HOME": str(self.home),
                "MUR_GITHUB_API_BASE": NO_NETWORK,
                "PATH": "/usr/bin:/bin",
                "PYTHONPATH": os.pathsep.join([ROOT, *sys.path]),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def ok(self, *arguments: str) -> list[str]:
        done = self.run(*arguments)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout.splitlines()

    def refused(self, code: str, *arguments: str) -> str:
        done = self.run(*arguments)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith(f"error[{code}]: "), done.stderr
        return done.stderr

    def declare(self, *names: str) -> None:
        listed = "".join(f"  - {{name: {name}, version: 0.1.0}}\n" for name in names)
        (self.project / "murmur.yaml").write_text(
            "name: c\nversion: 0.1.0\nruntime: capsule\nartifacts:\n" + listed
        )


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A folder with two built artifacts and their index, made on somebody else's machine."""
    folder = tmp_path / "release"
    folder.mkdir()
    builder = Machine(tmp_path / "builder")
    for name, role in (("my-tool", "tool"), ("my-driver", "driver")):
        source = builder.project / name
        source.mkdir()
        (source / "murmur.yaml").write_text(
            f"name: {name}\nversion: 0.1.0\nruntime: {role}\ndescription: Does {name}.\n"
            "requires_files: [capsule.wasm]\n"
        )
        (source / "capsule.wasm").write_bytes(component(("murmur:tool/run@0.2.0",)))
        builder.ok("build", name, "--output", f"{folder}/")
    index = str(folder / "artifacts-index.json")
    words = ("--repo", "ana/artifacts", "--release", "v1", "-o", index)
    assert builder.ok("index", str(folder), *words) == [
        f"Indexed 2 artifacts (2 versions) for scope ana into {index}"
    ]
    return folder


@pytest.fixture
def second(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "second")


def seed(machine: Machine, folder: Path) -> None:
    for path in sorted(folder.glob("*.mur.zip")):
        machine.ok("install", "-g", "--no-precompile", str(path))


def test_a_second_home_is_seeded_from_the_folder_and_a_project_installed_from_it(
    release: Path, second: Machine
) -> None:
    index = str(release / "artifacts-index.json")
    assert second.ok("search", "", "--index", index) == [
        "NAME           VERSION  RUNTIME  DESCRIPTION",
        "ana/my-driver  0.1.0    driver   Does my-driver.",
        "ana/my-tool    0.1.0    tool     Does my-tool.",
    ]
    seed(second, release)
    second.declare("local/my-tool", "local/my-driver")
    assert second.ok("install", "--no-precompile") == [
        "Installed local/my-tool@0.1.0 (project store)",
        "Installed local/my-driver@0.1.0 (project store)",
    ]
    assert [line.split()[:2] for line in second.ok("list", "--all")[1:]] == [
        ["project", "local/my-driver"],
        ["global", "local/my-driver"],
        ["project", "local/my-tool"],
        ["global", "local/my-tool"],
    ]


def test_a_second_install_leaves_the_lock_as_it_is(release: Path, second: Machine) -> None:
    seed(second, release)
    second.declare("local/my-tool")
    second.ok("install", "--no-precompile")
    lock = second.project / "murmur.lock"
    before = (lock.read_bytes(), lock.stat().st_ino, lock.stat().st_mtime_ns)
    second.ok("install", "--no-precompile")
    assert (lock.read_bytes(), lock.stat().st_ino, lock.stat().st_mtime_ns) == before


def test_a_flipped_byte_in_an_archive_is_refused_and_nothing_written(
    release: Path, second: Machine
) -> None:
    path = release / "my-tool-0.1.0.mur.zip"
    data = path.read_bytes()
    for at in (10, len(data) // 2, len(data) - 30):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        done = second.run("install", "-g", "--no-precompile", str(path))
        if done.returncode == 0:  # a byte that no reader takes for anything, such as a time
            assert at == 10
            continue
        assert done.stderr.startswith("error[E-"), done.stderr
    seeded = second.home / ".murmur" / "artifacts" / "local" / "my-driver"
    assert not seeded.exists()


@pytest.mark.parametrize("where", ["zip", "hash"])
def test_a_flipped_byte_in_the_store_is_e_reg_002_and_the_project_is_as_before(
    release: Path, second: Machine, where: str
) -> None:
    seed(second, release)
    stem = second.home / ".murmur/artifacts/local/my-tool/0.1.0/my-tool-0.1.0"
    path = Path(f"{stem}.mur.zip" if where == "zip" else f"{stem}.sha256")
    data = bytearray(path.read_bytes())
    data[20] = ord("0") if data[20] != ord("0") else ord("1")
    path.write_bytes(data)
    second.declare("local/my-tool")
    assert "local/my-tool@0.1.0" in second.refused("E-REG-002", "install", "--no-precompile")
    assert [path.name for path in second.project.iterdir()] == ["murmur.yaml"]


def test_a_changed_hash_in_the_lock_is_e_reg_005(release: Path, second: Machine) -> None:
    seed(second, release)
    second.declare("local/my-tool")
    second.ok("install", "--no-precompile")
    lock = second.project / "murmur.lock"
    text = lock.read_text()
    sha256 = text.partition("any: ")[2].split()[0].strip("'\"")
    changed = text.replace(sha256, ("0" if sha256[0] != "0" else "1") + sha256[1:])
    lock.write_text(changed)
    second.refused("E-REG-005", "install", "--no-precompile")
    assert lock.read_text() == changed


@pytest.mark.skipif(not ARTIFACTS, reason="MURMUR_TEST_ARTIFACTS names no built artifacts")
def test_the_default_artifacts_are_indexed_found_and_installed_without_a_network(
    tmp_path: Path, second: Machine
) -> None:
    folder = Path(ARTIFACTS).absolute()
    names = sorted(path.name.rpartition("-")[0] for path in folder.glob("*.mur.zip"))
    assert {"driver-anthropic", "driver-openai", "driver-replay", "tool-editor"} <= set(names)
    index = tmp_path / "index.json"
    repository = "murmur-nexus/default-artifacts"
    words = ("--repo", repository, "--release", "v0.1.0", "-o", str(index))
    second.ok("index", str(folder), *words)
    levels = {
        version["built_at_level"]
        for artifact in json.loads(index.read_bytes())["artifacts"]
        for version in artifact["versions"]
    }
    assert levels == {3}
    lines = second.ok("search", "murmur/", "--index", str(index), "--limit", "99")
    assert [line.split()[0] for line in lines[1:]] == [f"murmur/{name}" for name in names]
    assert not any(line.split()[1] == "—" for line in lines[1:])
    seed(second, folder)
    held = [line.split()[0] for line in second.ok("list", "-g")[1:]]
    assert held == [f"local/{name}" for name in names]


@pytest.mark.skipif(
    "TEST_SRCDIR" not in os.environ and not Path(ARTIFACTS, "artifacts-index.json").exists(),
    reason="only Bazel builds the index",
)
def test_the_folder_that_the_build_makes_is_a_release_with_its_index(
    tmp_path: Path, second: Machine
) -> None:
    folder = Path(ARTIFACTS).absolute()
    built = json.loads((folder / "artifacts-index.json").read_bytes())
    (release,) = {version["release"] for each in built["artifacts"] for version in each["versions"]}
    index = tmp_path / "index.json"
    words = ("--repo", "murmur-nexus/default-artifacts", "--release", release, "-o", str(index))
    second.ok("index", str(folder), *words)
    made = json.loads(index.read_bytes())
    assert {**made, "updated_at": ""} == {**built, "updated_at": ""}
