"""What artifacts cost before they are called: `bazel run //tests/bench:artifacts`.

For each archive: its size, its component's, the compiled form's, and how long compiling takes in a
host of its own. Then the resident memory of a session that has staged the replay driver and up to
nine more of them, each process of it for itself: proportional set sizes, so that what processes
share counts once.

Prints and asserts nothing. Options: --artifact FILE for each archive.
"""

import argparse
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from murmur.guest.client import Guests
from murmur.sandbox.guests import start_zygote
from murmur.sandbox.mur_sandbox import find_helper
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
            _compile_all(archives, root)
            _memory(archives, root)
        except Unmeasurable as failure:
            print(f"cannot be measured: {failure}", file=sys.stderr)
            return 1
    return 0


def _compile_all(archives: Sequence[Path], root: Path) -> None:
    print(f"{'':34}{'archive':>10}{'component':>12}{'compiled':>12}{'compiling':>12}")
    guests = Guests.start(functools.partial(start_zygote, find_helper()))
    try:
        for archive in archives:
            with zipfile.ZipFile(archive) as packed:
                component = packed.read("capsule.wasm")
            form = root / "form.cwasm"
            target = os.open(form, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
            begun = time.perf_counter()
            guests.compile(component, target)
            took = time.perf_counter() - begun
            os.close(target)
            sizes = (archive.stat().st_size, len(component), form.stat().st_size)
            shown = "".join(f"{size / MIB:8.1f} MiB" for size in sizes)
            print(f"{archive.name.removesuffix('.mur.zip'):32}{shown}{took:10.1f} s", flush=True)
    finally:
        guests.close()


def _memory(archives: Sequence[Path], root: Path) -> None:
    """Runs a capsule whose driver takes its time, and looks at its processes meanwhile."""
    home, project = root / "home", root / "project"
    home.mkdir()
    project.mkdir()
    mur = install(root)
    environ = {**os.environ, "HOME": str(home)}
    entries = _entries(archives)
    staged = [archive for archive in archives if _name(archive) in {e["name"] for e in entries}]
    for archive in staged:
        _do([*mur, "publish", str(archive)], project, environ)
    config = {"turns": [{"text": "done", "delay_ms": 4000}]}
    entries[0]["config"] = config
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
