"""From the start of `mur run` to its first inference request at the provider, and from there to
its end.

A throw-away home and project with driver-anthropic and tool-editor, installed and compiled
beforehand; the provider is a server of ours on loopback that streams one answer.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.timing import Unmeasurable
from tests.providers import anthropic_server

_KEY = "bench-key-0123456789"
_MANIFEST = """\
name: bench
version: 0.1.0
artifacts:
  - name: local/driver-anthropic
    version: {driver}
    runtime: driver
    gateway: {{endpoint: "{endpoint}", api_key: "${{BENCH_PROVIDER_KEY}}"}}
  - name: local/tool-editor
    version: {tool}
    runtime: tool
inference:
  model: bench
  max_tokens: 1000
  driver: {{artifact: local/driver-anthropic}}
context: {{max_tokens: 100000}}
"""


@dataclass(frozen=True, slots=True)
class Project:
    """A project that is ready to run. `mur` is how the command line is started."""

    folder: Path
    home: Path
    mur: tuple[str, ...]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "HOME": str(self.home), "BENCH_PROVIDER_KEY": _KEY}

    def do(self, *words: str) -> None:
        """Runs a command of `mur` in the project. Raises Unmeasurable."""
        done = subprocess.run(
            [*self.mur, *words],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=600,
        )
        if done.returncode:
            raise Unmeasurable(f"mur {' '.join(words)}: {done.stderr.strip()}")


@dataclass(frozen=True, slots=True)
class Launched:
    """Seconds from the start until the request was there, and from there until the process was
    gone: the answer, which comes at once, the task's end and the session's teardown.
    """

    until_request: float
    until_gone: float


def prepare(root: Path, mur: Sequence[str], archives: Sequence[Path]) -> Project:
    """Publishes the archives into a new home and installs them. Compiles, so it takes a while."""
    project = Project(root / "project", root / "home", tuple(mur))
    for folder in (project.folder, project.home, root / "work"):
        folder.mkdir()
    for archive in archives:
        project.do("publish", str(archive))
    write_manifest(project, "http://127.0.0.1:9", archives)
    project.do("install")
    return project


def write_manifest(project: Project, endpoint: str, archives: Sequence[Path]) -> None:
    """The project's manifest with the provider at `endpoint`."""
    text = _MANIFEST.format(
        driver=version_of("driver-anthropic", archives),
        tool=version_of("tool-editor", archives),
        endpoint=endpoint,
    )
    (project.folder / "murmur.yaml").write_text(text)


def version_of(name: str, archives: Sequence[Path]) -> str:
    """The version in the file name `<name>-<version>.mur.zip`. Raises Unmeasurable."""
    for archive in archives:
        if archive.name.startswith(f"{name}-"):
            return archive.name[len(name) + 1 :].removesuffix(".mur.zip")
    raise Unmeasurable(f"no archive of {name} is at hand")


def launch(project: Project, archives: Sequence[Path]) -> Launched:
    """One `mur run` whose model answers at once. Raises Unmeasurable."""
    with anthropic_server.start([{"text": "done"}], key=_KEY) as server:
        write_manifest(project, server.url, archives)
        work = project.folder.parent / "work"
        command = [*project.mur, "run", "--workdir", str(work), "--task", "Say that it is done."]
        begun = time.perf_counter()
        running = subprocess.Popen(
            command,
            cwd=project.folder,
            env=project.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while not server.requests and running.poll() is None:
            time.sleep(0.0005)
        asked = time.perf_counter()
        _, errors = running.communicate(timeout=60)
        gone = time.perf_counter()
        if running.returncode or not server.requests:
            raise Unmeasurable(f"mur run: {errors.strip()}")
        return Launched(asked - begun, gone - asked)


def install(root: Path) -> tuple[str, ...]:
    """How to start `mur`: as built, both files copied side by side as a user has them, where they
    are among the runfiles; else out of the source tree.
    """
    built = Path("dist")
    if not (built / "mur").exists():
        return (sys.executable, "-m", "murmur.cli")
    for name in ("mur", "mur-sandbox"):
        shutil.copy(built / name, root / name)
    os.environ.pop("MURMUR_LOCKDOWN_LIBRARY", None)
    os.environ["MURMUR_SANDBOX_HELPER"] = str(root / "mur-sandbox")
    return (sys.executable, str(root / "mur"))
