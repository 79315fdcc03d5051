"""A home and a current folder of a test's own, in which `mur` runs as a program."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import murmur

ROOT = str(Path(murmur.__file__ or "").parents[1])


class Box:
    """Runs `mur` with nothing of the tests' own environment."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self.cwd = folder / "project"
        self.cwd.mkdir()
        self.environment = {
            "HOME": str(self.home),
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": os.pathsep.join([ROOT, *sys.path]),
        }

    def run(
        self, *arguments: str, python: Sequence[str] = (), stdout: int | IO[bytes] = subprocess.PIPE
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *python, "-m", "murmur.cli", *arguments],
            cwd=self.cwd,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )

    def ok(self, *arguments: str) -> list[str]:
        done = self.run(*arguments)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout.splitlines()

    def refused(self, code: str, *arguments: str) -> str:
        done = self.run(*arguments)
        assert done.returncode == 1 and done.stdout == ""
        assert done.stderr.startswith(f"error[{code}]: "), done.stderr
        return done.stderr

    def usage(self, *arguments: str) -> str:
        done = self.run(*arguments)
        assert done.returncode == 2 and done.stdout == "", done
        return done.stderr
