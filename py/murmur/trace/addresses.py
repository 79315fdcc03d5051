"""Addresses of recorded sessions, looked up in the records group of one workdir root.

The group holds one `ses_*` records directory a session, running or not; ids sort by the moment
they were made, so `@N` needs no clock. CLI reference, *Session addresses*.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from murmur.core.addresses import BadAddress, Literal, choose, parse_address
from murmur.core.diagnostics import error
from murmur.core.home import Home
from murmur.core.ids import is_id
from murmur.trace.writer import TRACE_FILE


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded session. `literal` is the file of an address that was a path, taken verbatim."""

    records: Path
    literal: Path | None = None

    @property
    def session_id(self) -> str | None:
        """The id that its directory is named by; None for a copy under another name."""
        return self.records.name if is_id(self.records.name, "ses") else None

    def file(self, name: str = TRACE_FILE) -> Path:
        """The file `name` of the session, or the one that the address named itself."""
        return self.literal if self.literal is not None else self.records / name


def recorded_sessions(group: Path) -> tuple[str, ...]:
    """The session ids of a records group, newest first; none when there is no such group.

    A link or a file where a records directory belongs is no session. Raises E-IO-003 for a group
    that cannot be read.
    """
    try:
        with os.scandir(group) as entries:
            names = [each.name for each in entries if _is_session(each)]
    except FileNotFoundError:
        return ()
    except OSError as failure:
        reason = failure.strerror or str(failure)
        raise error("E-IO-003", what=str(group), reason=reason, hint="") from None
    return tuple(sorted(names, reverse=True))


def _is_session(entry: os.DirEntry[str]) -> bool:
    return is_id(entry.name, "ses") and entry.is_dir(follow_symlinks=False)


def need_group(addresses: Sequence[str]) -> bool:
    """Whether any of the addresses is looked up in a records group, as all but paths are.

    One that is no address counts as looked up: finding it refuses it.
    """
    try:
        return not all(isinstance(parse_address(each), Literal) for each in addresses)
    except BadAddress:
        return True


def find_recorded(
    address: str, home: Home | None, root: Path, *, code: str = "E-TRC-002"
) -> Recorded:
    """The recorded session that `address` names among those of the workdir root `root`.

    `home` may be None for a path, which reads no group. Raises `code` (E-TRC-002 under `mur run`
    and `mur trace`, E-EVAL-002 under `mur eval`) for an address that names none or several, and
    E-IO-003 for a group that cannot be read.
    """
    return find_all_recorded((address,), home, root, code=code)[0]


def find_all_recorded(
    addresses: Sequence[str], home: Home | None, root: Path, *, code: str = "E-TRC-002"
) -> tuple[Recorded, ...]:
    """As `find_recorded`, for several addresses and one look at the group."""
    try:
        parsed = [parse_address(address) for address in addresses]
        if all(isinstance(each, Literal) for each in parsed):
            newest_first: tuple[str, ...] = ()
            group = Path()
        else:
            assert home is not None
            group = home.records_group(root)
            newest_first = recorded_sessions(group)
        return tuple(
            Recorded(each.path.parent, each.path)
            if isinstance(each, Literal)
            else Recorded(group / choose(each, newest_first, f"{root} ({group})"))
            for each in parsed
        )
    except BadAddress as bad:
        raise error(code, address=bad.address, reason=bad.reason) from None
