"""Seeing whether a `mur` leaves anything behind: its own calls, and the folders it could change.

An audit hook in the process under test records every file opened for writing, every change of a
directory, every socket and every child; snapshots of the folders catch what its children do.
"""

import dataclasses
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.endtoend.capsule import TIMEOUT_SECONDS, Place, mur_command

_HOOK = """
import json, os, sys

_log = os.open(os.environ["MUR_AUDIT_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_NAMES = {
    "os.mkdir", "os.rmdir", "os.remove", "os.rename", "os.link", "os.symlink", "os.chmod",
    "os.truncate", "os.utime", "os.chown", "socket.connect", "socket.bind", "socket.getaddrinfo",
    "socket.gethostbyname", "socket.sendto", "subprocess.Popen", "os.posix_spawn", "os.exec",
    "os.fork", "os.system",
}

def _hook(event, args):
    if event == "open":
        if not isinstance(args[2], int) or not args[2] & _WRITES:
            return
    elif event not in _NAMES:
        return
    shown = [a.decode("utf-8", "replace") if isinstance(a, bytes) else a for a in args]
    line = json.dumps([event, shown], default=str) + "\\n"
    os.write(_log, line.encode())

sys.addaudithook(_hook)
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Watched:
    """A finished command, and every event of it that could leave something."""

    done: subprocess.CompletedProcess[str]
    events: tuple[tuple[str, tuple[object, ...]], ...]

    def written(self) -> list[str]:
        """Paths that it opened for writing, made, changed or removed."""
        return [
            str(arguments[0])
            for event, arguments in self.events
            if event == "open" or (event.startswith("os.") and event not in _CHILDREN)
        ]

    def children(self) -> list[str]:
        """The programs that it started."""
        return [str(arguments[0]) for event, arguments in self.events if event in _CHILDREN]

    def contacts(self) -> list[tuple[object, ...]]:
        """Addresses on a network that it reached for; a local socket's path is none."""
        return [
            arguments
            for event, arguments in self.events
            if event.startswith("socket.") and not isinstance(arguments[-1], str)
        ]


_CHILDREN = frozenset(("subprocess.Popen", "os.posix_spawn", "os.exec", "os.fork", "os.system"))


def run_watched(
    place: Place, folder: Path, *arguments: str, cwd: Path, environ: Mapping[str, str] | None = None
) -> Watched:
    """Runs `mur` under the hook; `folder` takes the hook and its log."""
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(_HOOK)
    log = folder / "log"
    log.write_text("")
    variables = {**place.environ, **(environ or {})}
    variables["PYTHONPATH"] = os.pathsep.join([str(folder), variables.get("PYTHONPATH", "")])
    variables["PYTHONDONTWRITEBYTECODE"] = "1"
    variables["MUR_AUDIT_LOG"] = str(log)
    done = subprocess.run(
        [*mur_command(), *arguments],
        cwd=cwd,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert events, "the hook saw nothing, not even the helper: it was not in place"
    return Watched(done, tuple((event, tuple(shown)) for event, shown in events))


def snapshot(*roots: Path) -> dict[str, tuple[int, int, int, int]]:
    """Every path below the roots with mode, size, inode and time of change."""
    return dict(_entries(roots))


def _entries(roots: tuple[Path, ...]) -> Iterator[tuple[str, tuple[int, int, int, int]]]:
    for root in roots:
        for path in (root, *root.rglob("*")):
            status = path.lstat()
            yield str(path), (status.st_mode, status.st_size, status.st_ino, status.st_mtime_ns)
