"""What a session with ten artifacts keeps in memory: `bazel run //tests/bench:memory`.

The replay driver and nine more of the given archives, while the driver answers; each process of the
session for itself, in proportional set sizes, so that what processes share counts once.

Prints and asserts nothing. Options: --artifact FILE for each archive.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.bench.launches import install
from tests.bench.timing import Unmeasurable

MIB = 2**20
STAGED = 10


def main() -> int:
    """Measures and prints. 1 when something that should run did not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--artifact", dest="artifacts", type=Path, action="append", required=True, metavar="FILE"
    )
    archives = [path.absolute() for path in parser.parse_args().artifacts]
    with tempfile.TemporaryDirectory(prefix="murmur-bench-") as name:
        root = Path(name)
        try:
            _memory(archives, root)
        except Unmeasurable as failure:
            print(f"cannot be measured: {failure}", file=sys.stderr)
            return 1
    return 0


def _memory(archives: Sequence[Path], root: Path) -> None:
    """Runs a capsule whose driver takes its time, and looks at its processes meanwhile."""
    home, project = root / "home", root / "project"
    home.mkdir()
    project.mkdir()
    mur = install(root)
    environ = {**os.environ, "HOME": str(home)}
    entries = _entries(archives)
    for archive in (each for each in archives if _name(each) in {e["name"] for e in entries}):
        _do([*mur, "publish", str(archive)], project, environ)
    entries[0]["config"] = {"turns": [{"text": "done", "delay_ms": 4000}]}
    manifest = {
        "name": "bench",
        "version": "0.1.0",
        "artifacts": entries,
        "inference": {
            "model": "replay",
            "max_tokens": 1000,
            "driver": {"artifact": "local/driver-replay"},
        },
        "context": {"max_tokens": 100000},
    }
    (project / "murmur.yaml").write_text(yaml.safe_dump(manifest))
    _do([*mur, "install"], project, environ)
    running = subprocess.Popen(
        [*mur, "run", "--json", "--task", "go"],
        cwd=project,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert running.stdout is not None
        ready = running.stdout.readline()
        if not ready:
            raise Unmeasurable(running.communicate()[1].strip())
        _await_driver(Path(json.loads(ready)["records_dir"]))
        _show(running.pid, len(entries))
    finally:
        running.terminate()
        running.communicate(timeout=60)


def _entries(archives: Sequence[Path]) -> list[dict[str, Any]]:
    """The replay driver first, then what needs no settings of its own."""
    names = sorted(_name(archive) for archive in archives)
    others = [n for n in names if n.startswith(("local/hook-", "local/tool-"))]
    if "local/driver-replay" not in names:
        raise Unmeasurable("no archive of driver-replay is at hand")
    chosen = ["local/driver-replay", *others][:STAGED]
    return [
        {"name": name, "version": "0.1.0", "runtime": name.partition("/")[2].partition("-")[0]}
        for name in chosen
    ]


def _name(archive: Path) -> str:
    return f"local/{archive.name.removesuffix('-0.1.0.mur.zip')}"


def _await_driver(records: Path) -> None:
    """Until the task began, and a second more: the driver is then waiting in its host."""
    end = time.monotonic() + 60
    trace = records / "trace.jsonl"
    while time.monotonic() < end:
        if trace.exists() and '"task_start"' in trace.read_text():
            time.sleep(1)
            return
        time.sleep(0.05)
    raise Unmeasurable("no task began")


def _show(pid: int, staged: int) -> None:
    print(f"\nresident with {staged} artifacts staged, while the driver answers:")
    total = 0
    for each in [pid, *_below(pid)]:
        try:
            rollup = Path(f"/proc/{each}/smaps_rollup").read_text()
            command = Path(f"/proc/{each}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        sizes = {
            line.split(":")[0]: int(line.split()[1]) * 1024
            for line in rollup.splitlines()[1:]
            if line.split(":")[0] in ("Rss", "Pss")
        }
        total += sizes["Pss"]
        shown = " ".join(Path(word).name for word in command.split()[:3])
        print(
            f"{sizes['Pss'] / MIB:9.1f} MiB of {sizes['Rss'] / MIB:7.1f}   {each:>7} {shown[:60]}"
        )
    print(f"{total / MIB:9.1f} MiB in all")


def _below(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found += [child, *_below(child)]
    return found


def _do(command: Sequence[str], folder: Path, environ: dict[str, str]) -> None:
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True)
    if done.returncode:
        raise Unmeasurable(f"{' '.join(command[-2:])}: {done.stderr.strip()}")


if __name__ == "__main__":
    sys.exit(main())
