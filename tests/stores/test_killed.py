"""SIGKILL at every system call of an install leaves the store and the project whole."""

import importlib
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from murmur.cli.main import main
from murmur.manifest.artifact import parse_artifact_manifest
from murmur.manifest.parse import load_capsule
from murmur.store.listing import listing
from murmur.store.lock import Lock, read_lock
from murmur.store.stores import Store, global_store, project_store
from murmur.store.tests.components import wasm_zip

from . import tracing

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="ptrace is Linux's")

# Every call in the long suite; a few dozen of them, spread evenly, in the everyday one.
POINTS = int(os.environ.get("MURMUR_KILL_POINTS", "40"))

State = tuple[dict[str, str], Lock | None]
"""What a store holds, hash by reference, and what a lock pins."""


@dataclass(frozen=True)
class Place:
    """A home and a project, and the command that is killed in them."""

    root: Path
    arguments: tuple[str, ...]
    of_project: bool

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def store(self) -> Store:
        if self.of_project:
            return project_store(self.project)
        return global_store(self.home / ".murmur" / "artifacts")

    def work(self) -> int:
        """The command, in this process: a fork's."""
        os.environ.clear()
        os.environ["HOME"] = str(self.home)
        os.chdir(self.project)
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - the fork ends with it
        return main(self.arguments)

    def state(self) -> State:
        """What a reader sees. Opening each payload verifies it."""
        held: dict[str, str] = {}
        for each in listing(self.store, {}):
            stored = self.store.find(each.name, each.version, "linux-x86_64")
            assert stored is not None
            payload = stored.open({})
            record = stored.record()
            assert record is not None and record.description == payload.manifest.description
            held[stored.reference] = payload.sha256
        return held, read_lock(self.project / "murmur.lock")

    def leftovers(self) -> list[str]:
        """Temporary files and folders, without a lock's, which an hour sweeps."""
        return [
            str(path.relative_to(self.root))
            for path in self.root.rglob("*.tmp")
            if not path.name.startswith(".murmur.lock.")
        ]


# What commands import when they run: a fork has it already, and what is counted is their own calls.
for module in (
    "murmur.cli.install",
    "murmur.cli.progress",
    "murmur.cli.publish",
    "murmur.manifest.models.packaged",
    "murmur.manifest.parse",
    "murmur.store.install",
    "murmur.store.publish",
    "murmur.store.transport",
):
    importlib.import_module(module)
parse_artifact_manifest("name: x\nversion: 1.0.0\nruntime: tool\n")
load_capsule("name: x\nversion: 1.0.0\nruntime: capsule\n", "murmur.yaml")

Scene = Callable[[Path], Place]


def _begin(root: Path) -> None:
    (root / "project").mkdir(parents=True)
    (root / "home" / ".murmur").mkdir(parents=True, mode=0o700)


def _file(root: Path, name: str, version: str, description: str) -> str:
    path = root / f"{name}-{version}.mur.zip"
    path.write_bytes(wasm_zip(name, version, padding=os.urandom(99), description=description))
    return str(path)


def _do(place: Place, *arguments: str) -> None:
    ended = tracing.run(Place(place.root, arguments, place.of_project).work)
    assert ended.status == 0, arguments


def first_install(root: Path) -> Place:
    """A manifest's two artifacts, from the global store into a project that has nothing yet."""
    _begin(root)
    place = Place(root, ("install", "--no-precompile"), True)
    for name in ("one", "two"):
        _do(place, "publish", _file(root, name, "1.0.0", name))
    (place.project / "murmur.yaml").write_text(
        "name: c\nversion: 0.1.0\nruntime: capsule\nartifacts:\n"
        "  - {name: local/one, version: 1.0.0}\n  - {name: local/two, version: 1.0.0}\n"
    )
    return place


def newer_version(root: Path) -> Place:
    """Another version of a pinned artifact, from a file."""
    place = first_install(root)
    _do(place, "install", "--no-precompile")
    file = _file(root, "one", "2.0.0", "newer")
    return Place(root, ("install", "--no-precompile", file), True)


def replaced(root: Path) -> Place:
    """Other bytes of a version that the global store has, from a file."""
    _begin(root)
    place = Place(root, (), False)
    _do(place, "install", "-g", "--no-precompile", _file(root, "one", "1.0.0", "old"))
    (root / "new").mkdir()
    file = _file(root / "new", "one", "1.0.0", "new")
    return Place(root, ("install", "-g", "--no-precompile", file), False)


def published(root: Path) -> Place:
    """A first version in the global store."""
    _begin(root)
    return Place(root, ("publish", _file(root, "one", "1.0.0", "x")), False)


@pytest.mark.parametrize("scene", [first_install, newer_version, replaced, published])
def test_a_kill_at_any_system_call_leaves_everything_as_before_or_as_after(
    tmp_path: Path, scene: Scene
) -> None:
    template = scene(tmp_path / "template")
    before = template.state()
    whole = _copy(template, tmp_path / "whole")
    ended = tracing.run(whole.work)
    assert ended.status == 0 and ended.calls > 30
    after = whole.state()
    assert after != before and whole.leftovers() == []
    seen = set()
    step = max(1, -(-ended.calls // POINTS))
    for call in range(0, ended.calls, step):
        place = _copy(template, tmp_path / "killed")
        # A directory's listing may take a call less than the last time.
        assert tracing.run(place.work, call).status in (None, 0), call
        held, lock = place.state()
        assert lock in (before[1], after[1]), call
        for reference in held.keys() | after[0].keys():
            allowed = (before[0].get(reference), after[0].get(reference))
            assert held.get(reference) in allowed, (call, reference)
        if lock != before[1]:
            assert held == after[0], call  # pins come last
        seen.add((tuple(sorted(held.items())), lock == before[1]))
        if scene is not published or held == before[0]:
            assert tracing.run(place.work).status == 0, call
        assert place.state() == after, call
        if place.arguments[0] == "install" and held != after[0]:
            assert place.leftovers() == [], call
        shutil.rmtree(place.root)
    # Killed at the last call, the work is done; at the first, it has not begun.
    assert (tuple(sorted(before[0].items())), True) in seen
    assert len(seen) > 1 or step > 1


def _copy(place: Place, root: Path) -> Place:
    """The same place elsewhere, with times and links as they were."""
    shutil.copytree(place.root, root, symlinks=True)
    arguments = tuple(
        str(root / Path(word).relative_to(place.root))
        if word.startswith(str(place.root) + os.sep)
        else word
        for word in place.arguments
    )
    return Place(root, arguments, place.of_project)


def test_the_tracer_kills_at_just_the_call_that_it_is_told(tmp_path: Path) -> None:
    def work() -> int:
        for number in range(5):
            os.mkdir(tmp_path / str(number))
        return 7

    whole = tracing.run(work)
    assert whole.status == 7
    made = []
    for call in range(whole.calls):
        for path in tmp_path.iterdir():
            path.rmdir()
        assert tracing.run(work, call) == tracing.Ended(call + 1, None)
        made.append(len(list(tmp_path.iterdir())))
    assert made == sorted(made) and set(made) == {0, 1, 2, 3, 4, 5}
