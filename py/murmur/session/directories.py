"""The directories of one session: work folder, runtime directory, records directory.

spec/sessions.md 2. The work folder and the records directory are reachable by the capsule's
commands, so after creation all three are used through the held roots alone.
"""

import contextlib
import dataclasses
import fcntl
import os
import time
import unicodedata
from collections.abc import Iterator
from contextlib import ExitStack
from io import FileIO
from pathlib import Path
from typing import Final

from murmur.core.diagnostics import error
from murmur.core.home import Home
from murmur.core.ids import id_time_ms
from murmur.core.safefs import Root, open_root

_RECORD_PARTS: Final = ("logs", "out", "tmp", "home")
_STALE_MS: Final = 3_600_000


@dataclasses.dataclass(frozen=True, slots=True)
class Directories:
    """Paths for reports, held roots for every access."""

    work: Path
    runtime: Path
    records: Path
    work_root: Root
    runtime_root: Root
    records_root: Root
    runtime_lock: FileIO

    @property
    def temporary(self) -> Path:
        """The commands' temporary folder (`tmp/`)."""
        return self.records / "tmp"

    @property
    def commands_home(self) -> Path:
        """The commands' `$HOME` (`home/`)."""
        return self.records / "home"

    @property
    def visible_runtime(self) -> Path:
        """`$MURMUR_RUNTIME_DIR`: the part of the runtime directory that commands may read."""
        return self.runtime / "runtime"


@dataclasses.dataclass(frozen=True, slots=True)
class WorkPlace:
    """Where the work folder will be, decided before anything is created.

    `root` is the workdir root that the records are grouped by.
    """

    root: Path
    given: Path | None

    def work_folder(self, session_id: str) -> Path:
        return self.given if self.given is not None else self.root / session_id


def one_line(path: Path) -> str:
    """A path for texts, on one line whatever its names hold."""
    return "".join("?" if unicodedata.category(c) in ("Cc", "Cs") else c for c in str(path))


def holds_home(place: WorkPlace, home: Home) -> bool:
    """Whether `~/.murmur` lies in the workdir, where commands could change it (W-SEC-033)."""
    return home.root.resolve().is_relative_to(place.root.resolve())


def records_group_name(place: WorkPlace) -> str:
    """The records group of a workdir root, relative to `~/.murmur`. See `Home.records_group`."""
    return "/".join(["records", *place.root.parts[1:]])


def records_name(place: WorkPlace, session_id: str) -> str:
    """The records directory of a session, relative to `~/.murmur`."""
    return f"{records_group_name(place)}/{session_id}"


def work_place(workdir: Path | None, manifest_directory: Path) -> WorkPlace:
    """The work folder's place, links resolved: one folder has one records group.

    Nothing is checked yet: see `check_workdir`.
    """
    if workdir is None:
        return WorkPlace(root=(manifest_directory / "workdir").resolve(), given=None)
    resolved = workdir.resolve()
    return WorkPlace(root=resolved, given=resolved)


def check_workdir(place: WorkPlace) -> None:
    """Raises E-IO-003 when `--workdir` names no directory. spec/diagnostics.md 6.3 row 22."""
    if place.given is None or os.path.isdir(place.given):
        return
    found = "it is not a directory" if os.path.lexists(place.given) else "it does not exist"
    raise error(
        "E-IO-003",
        what=f"--workdir {place.given}",
        reason=found,
        hint="create the folder first, or leave --workdir out to get a fresh one",
    )


def create_directories(home: Home, place: WorkPlace, session_id: str) -> Directories:
    """Makes the session's directories with their modes and takes the runtime directory's lock.

    Raises E-IO-003 naming the directory that could not be made; those made before are gone then.
    """
    try:
        with open_root(home.root) as murmur, ExitStack() as undo:
            made = _create(murmur, home, place, session_id, undo)
            undo.pop_all()
    except OSError as failure:
        raise error(
            "E-IO-003",
            what=f"the directories of session {session_id}",
            reason=f"{failure.strerror}: {failure.filename}",
            hint="check the owner and mode of the folder named",
        ) from failure
    return made


