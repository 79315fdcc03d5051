"""Running `mur` as a user does: a home with the default artifacts, project folders, processes.

What runs is named by the environment: `MURMUR_TEST_MUR` (a command line), `MURMUR_TEST_ARTIFACTS`
(a folder of .mur.zip files). Every process started here is ended by its own id.
"""

import dataclasses
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

TIMEOUT_SECONDS = 120


def mur_command() -> list[str]:
    """The command under test."""
    named = os.environ.get("MURMUR_TEST_MUR")
    return shlex.split(named) if named else [sys.executable, "-m", "murmur.cli"]


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """A home and what `mur` sees of the environment."""

    home: Path
    environ: Mapping[str, str]

    def mur(
        self,
        *arguments: str,
        cwd: Path,
        environ: Mapping[str, str] | None = None,
        seconds: float = TIMEOUT_SECONDS,
    ) -> subprocess.CompletedProcess[str]:
        """Runs one command to its end."""
        return subprocess.run(
            [*mur_command(), *arguments],
            cwd=cwd,
            env={**self.environ, **(environ or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    def start(
        self, *arguments: str, cwd: Path, environ: Mapping[str, str] | None = None
    ) -> "Running":
        """Starts `mur run --json` and waits for its readiness line."""
        process = subprocess.Popen(
            [*mur_command(), "run", "--json", *arguments],
            cwd=cwd,
            env={**self.environ, **(environ or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            _, complaint = process.communicate(timeout=TIMEOUT_SECONDS)
            raise AssertionError(f"no readiness line: {complaint}")
        return Running(process, json.loads(line))


@dataclasses.dataclass(frozen=True, slots=True)
class Running:
    """A capsule that has announced itself."""

    process: subprocess.Popen[str]
    ready: Mapping[str, Any]

    @property
    def url(self) -> str:
        return f"http://{self.ready['url']}"

    @property
    def records(self) -> Path:
        return Path(self.ready["records_dir"])

    def trace(self) -> list[dict[str, Any]]:
        return read_trace(self.records)

    def wait_for(self, event: str, seconds: float = 60) -> dict[str, Any]:
        """The first trace line of that type, once it is there."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for line in self.trace():
                if line["event_type"] == event:
                    return line
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"no {event} in {[line['event_type'] for line in self.trace()]}")

    def wait_for_where(self, event: str, seconds: float = 60, **facts: object) -> dict[str, Any]:
        """The first trace line of that type with those members, once it is there."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            for line in self.trace():
                if line["event_type"] == event and facts.items() <= line.items():
                    return line
            time.sleep(0.02)
        raise AssertionError(f"no {event} with {facts}")

    def end(self, sent: signal.Signals = signal.SIGTERM) -> tuple[int, str, str]:
        """Signals the capsule and waits; exit status, rest of its output, its errors."""
        if self.process.poll() is None:
            self.process.send_signal(sent)
        output, complaint = self.process.communicate(timeout=TIMEOUT_SECONDS)
        return self.process.returncode, output, complaint


def read_trace(records: Path) -> list[dict[str, Any]]:
    """The lines of a trace; a torn last line is left out."""
    path = records / "trace.jsonl"
    if not path.exists():
        return []
    text = path.read_text()
    whole = text.split("\n")[:-1]
    return [json.loads(line) for line in whole]


def descendants(pid: int) -> list[int]:
    """Every process below `pid`."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found: list[int] = []
    waiting = [pid]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def alive(pids: Sequence[int]) -> list[int]:
    """Those of `pids` that still run; a zombie that nobody has reaped does not."""
    left = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z":
            left.append(pid)
    return left


def write_manifest(project: Path, manifest: Mapping[str, Any]) -> None:
    """Writes `murmur.yaml`."""
    project.mkdir(parents=True, exist_ok=True)
    (project / "murmur.yaml").write_text(yaml.safe_dump(dict(manifest), sort_keys=False))


def replay(turns: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    """A capsule manifest on driver-replay with tool-editor; `more` is merged on top."""
    manifest: dict[str, Any] = {
        "name": "scripted",
        "version": "0.1.0",
        "artifacts": [
            {
                "name": "local/driver-replay",
                "version": "0.1.0",
                "runtime": "driver",
                "config": {"turns": list(turns)},
            },
            {"name": "local/tool-editor", "version": "0.1.0", "runtime": "tool"},
        ],
        "inference": {"model": "replay", "driver": {"artifact": "local/driver-replay"}},
    }
    manifest.update(more)
    return manifest


def shell_turn(binary: str, command: str) -> dict[str, Any]:
    """A turn that calls one shell tool."""
    return {"tool_calls": [{"name": binary, "input": {"command": command}}]}


def files_below(*roots: Path) -> Iterator[Path]:
    """Every regular file below the roots, links not followed."""
    for root in roots:
        for folder, _, names in os.walk(root):
            for name in names:
                path = Path(folder) / name
                if not path.is_symlink():
                    yield path
