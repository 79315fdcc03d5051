"""Finding mur-sandbox and starting it."""

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

NAME: Final = "mur-sandbox"
END_S: Final = 5.0

_VARIABLE: Final = "MURMUR_SANDBOX_HELPER"


class HelperMissing(Exception):
    """There is no mur-sandbox to run. The message says where it was looked for."""


def find_helper() -> Path:
    """The helper's absolute path: $MURMUR_SANDBOX_HELPER, else beside `mur`, else on PATH.

    Entries of PATH that are relative or lie in the current folder are passed over: a project could
    bring a helper of its own. Raises HelperMissing.
    """
    named = os.environ.get(_VARIABLE)
    if named:
        path = Path(named).absolute()
        if os.access(path, os.X_OK):
            return path
        raise HelperMissing(f"{_VARIABLE} names {named}, which cannot be executed")
    beside = [Path(os.path.realpath(each)).parent / NAME for each in sys.argv[:1] if each]
    for path in beside:
        if os.access(path, os.X_OK):
            return path
    found = shutil.which(NAME, path=os.pathsep.join(_elsewhere(os.environ.get("PATH", ""))))
    if found is not None:
        return Path(found)
    places = ", ".join(str(path.parent) for path in beside)
    raise HelperMissing(f"no {NAME} beside mur ({places}) nor on PATH")


def _elsewhere(path: str) -> list[str]:
    here = Path.cwd().resolve()
    return [
        each
        for each in path.split(os.pathsep)
        if os.path.isabs(each) and not Path(each).resolve().is_relative_to(here)
    ]


def above_stdio(descriptor: int) -> int:
    """The descriptor itself, or a close-on-exec copy above 2 (then the original is closed).

    A runtime that was started with closed standard streams would otherwise see its new descriptors
    overwritten by the command's.
    """
    if descriptor > 2:
        return descriptor
    import fcntl

    copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return copy


def spawn(
    helper: Path, arguments: Sequence[str], stdio: tuple[int, int, int], kept: Iterable[int]
) -> int:
    """Starts the helper with an empty environment; its pid. Raises OSError.

    `stdio` become 0, 1 and 2; `kept` stay open under their own numbers (posix_spawn clears
    close-on-exec of a descriptor that is duplicated onto itself); everything else of ours is
    close-on-exec.
    """
    actions = [(os.POSIX_SPAWN_DUP2, source, target) for target, source in enumerate(stdio)]
    actions += [(os.POSIX_SPAWN_DUP2, each, each) for each in kept if each >= 0]
    return os.posix_spawn(helper, [NAME, *arguments], {}, file_actions=actions)


def reap(pid: int, seconds: float = END_S) -> int | None:
    """The wait status of a helper about to end, killed if it does not; None if it is lost."""
    deadline = time.monotonic() + seconds
    delay = 0.0002
    killed = False
    while True:
        try:
            done, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            return None
        if done:
            return status
        if time.monotonic() > deadline:
            if killed:
                return None
            os.kill(pid, signal.SIGKILL)
            killed, deadline = True, time.monotonic() + 1.0
        time.sleep(delay)
        delay = min(delay * 2, 0.02)
