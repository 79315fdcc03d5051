"""The durable store that `capabilities.state` grants: where it is, and one writer at a time in it.

WASI has no file locks, so a lock is a file that only one can create. A call that is killed leaves
it behind; it counts for LOCK_SECONDS, many times longer than any call here holds it.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from murmur_tooling.members import ToolError

NAME = "state"
LOCK_SECONDS = 10.0
WAIT_SECONDS = 20.0
_PAUSE = 0.01


def granted_state() -> Path:
    """The store of this call. Raises ToolError `state_unavailable` where none was granted.

    Without a grant the same path would name a folder of the work folder that happens to be called
    `state`; that one is never meant.
    """
    try:
        found = os.stat(NAME)
    except OSError:
        raise _unavailable("this call has no durable store") from None
    try:
        below = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return Path(NAME)  # without a work folder, it is the only folder there is
    try:
        own = os.stat(NAME, dir_fd=below)
    except OSError:
        return Path(NAME)
    finally:
        os.close(below)
    if (own.st_dev, own.st_ino) == (found.st_dev, found.st_ino):
        raise _unavailable("this call has no durable store, only a folder of that name")
    return Path(NAME)


def unusable(path: Path, problem: OSError) -> ToolError:
    """The refusal that an operating system error in the store becomes."""
    return ToolError("state_unavailable", f"{path}: {problem.strerror or problem}")


@contextmanager
def sole_writer(folder: Path, name: str) -> Iterator[None]:
    """Holds `<name>.lock` of the store. Raises ToolError `state_unavailable` where it stays taken
    for WAIT_SECONDS or cannot be made.
    """
    lock = folder / f"{name}.lock"
    end = time.monotonic() + WAIT_SECONDS
    while not _create(lock):
        _break_stale(lock)
        if time.monotonic() > end:
            message = f"{lock} has been held for {WAIT_SECONDS:.0f} s; if nothing writes, remove it"
            raise ToolError("state_unavailable", message)
        time.sleep(_PAUSE)
    try:
        yield
    finally:
        _remove(lock)


def replace_file(path: Path, content: bytes) -> None:
    """Writes a file of the store so that a reader sees the old content or the new.

    The caller is its only writer. Raises ToolError `state_unavailable`.
    """
    fresh = path.with_name(path.name + ".new")
    try:
        with fresh.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)
    except OSError as problem:
        raise unusable(path, problem) from None


def _create(lock: Path) -> bool:
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    except OSError as problem:
        raise unusable(lock, problem) from None
    return True


def _break_stale(lock: Path) -> None:
    """Removes a lock whose holder is gone. Only one may judge at a time: else the second to judge
    would remove what the first has taken meanwhile."""
    if not _stale(lock):
        return
    judge = lock.with_name(lock.name + ".judge")
    if not _create(judge):
        if _stale(judge):
            _remove(judge)
        return
    try:
        if _stale(lock):
            _remove(lock)
    finally:
        _remove(judge)


def _stale(lock: Path) -> bool:
    try:
        return time.time() - lock.stat().st_mtime > LOCK_SECONDS
    except OSError:
        return False


def _remove(lock: Path) -> None:
    try:
        lock.unlink()
    except FileNotFoundError:
        return
    except OSError as problem:
        raise unusable(lock, problem) from None


def _unavailable(reason: str) -> ToolError:
    return ToolError(
        "state_unavailable",
        f"{reason}; grant one in the capsule's manifest, in this artifact's entry: "
        "`capabilities: {state: {}}`",
    )
