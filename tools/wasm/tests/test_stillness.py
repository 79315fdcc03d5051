"""Two builds of one component are the same bytes, whatever lies around them."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

COMPONENTIZE = Path("tools/wasm/componentize.py").absolute()
WORLD = "package test:still;\nworld still { export say: func() -> string; }\n"
# Hash order, a set that lists a folder, the clock, and random numbers all end in the snapshot.
SOURCE = """\
import json, os, random, re, time, uuid
import wit_world
NAMES = {name: hash(name) for name in dir(json) + dir(re)}
BEGUN, DRAWN, NAMED = time.time(), random.random(), str(uuid.uuid4())
FOUND = list(set(os.listdir(os.path.dirname(json.__file__))))
class WitWorld(wit_world.WitWorld):
    def say(self): return repr((NAMES, BEGUN, DRAWN, NAMED, FOUND))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library under test: Bazel's, or one compiled here."""
    named = os.environ.get("STILL_LIBRARY")
    if named is not None:
        return Path(named).absolute()
    path = tmp_path_factory.mktemp("still") / "libstill.so"
    command = ["cc", "-shared", "-fPIC", "-O2", "-o", str(path), "tools/wasm/still.c"]
    subprocess.run(command, check=True)
    return path


def build(folder: Path, library: Path, hash_seed: str) -> str:
    """The sha256 of a component built below `folder`, from sources written in varying order."""
    sources = {"app.py": SOURCE, "one.py": "", "two.py": "", "three.py": ""}
    for name in sorted(sources, reverse=hash_seed == "1"):
        (folder / name).write_text(sources[name])
    (folder / "world.wit").write_text(WORLD)
    output = folder / "out" / "component.wasm"
    output.parent.mkdir()
    command = [sys.executable, str(COMPONENTIZE), "--still", str(library)]
    command += ["--wit", str(folder / "world.wit"), "--world", "still", "--module", "app"]
    command += [f"--source={name}={folder / name}" for name in sources]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONHASHSEED": hash_seed,
        "TMPDIR": str(folder),
    }
    subprocess.run([*command, "--output", str(output)], check=True, env=environment)
    return hashlib.sha256(output.read_bytes()).hexdigest()


def test_two_builds_in_two_places_are_the_same_bytes(library: Path, tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "another-place"]
    for folder in folders:
        folder.mkdir()

    first, second = (build(folder, library, str(seed)) for seed, folder in enumerate(folders))

    assert first == second
