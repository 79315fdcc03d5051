"""The directories of one session: work folder, runtime directory, records directory.

spec/sessions.md 2. The work folder and the records directory are reachable by the capsule's
commands, so after creation all three are used through the held roots alone.
"""

import dataclasses
import fcntl
import os
from pathlib import Path
from typing import Final

from murmur.core.diagnostics import error
from murmur.core.home import Home
from murmur.core.safefs import Root, UnsafePath, open_root

_RECORD_PARTS: Final = ("logs", "out", "tmp", "home")


@dataclasses.dataclass(frozen=True, slots=True)
class Directories:
    """Paths for reports, held roots for every access."""

    work: Path
    runtime: Path
    records: Path
    work_root: Root
    runtime_root: Root
    records_root: Root
    runtime_lock: int

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


def planned_place(workdir: Path | None, manifest_directory: Path) -> WorkPlace:
    """The place that `work_place` would decide on; the folder need not be there yet."""
    if workdir is None:
        return work_place(None, manifest_directory)
    resolved = workdir.resolve()
    return WorkPlace(root=resolved, given=resolved)


def holds_home(place: WorkPlace, home: Home) -> bool:
    """Whether `~/.murmur` lies in the workdir, where commands could change it (W-SEC-033)."""
    return home.root.resolve().is_relative_to(place.root.resolve())


def records_name(place: WorkPlace, session_id: str) -> str:
    """The records directory of a session, relative to `~/.murmur`."""
    return "/".join(["records", *place.root.parts[1:], session_id])


def work_place(workdir: Path | None, manifest_directory: Path) -> WorkPlace:
    """Reads `--workdir`. Raises E-IO-003 when it is not an existing directory."""
    if workdir is None:
        root = Path(os.path.abspath(manifest_directory)) / "workdir"
        return WorkPlace(root=root, given=None)
    if not workdir.is_dir():
        found = "it is not a directory" if workdir.exists() else "it does not exist"
        raise error(
            "E-IO-003",
            what=f"--workdir {workdir}",
            reason=found,
            hint="create the folder first, or leave --workdir out to get a fresh one",
        )
    resolved = workdir.resolve()
    return WorkPlace(root=resolved, given=resolved)


def create_directories(home: Home, place: WorkPlace, session_id: str) -> Directories:
    """Makes the session's directories with their modes and takes the runtime directory's lock.

    Raises E-IO-003 naming the directory that could not be made.
    """
    try:
        with open_root(home.root) as murmur:
            records = murmur.sub(records_name(place, session_id), create=True, mode=0o700)
            for part in _RECORD_PARTS:
                records.make_directory(part, 0o700)
            runtime = murmur.sub(f"sessions/{session_id}", create=True, mode=0o700)
        lock = _hold_lock(runtime)
        runtime.sub("runtime/tools", create=True, mode=0o755).close()
        work = place.work_folder(session_id)
        if place.given is None:
            os.makedirs(work)
        return Directories(
            work=work,
            runtime=home.sessions / session_id,
            records=home.root / records_name(place, session_id),
            work_root=open_root(work),
            runtime_root=runtime,
            records_root=records,
            runtime_lock=lock,
        )
    except (OSError, UnsafePath) as failure:
        raise error(
            "E-IO-003",
            what=f"the directories of session {session_id}",
            reason=f"{failure.strerror}: {failure.filename}",
            hint="check the owner and mode of the folder named",
        ) from failure


def _hold_lock(runtime: Root) -> int:
    """The runtime directory's `.lock`, held as long as this process lives."""
    descriptor = runtime.open_file(".lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor


def sweep_dead_sessions(home: Home) -> None:
    """Removes runtime directories whose lock nobody holds: their sessions died unannounced.

    Anything that cannot be removed without following a link is left alone. spec/sessions.md 2.2.
    """
    try:
        sessions = open_root(home.sessions)
    except FileNotFoundError:
        return
    with sessions:
        for name in sessions.list():
            if name.startswith("ses_"):
                _sweep_one(sessions, name)


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
    """Removes the runtime directory at the session's end and lets go of its lock."""
    directories.runtime_root.close()
    with open_root(home.sessions) as sessions:
        try:
            sessions.remove_tree(session_id)
        except FileNotFoundError:
            pass
    os.close(directories.runtime_lock)
