"""What a launch, a contained command and a tool call cost: `bazel run //tests/bench:first_light`.

Prints medians and, beside each, what it can be compared with. Nothing is asserted: the numbers are
the machine's. Options: --times N (repetitions of the short ones; launches are a fifth of it),
--artifact FILE, for each archive to install.
"""

import argparse
import hashlib
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path

from tests.bench import commands, launches, tool_calls
from tests.bench.timing import Row, Timing, Unmeasurable, program, repeat, show


def main() -> int:
    """Measures and prints. 1 when something that should run did not."""
    options = _options()
    archives = [path.absolute() for path in options.artifacts]
    with tempfile.TemporaryDirectory(prefix="murmur-bench-") as name:
        root = Path(name)
        print(f"Python {platform.python_version()}, Linux {platform.release()}, ", end="")
        print(f"{os.cpu_count()} processors; installing and compiling first", flush=True)
        try:
            project = launches.prepare(root, launches.install(root), archives)
            rows = _launch_rows(project, archives, max(options.times // 5, 3))
            _use_built_library(root)
            rows += [
                commands.measure_full(root, options.times),
                tool_calls.measure_tool(root, _compiled(project, archives), options.times),
            ]
        except Unmeasurable as failure:
            print(f"cannot be measured: {failure}", file=sys.stderr)
            return 1
    print(show(rows))
    return 0


def _use_built_library(root: Path) -> None:
    """Below `bazel run` the lockdown's library lies among the runfiles; it is copied beside the
    helper's copy, since a build going on elsewhere may replace what lies there.
    """
    built = Path("c/sandbox/libmur-lockdown.so")
    if built.exists():
        os.environ["MURMUR_LOCKDOWN_LIBRARY"] = str(shutil.copy(str(built), str(root)))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument(
        "--artifact", dest="artifacts", type=Path, action="append", required=True, metavar="FILE"
    )
    return parser.parse_args()


def _launch_rows(project: launches.Project, archives: list[Path], times: int) -> list[Row]:
    """To the first request, and from there to the end, of the same launches."""
    launches.launch(project, archives)  # not counted: the first one warms the caches
    made = [launches.launch(project, archives) for _ in range(times)]
    until_request = tuple(each.until_request * 1000 for each in made)
    until_gone = tuple(each.until_gone * 1000 for each in made)
    python = [sys.executable, "-I", "-S", "-c", "pass"]
    version = [*project.mur, "version"]
    beside = (
        repeat("mur version", times, program([*version, "--json"], project.environment)),
        repeat("python3 -I -S -c pass", times, program(python)),
    )
    return [
        Row(Timing("mur run to first inference request", until_request), beside),
        Row(Timing("answer of the model to the end of mur run", until_gone), beside),
    ]


def _compiled(project: launches.Project, archives: list[Path]) -> Path:
    """The compiled form of tool-editor that installing left behind. Raises Unmeasurable."""
    archive = next(each for each in archives if each.name.startswith("tool-editor-"))
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    found = sorted((project.home / ".murmur" / "compiled").glob(f"{digest}-*.cwasm"))
    if not found:
        raise Unmeasurable("tool-editor has no compiled form in the cache")
    return found[0]


if __name__ == "__main__":
    sys.exit(main())
