"""A project folder in which one diagnostic after the other is provoked through the program."""

import dataclasses
import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.endtoend.capsule import TIMEOUT_SECONDS, Place, mur_command, replay, write_manifest

Done = subprocess.CompletedProcess[str]


@dataclasses.dataclass(frozen=True, slots=True)
class Ground:
    """A home and a project folder."""

    place: Place
    folder: Path

    def mur(self, *arguments: str, **environ: str) -> Done:
        return self.place.mur(*arguments, cwd=self.folder, environ=environ)

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def tool(self, folder: str = "tool", **fields: Any) -> None:
        """The source of a WASM tool; a field that is None is left out."""
        manifest = {
            "name": "made-tool",
            "version": "0.1.0",
            "runtime": "tool",
            "requires_files": ["capsule.wasm"],
            **fields,
        }
        write_manifest(self.folder / folder, {k: v for k, v in manifest.items() if v is not None})
        self.write(f"{folder}/capsule.wasm", b"\0asm\x0d\0\1\0")

    def capsule(self, **changes: Any) -> dict[str, Any]:
        """Writes a capsule that answers at once, with `changes` on top, and returns it.

        The lock of one that stood there before goes.
        """
        (self.folder / "murmur.lock").unlink(missing_ok=True)
        manifest = replay([{"text": "done"}])
        manifest.update(changes)
        write_manifest(self.folder, manifest)
        return manifest

    def run(self, *arguments: str, **environ: str) -> Done:
        return self.mur("run", "--task", "go", *arguments, **environ)

    def without_rights(self, *arguments: str) -> Done:
        """Runs `mur` so that file modes bind it, as they do any user but root."""
        command = [*mur_command(), *arguments]
        if os.geteuid() == 0:
            setpriv = shutil.which("setpriv")
            if setpriv is None:
                pytest.skip("file modes do not bind root, and there is no setpriv")
            dropped = "-dac_override,-dac_read_search"
            command = [setpriv, f"--bounding-set={dropped}", f"--inh-caps={dropped}", *command]
        return self.execute(command)

    def without_cgroups(self, *arguments: str) -> Done:
        """Runs `mur` where no cgroup hierarchy can be seen."""
        unshare = shutil.which("unshare")
        if os.geteuid() != 0 or unshare is None:
            pytest.skip("needs root and unshare to cover /sys/fs/cgroup")
        cover = 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"'
        return self.under([unshare, "--mount", "sh", "-c", cover, "sh"], *arguments)

    def under(self, wrapper: list[str], *arguments: str) -> Done:
        """Runs `mur` as the last words of another command."""
        return self.execute([*wrapper, *mur_command(), *arguments])

    def host(self, **stages: str) -> Mapping[str, str]:
        """An environment in which the helper's probe answers `stages` otherwise than this host."""
        real = os.environ["MURMUR_SANDBOX_HELPER"]
        edits = " ".join(f"-e 's/^{name} .*/{name} {answer}/'" for name, answer in stages.items())
        script = (
            f'#!/bin/sh\n[ "$1" = probe ] || exec {Path(real).absolute()} "$@"\n'
            f"{Path(real).absolute()} probe | sed {edits}\n"
        )
        path = self.write("helper/mur-sandbox", script)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return {"MURMUR_SANDBOX_HELPER": str(path)}

    def execute(self, command: list[str]) -> Done:
        """Runs any command in the project folder, as `mur` would be."""
        return subprocess.run(
            command,
            cwd=self.folder,
            env=dict(self.place.environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """A code, how it is provoked, and what its message must name."""

    code: str
    provoke: Callable[[Ground], Done]
    facts: tuple[str, ...] = ()


def check_refused(case: Case, done: Done) -> None:
    """One error, the last thing said, with its facts; no result on standard output."""
    assert done.returncode == 1, (done.stdout, done.stderr)
    assert done.stdout in ("", "status:  failed\n")
    heads = [line for line in done.stderr.splitlines() if line.startswith("error[")]
    assert len(heads) == 1 and heads[0].startswith(f"error[{case.code}]: "), done.stderr
    last = done.stderr[done.stderr.index(heads[0]) :].splitlines()
    assert all(line.startswith("  ") for line in last[1:]), done.stderr
    for fact in case.facts:
        assert fact in "\n".join(last), done.stderr


def check_warned(case: Case, done: Done, status: int = 0) -> None:
    """The warning with its facts; the exit status is what it would have been."""
    assert done.returncode == status, (done.stdout, done.stderr)
    found = [line for line in done.stderr.splitlines() if f"warning[{case.code}]: " in line]
    assert found, done.stderr
    for fact in case.facts:
        assert any(fact in line for line in found), done.stderr
