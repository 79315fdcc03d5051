"""What stores cost beside pip and npm doing the like: `bazel run //tests/bench:stores`.

Fifty small artifacts installed, a list of two thousand installed versions, a search among five
thousand artifacts; and beside each what pip and npm take for their like in the same run, from
local files alone. Prints medians and asserts nothing: the numbers are the machine's. Options:
--times N (repetitions), --mur PROGRAM (instead of this checkout's).
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import murmur
from murmur.store.archive import Entry, archive_bytes
from murmur.store.index import Index, IndexArtifact, IndexFile, IndexVersion, render_index
from murmur.store.names import FullName
from murmur.store.payload import open_payload
from murmur.store.stores import global_store
from tests.bench.others import npm_install, npm_list, npm_search, pip_install, pip_list
from tests.bench.timing import Row, Timing, Unmeasurable, repeat, show, timed

INSTALLED = 50
VERSIONS = 2_000
SEARCHED = 5_000
_COMPONENT = b"\0asm\x0d\0\1\0"


@dataclass(frozen=True, slots=True)
class Ground:
    """A folder to work in and how `mur` is started."""

    root: Path
    mur: tuple[str, ...]

    def run(self, home: Path, *words: str, cwd: Path | None = None) -> None:
        """Runs `mur` with that home. Raises Unmeasurable."""
        done = subprocess.run(
            [*self.mur, *words],
            cwd=cwd or self.root,
            env={**os.environ, "HOME": str(home), "PYTHONPATH": _python_path()},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise Unmeasurable(f"mur {' '.join(words)}: {done.stderr.strip()}")


def main() -> int:
    """Measures and prints. 1 when something that should run did not."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="murmur-bench-") as name:
        ground = Ground(Path(name), tuple(options.mur or (sys.executable, "-m", "murmur.cli")))
        print(f"Python {platform.python_version()}, Linux {platform.release()}, ", end="")
        print(f"{os.cpu_count()} processors", flush=True)
        try:
            rows = [
                measure(ground, options.times)
                for measure in (measure_install, measure_list, measure_search)
            ]
        except Unmeasurable as failure:
            print(f"cannot be measured: {failure}", file=sys.stderr)
            return 1
    print(show(rows))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--mur", nargs="+", help="how mur is started")
    return parser.parse_args()


def _python_path() -> str:
    return os.pathsep.join([str(Path(murmur.__file__ or "").parents[1]), *sys.path])


def _artifact(name: str, version: str) -> bytes:
    manifest = f"name: {name}\nversion: {version}\nruntime: tool\ndescription: Does {name}.\n"
    return archive_bytes(
        [Entry("murmur.yaml", manifest.encode()), Entry("capsule.wasm", _COMPONENT)]
    )


def _seed(home: Path, names: list[tuple[str, str]]) -> None:
    (home / ".murmur").mkdir(parents=True, mode=0o700)
    store = global_store(home / ".murmur" / "artifacts")
    for name, version in names:
        payload = open_payload(_artifact(name, version), name, {})
        store.put(FullName.of("bench", name), payload, None)


def measure_install(ground: Ground, times: int) -> Row:
    """A manifest of fifty artifacts into a new project, from the global store, nothing compiled."""
    home = ground.root / "install-home"
    names = [f"tool-{number:02}" for number in range(INSTALLED)]
    _seed(home, [(name, "1.0.0") for name in names])
    project = ground.root / "install"

    def once() -> float:
        shutil.rmtree(project, ignore_errors=True)
        project.mkdir()
        listed = "".join(f"  - {{name: bench/{name}, version: 1.0.0}}\n" for name in names)
        head = "name: c\nversion: 0.1.0\nruntime: capsule\nartifacts:\n"
        (project / "murmur.yaml").write_text(head + listed)
        return timed(lambda: ground.run(home, "install", "--no-precompile", cwd=project))()

    return _row(
        repeat(f"mur install of {INSTALLED} artifacts", times, once),
        (f"pip install of {INSTALLED} wheels", lambda: pip_install(ground.root, INSTALLED)),
        (f"npm install of {INSTALLED} packages", lambda: npm_install(ground.root, INSTALLED)),
        times=times,
    )


def measure_list(ground: Ground, times: int) -> Row:
    """The global store with twenty versions of each of a hundred artifacts."""
    home = ground.root / "list-home"
    _seed(home, [(f"tool-{n % 100:02}", f"1.{n // 100}.0") for n in range(VERSIONS)])
    return _row(
        repeat(f"mur list of {VERSIONS} versions", times, timed(lambda: ground.run(home, "list"))),
        (f"pip list of {VERSIONS} distributions", lambda: pip_list(ground.root, VERSIONS)),
        (f"npm ls of {VERSIONS} packages", lambda: npm_list(ground.root, VERSIONS)),
        times=times,
    )


def measure_search(ground: Ground, times: int) -> Row:
    """An index file; a keyword that a hundred artifacts have."""
    artifacts = tuple(
        IndexArtifact(
            f"tool-{number:04}",
            "tool",
            tuple(
                IndexVersion(
                    f"1.{minor}.0", "v1", (IndexFile(f"{number}-{minor}.mur.zip", "0" * 64),)
                )
                for minor in range(3)
            ),
            f"Does thing {number % 50}x and more of it.",
            ("tool",),
        )
        for number in range(SEARCHED)
    )
    index = ground.root / "artifacts-index.json"
    index.write_bytes(render_index(Index("bench", artifacts)))
    home = ground.root / "search-home"
    home.mkdir()
    words = ("search", "thing 7x", "--index", str(index), "--limit", "20")
    return _row(
        repeat(
            f"mur search among {SEARCHED} artifacts", times, timed(lambda: ground.run(home, *words))
        ),
        (
            f"npm search among {SEARCHED} packages",
            lambda: npm_search(ground.root, json.loads(index.read_bytes())),
        ),
        times=times,
    )


def _row(ours: Timing, *beside: tuple[str, Callable[[], Callable[[], float]]], times: int) -> Row:
    """Ours and each other program, prepared and timed in the same run; what cannot be, is told."""
    timings = []
    missing = []
    for name, prepare in beside:
        try:
            timings.append(repeat(name, times, prepare()))
        except (Unmeasurable, OSError) as failure:
            missing.append(f"{name}: {failure}")
    return Row(ours, tuple(timings), tuple(missing))


if __name__ == "__main__":
    sys.exit(main())
