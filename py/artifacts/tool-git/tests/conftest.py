"""A work folder with a repository in it, and calls of the tool as the component makes them."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from git_tool.calls import carry_out
from git_tool.program import Finished
from murmur_tooling.outcome import Outcome

CONFIG = {"author": {"name": "Ada", "email": "ada@example.com"}}


class Work:
    """The folder, what the tool is configured with, and every command line that it ran."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}
        self.config: dict[str, Any] = CONFIG
        self.ran: list[Sequence[str]] = []

    def in_folder(self, name: str) -> Work:
        """The tool in a work folder below."""
        return Work(self.folder / name, Path(self.environ["HOME"]))

    def run(self, arguments: Sequence[str], given: bytes | None) -> Finished:
        self.ran.append(arguments)
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, env=self.environ, input=given, capture_output=True
        )
        return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())

    def git(self, *arguments: str) -> str:
        """What the test itself has git do, with nothing of the tool's."""
        command = ["git", "-c", "user.name=T", "-c", "user.email=t@example.com", *arguments]
        done = subprocess.run(command, cwd=self.folder, env=self.environ, capture_output=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    def outcome(self, operation: str, **members: object) -> Outcome:
        environ = {"MURMUR_ARTIFACT_CONFIG": json.dumps(self.config)}
        return carry_out(json.dumps({"operation": operation, **members}), environ, self.run)

    def do(self, operation: str, **members: object) -> dict[str, Any]:
        outcome = self.outcome(operation, **members)
        assert outcome.status == "passed", outcome.data
        data: dict[str, Any] = json.loads(outcome.data)
        return data

    def refused(self, kind: str, operation: str, **members: object) -> str:
        outcome = self.outcome(operation, **members)
        data = json.loads(outcome.data)
        assert (data["ok"], data.get("error_kind")) == (False, kind), data
        assert outcome.status == ("error" if kind == "invalid_input" else "failed")
        return str(data["message"])

    def write(self, **files: str) -> None:
        for name, text in files.items():
            (self.folder / "r" / name).write_text(text)

    def committed(self, **files: str) -> str:
        self.write(**files)
        self.do("add", repo="r", paths=["."])
        return str(self.do("commit", repo="r", message="change " + ", ".join(files))["commit"])


@pytest.fixture
def work(tmp_path: Path) -> Work:
    folder = tmp_path / "work"
    folder.mkdir()
    (tmp_path / "home").mkdir()
    made = Work(folder, tmp_path / "home")
    made.git("init", "--quiet", "--initial-branch=main", "r")
    return made
