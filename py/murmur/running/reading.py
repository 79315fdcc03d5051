"""Reading every running record of this machine, and removing what is stale.

CLI reference, *A record is a hint*: a record goes only on evidence that its process is gone. Layer
3, whether the door answers, is asked by `murmur.door.client` where a command needs it.
"""

import contextlib
import dataclasses
import errno
import os
import stat
import time
from typing import Final

from murmur.core.diagnostics import MurmurError, error
from murmur.core.home import Home
from murmur.core.safefs import Root, TooLarge, UnsafePath, open_root
from murmur.running.processes import Standing, standing
from murmur.running.record import (
    LARGEST_RECORD,
    OlderRecord,
    Record,
    Unreadable,
    parse_record,
    remove_files,
)

# A file that a launch is about to rename, or whose record it is about to write, is left this long.
_FRESH_SECONDS: Final = 60.0

# The machine, not the file, is at fault: nothing is known of the record then.
_TRANSIENT: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO})


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """A record, and what is known of its process."""

    record: Record
    standing: Standing

    @property
    def gone(self) -> bool:
        return self.standing in (Standing.GONE, Standing.REUSED)

    @property
    def reason(self) -> str:
        """Why a record whose process is gone is removed."""
        pid = self.record.pid
        if self.standing is Standing.REUSED:
            return f"pid {pid} is held by a process that started at another time"
        return f"no process holds pid {pid}"


@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    """One look at the directory. `older` and `unreadable` are paths.

    `found` comes newest session first, whatever became of the processes.
    """

    found: tuple[Found, ...] = ()
    older: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()

    @property
    def alive(self) -> tuple[Found, ...]:
        """Those whose process is not known to be gone."""
        return tuple(each for each in self.found if not each.gone)

    @property
    def gone(self) -> tuple[Found, ...]:
        return tuple(each for each in self.found if each.gone)


def read_running(home: Home, *, sweep: bool) -> Reading:
    """Every record, verified up to layer 2. With `sweep`, stale and unreadable files are removed.

    A directory that is not there holds no records. Raises E-RUN-028, with nothing removed, when it
    cannot be read.
    """
    try:
        with open_root(home.running) as running:
            reading = _read(home, running)
            if sweep:
                _sweep(running, reading)
            return reading
    except FileNotFoundError:
        return Reading()
    except OSError as failure:
        raise unreadable_directory(home, failure) from None


def unreadable_directory(home: Home, failure: OSError) -> MurmurError:
    """E-RUN-028."""
    reason = failure.strerror or str(failure)
    return error("E-RUN-028", path=home.running, reason=reason)


def _read(home: Home, running: Root) -> Reading:
    found: list[Found] = []
    older: list[str] = []
    unreadable: list[str] = []
    names = running.list()
    for name in names:
        path = str(home.running / name)
        if _left_alone(running, name, names):
            continue
        try:
            record = parse_record(running.read_bytes(name, LARGEST_RECORD), name)
        except OlderRecord:
            older.append(path)
        except (Unreadable, UnsafePath, TooLarge):
            unreadable.append(path)
        except FileNotFoundError:
            continue  # Its session has just ended.
        except OSError as failure:
            if failure.errno in _TRANSIENT:
                raise
            unreadable.append(path)
        else:
            found.append(Found(record, standing(record.pid, record.process_start)))
    found.sort(key=lambda each: each.record.session_id, reverse=True)
    return Reading(tuple(found), tuple(older), tuple(unreadable))


def _left_alone(running: Root, name: str, names: list[str]) -> bool:
    """What is no candidate: a control token beside its record, a fresh file of a launch, a
    directory."""
    status = running.status(name)
    if status is None or stat.S_ISDIR(status.st_mode):
        return True
    fresh = time.time() - status.st_mtime < _FRESH_SECONDS
    if name.endswith(".control"):
        return name.removesuffix(".control") + ".json" in names or fresh
    return name.startswith(".") and name.endswith(".tmp") and fresh


def _sweep(running: Root, reading: Reading) -> None:
    for each in reading.gone:
        remove_files(running, each.record.session_id)
    for path in reading.unreadable:
        with contextlib.suppress(OSError):
            running.unlink(os.path.basename(path))
