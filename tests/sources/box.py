"""A home and a project of a test's own, in which `mur` runs against the test's server."""

import os
import subprocess
import sys
from pathlib import Path

import murmur
from murmur.store.lock import Lock, read_lock

from .github_server import GitHubServer

ROOT = str(Path(murmur.__file__ or "").parents[1])


class Box:
    """Runs `mur` with nothing of the tests' own environment."""

    def __init__(self, folder: Path, server: GitHubServer) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self.cwd = folder / "project"
        self.cwd.mkdir()
        self.environment = {
            "HOME": str(self.home),
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": os.pathsep.join([ROOT, *sys.path]),
            "MUR_GITHUB_API_BASE": server.base + "/",
        }
        for name in ("MURMUR_SANDBOX_HELPER", "MURMUR_LOCKDOWN_LIBRARY"):
            if name in os.environ:
                self.environment[name] = os.path.abspath(os.environ[name])

    def configure(self, text: str) -> None:
        """Writes the operator's config.yaml."""
        folder = self.home / ".murmur"
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / "config.yaml").write_text(text)

    def serve(self, *repositories: str, token: str = "") -> None:
        """Configures sources."""
        entries = [
            f"  - {{name: s{number}, type: github, repo: {repository}"
            + (f", token: '{token}'" if token else "")
            + "}\n"
            for number, repository in enumerate(repositories)
        ]
        self.configure("registry:\n  sources:\n" + "".join(f"  {entry}" for entry in entries))

    def declare(self, *references: str) -> None:
        """Writes a manifest that declares these artifacts."""
        lines = []
        for reference in references:
            name, _, version = reference.partition("@")
            lines.append(f"  - {{name: {name}, version: {version}}}\n")
        text = "name: capsule\nversion: 0.1.0\nruntime: capsule\n"
        (self.cwd / "murmur.yaml").write_text(
            text + "artifacts:\n" + "".join(lines) if lines else text
        )

    def run(self, *arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "murmur.cli", *arguments],
            cwd=self.cwd,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def install(self, *arguments: str) -> list[str]:
        """A `mur install --no-precompile` that succeeds without a word on standard error."""
        done = self.run("install", "--no-precompile", *arguments)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout.splitlines()

    def refused(self, code: str, *arguments: str) -> str:
        """A refused `mur install`, which leaves home and project as they were."""
        before = self.files()
        done = self.run("install", "--no-precompile", *arguments)
        assert done.returncode == 1 and done.stdout == "", done
        assert done.stderr.startswith(f"error[{code}]: "), done.stderr
        assert self.files() == before
        return done.stderr

    def files(self) -> dict[str, bytes]:
        """Everything in home and project, folders as well; but ~/.murmur itself may be made."""
        return {
            str(path): path.read_bytes() if path.is_file() else b""
            for root in (self.home, self.cwd)
            for path in sorted(root.rglob("*"))
            if path != self.home / ".murmur"
        }

    def lock(self) -> Lock:
        lock = read_lock(self.cwd / "murmur.lock")
        assert lock is not None
        return lock