def _create(
    murmur: Root, home: Home, place: WorkPlace, session_id: str, undo: ExitStack
) -> Directories:
    """The work folder first: it is the one that may well be refused."""
    work = place.work_folder(session_id)
    if place.given is None:
        if not os.path.lexists(work.parent):
            undo.callback(_remove_empty, work.parent)
        os.makedirs(work)
        undo.callback(_remove_empty, work)
    work_root = undo.enter_context(open_root(work))
    name = records_name(place, session_id)
    undo.callback(_remove_below, murmur, name)
    with _naming(home.root / name):
        records = undo.enter_context(murmur.sub(name, create=True, mode=0o700))
    for part in _RECORD_PARTS:
        records.make_directory(part, 0o700)
    undo.callback(_remove_below, murmur, f"sessions/{session_id}")
    with _naming(home.sessions / session_id):
        runtime, lock = _make_runtime(murmur, session_id)
    undo.enter_context(runtime)
    undo.enter_context(lock)
    runtime.sub("runtime/tools", create=True, mode=0o755).close()
    return Directories(
        work=work,
        runtime=home.sessions / session_id,
        records=home.root / name,
        work_root=work_root,
        runtime_root=runtime,
        records_root=records,
        runtime_lock=lock,
    )


@contextlib.contextmanager
def _naming(folder: Path) -> Iterator[None]:
    """A failure within names the whole path, not the one segment that was being made."""
    try:
        yield
    except OSError as failure:
        if failure.filename is None or os.path.isabs(failure.filename):
            raise
        raise OSError(failure.errno, failure.strerror, str(folder)) from failure


def _make_runtime(murmur: Root, session_id: str) -> tuple[Root, FileIO]:
    """The runtime directory with its held `.lock`, which stands as long as this process lives.

    It gets its name only once its lock is held: under it, a directory without a lock that anybody
    holds belongs to a dead session, and another launch's sweep would take it away.
    """
    unnamed = f".new-{session_id}"
    with murmur.sub("sessions", create=True, mode=0o700) as sessions, ExitStack() as undo:
        undo.callback(_remove_below, sessions, unnamed)
        runtime = undo.enter_context(sessions.sub(unnamed, create=True, mode=0o700))
        descriptor = runtime.open_file(".lock", os.O_RDWR | os.O_CREAT)
        lock = undo.enter_context(FileIO(descriptor, "r+"))
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.rename(unnamed, session_id, src_dir_fd=sessions.fileno(), dst_dir_fd=sessions.fileno())
        undo.pop_all()
    return runtime, lock


def _remove_below(root: Root, name: str) -> None:
    with contextlib.suppress(OSError):
        root.remove_tree(name)


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()


def abandon(home: Home, place: WorkPlace, session_id: str, directories: Directories) -> None:
    """Takes away what `create_directories` made, for a session that never began.

    A work folder that holds something by now is left.
    """
    remove_runtime_directory(home, session_id, directories)
    directories.records_root.close()
    directories.work_root.close()
    with contextlib.suppress(OSError), open_root(home.root) as murmur:
        murmur.remove_tree(records_name(place, session_id))
    if place.given is None:
        _remove_empty(directories.work)


def sweep_dead_sessions(home: Home) -> None:
    """Removes runtime directories whose lock nobody holds: their sessions died unannounced.

    Anything that cannot be removed without following a link is left alone. spec/sessions.md 2.2.
    """
    try:
        sessions = open_root(home.sessions)
    except OSError:
        return
    with sessions:
        for name in sessions.list():
            if name.startswith("ses_"):
                _sweep_one(sessions, name)
            elif name.startswith(".new-ses_") and _is_old(name.removeprefix(".new-")):
                _remove_below(sessions, name)


def _is_old(session_id: str) -> bool:
    """Whether a session that has no name yet was begun so long ago that it never will."""
    try:
        return time.time() * 1000 - id_time_ms(session_id) > _STALE_MS
    except ValueError:
        return False


def _sweep_one(sessions: Root, name: str) -> None:
    try:
        descriptor = sessions.open_file(f"{name}/.lock", os.O_RDWR)
    except OSError:
        # No lock yet: a session that is just being made, or a stray folder. Neither is ours.
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        sessions.remove_tree(name)
    except OSError:
        return
    finally:
        os.close(descriptor)


def remove_runtime_directory(home: Home, session_id: str, directories: Directories) -> None:
    """Removes the runtime directory at the session's end and lets go of its lock.

    Doing it again does nothing. One that cannot be removed is left for the next launch's sweep.
    """
    if directories.runtime_lock.closed:
        return
    directories.runtime_root.close()
    with contextlib.suppress(OSError), open_root(home.sessions) as sessions:
        sessions.remove_tree(session_id)
    directories.runtime_lock.close()
