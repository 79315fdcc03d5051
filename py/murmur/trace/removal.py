"""Removing what is kept of one ended session. CLI reference, *mur trace rm*.

No link is followed on the way: both trees are entered through held descriptors, the work folder
from the current directory and the records from `~/.murmur`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from murmur.core.addresses import BadAddress, Literal, parse_address
from murmur.core.diagnostics import MurmurError, error
from murmur.core.home import Home
from murmur.core.ids import is_id
from murmur.core.safefs import UnsafePath, open_root
from murmur.trace.addresses import find_recorded

OWN_WORKDIR: Final = "workdir"


@dataclass(frozen=True, slots=True)
class Removed:
    """What went, as absolute paths; None for what there was none of."""

    session_id: str
    records_dir: Path | None
    session_dir: Path | None
    running_record: Path | None = None

    def as_json(self) -> dict[str, Any]:
        """The object of `--json`."""
        return {
            "session_id": self.session_id,
            "records_dir": _text(self.records_dir),
            "session_dir": _text(self.session_dir),
            "running_record": _text(self.running_record),
        }


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


@dataclass(frozen=True, slots=True)
class Doomed:
    """The session that an address names, and the directories of it that stand."""

    session_id: str
    records: Path | None
    work_folder: Path | None


def find_doomed(address: str, home: Home, root: Path, cwd: Path, *, named_root: bool) -> Doomed:
    """The session to remove. `named_root` says that `--workdir` was passed: its folder stays.

    A full id counts while only the work folder is left. Raises E-TRC-002 for a path and for an
    address that names no session of this root.
    """
    if isinstance(_parsed(address), Literal):
        reason = "a path is not taken here: use @N, a full id, or a suffix of 4 or more characters"
        raise error("E-TRC-002", address=address, reason=reason)
    folder = cwd / OWN_WORKDIR
    if is_id(address, "ses"):
        records: Path | None = home.records_group(root) / address
        records = records if records is not None and _stands(records) else None
        session = address
        if records is None and (named_root or not _stands(folder / session)):
            find_recorded(address, home, root)  # refuses with the places looked at
    else:
        records = find_recorded(address, home, root).records
        session = records.name
    work = folder / session
    return Doomed(session, records, None if named_root or not _stands(work) else work)


def _parsed(address: str) -> object:
    try:
        return parse_address(address)
    except BadAddress as bad:
        raise error("E-TRC-002", address=bad.address, reason=bad.reason) from None


def _stands(path: Path) -> bool:
    """Whether anything at all is at `path`, a dangling link included."""
    return path.exists() or path.is_symlink()


def remove(doomed: Doomed, home: Home, cwd: Path, running: Callable[[], Path | None]) -> Removed:
    """Removes the work folder, the records and, by `running`, the stale running record, in order.

    Raises E-RUN-050 for a link or the wrong kind of file on the way, E-IO-003 for any other
    failure; what was not reached then stays, and the session is listed still.
    """
    if doomed.work_folder is not None:
        _remove_tree(cwd, f"{OWN_WORKDIR}/{doomed.session_id}", doomed.work_folder)
    if doomed.records is not None:
        below = doomed.records.relative_to(home.root)
        _remove_tree(home.root, below.as_posix(), doomed.records)
    return Removed(doomed.session_id, doomed.records, doomed.work_folder, running())


def _remove_tree(root: Path, relative: str, shown: Path) -> None:
    try:
        with open_root(root) as directory:
            directory.remove_tree(relative)
    except UnsafePath as unsafe:
        raise error("E-RUN-050", path=f"{shown} ({unsafe.reason})") from None
    except FileNotFoundError:
        return
    except OSError as failure:
        raise _failed(shown, failure) from None


def _failed(shown: Path, failure: OSError) -> MurmurError:
    return error(
        "E-IO-003",
        what=f"{shown} cannot be removed",
        reason=failure.strerror or str(failure),
        hint="what is left is listed still; run the command again once that is mended",
    )
