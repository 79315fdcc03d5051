"""The running record of a session: `~/.murmur/running/<session id>.json`.

CLI reference, *Running-capsule records*; spec/sessions.md 21. The record carries nothing from the
environment.
"""

import contextlib
import dataclasses
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from murmur.core.home import Home
from murmur.core.ids import is_id
from murmur.core.safefs import Root, open_root
from murmur.running.processes import process_start

LARGEST_RECORD: Final = 1 << 20

_URL: Final = re.compile(r"[A-Za-z0-9_.:\[\]-]+:[0-9]{1,5}")
_MEMBER: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_LARGEST_PID: Final = 1 << 22


@dataclasses.dataclass(frozen=True, slots=True)
class Launcher:
    """The process that launched a formation."""

    pid: int
    process_start: str


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """What one running session says of itself. `url` is `host:port`, None for a script capsule.

    The tokens are None on a public door; no text made of a record quotes one.
    """

    session_id: str
    url: str | None
    pid: int
    process_start: str
    capsule_name: str
    capsule_version: str
    workdir: str
    records_dir: str
    outlives_launcher: bool
    started_at: str
    formation_id: str | None = None
    formation_member: str | None = None
    formation_entry: bool = False
    formation_lifeline: bool = False
    formation_launcher: Launcher | None = None
    spawned_by: str | None = None
    door_token: str | None = dataclasses.field(default=None, repr=False)
    credentials: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)

    @property
    def capsule(self) -> str:
        return f"{self.capsule_name}@{self.capsule_version}"


class OlderRecord(Exception):
    """A record that an older mur wrote: it is not ours to read, verify, signal or remove."""


class Unreadable(Exception):
    """A file that is no record."""


def parse_record(data: bytes, name: str) -> Record:
    """The record in `data`, the content of the file `name`. Raises OlderRecord or Unreadable."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise Unreadable(name) from None
    if not isinstance(value, dict) or not isinstance(value.get("session_id"), str):
        raise Unreadable(name)
    if "records_dir" not in value:
        raise OlderRecord(name)
    try:
        record = _record(value)
    except (KeyError, TypeError, ValueError):
        raise Unreadable(name) from None
    if name != f"{record.session_id}.json":
        raise Unreadable(name)
    return record


def _record(value: Mapping[str, Any]) -> Record:
    """Raises KeyError, TypeError or ValueError for a key that is missing or holds the wrong."""
    session_id = _text(value, "session_id")
    url = value["url"]
    if not is_id(session_id, "ses"):
        raise ValueError("session_id")
    if url is not None and not (isinstance(url, str) and _URL.fullmatch(url)):
        raise ValueError("url")
    formation_id = _optional_text(value, "formation_id")
    if formation_id is not None and not is_id(formation_id, "frm"):
        raise ValueError("formation_id")
    member = _optional_text(value, "formation_member")
    if member is not None and not _MEMBER.fullmatch(member):
        raise ValueError("formation_member")
    return Record(
        session_id=session_id,
        url=url,
        pid=_pid(value["pid"]),
        process_start=_text(value, "process_start"),
        capsule_name=_text(value, "capsule_name"),
        capsule_version=_text(value, "capsule_version"),
        workdir=_text(value, "workdir"),
        records_dir=_text(value, "records_dir"),
        outlives_launcher=_flag(value["outlives_launcher"]),
        started_at=_text(value, "started_at"),
        formation_id=formation_id,
        formation_member=member,
        formation_entry=_flag(value.get("formation_entry", False)),
        formation_lifeline=_flag(value.get("formation_lifeline", False)),
        formation_launcher=_launcher(value.get("formation_launcher")),
        spawned_by=_optional_text(value, "spawned_by"),
        door_token=_optional_text(value, "door_token"),
        credentials=_credentials(value.get("credentials", {})),
    )


def _text(value: Mapping[str, Any], key: str) -> str:
    text = value[key]
    if not isinstance(text, str):
        raise TypeError(key)
    return text


def _optional_text(value: Mapping[str, Any], key: str) -> str | None:
    return None if key not in value else _text(value, key)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("no flag")
    return value


def _pid(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("no process id")
    # 0, and what is below, would name process groups to kill(2).
    if not 0 < value <= _LARGEST_PID:
        raise ValueError("no process id")
    return value


def _launcher(value: object) -> Launcher | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise TypeError("formation_launcher")
    return Launcher(_pid(value["pid"]), _text(value, "process_start"))


def _credentials(value: object) -> Mapping[str, str]:
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise TypeError("credentials")
    return value


def has_terminal() -> bool:
    """Whether this process has a controlling terminal, whatever its streams are."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def compact(record: Mapping[str, object]) -> str:
    """Compact JSON; a path that is no UTF-8 keeps its bytes as escapes of lone surrogates."""
    text = json.dumps(record, separators=(",", ":"), ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(record, separators=(",", ":"))
    return text


def own_record(
    *,
    session_id: str,
    url: str | None,
    capsule_name: str,
    capsule_version: str,
    workdir: Path,
    records_dir: Path,
    started_at: str,
    door_token: str | None = None,
    credentials: Mapping[str, str] | None = None,
) -> Record:
    """The record of a session that this process runs. Raises OSError."""
    pid = os.getpid()
    return Record(
        session_id=session_id,
        url=url,
        pid=pid,
        process_start=process_start(pid),
        capsule_name=capsule_name,
        capsule_version=capsule_version,
        workdir=str(workdir),
        records_dir=str(records_dir),
        outlives_launcher=not has_terminal(),
        started_at=started_at,
        door_token=door_token,
        credentials=credentials or {},
    )


# Written only where they apply, so that a session on its own carries none of them.
_WHEN_IT_APPLIES: Final = (
    "formation_id",
    "formation_member",
    "formation_entry",
    "formation_lifeline",
    "formation_launcher",
    "spawned_by",
    "door_token",
    "credentials",
)


def _as_written(record: Record) -> dict[str, object]:
    written = dataclasses.asdict(record)
    return {key: value for key, value in written.items() if value or key not in _WHEN_IT_APPLIES}


def write_record(home: Home, record: Record) -> None:
    """Writes the record by rename, re-applying the modes. Raises OSError."""
    with _held_directory(home) as running:
        data = compact(_as_written(record)).encode()
        running.write_atomic(f"{record.session_id}.json", data, 0o600)


@contextlib.contextmanager
def _held_directory(home: Home) -> Iterator[Root]:
    with open_root(home.root) as murmur, murmur.sub("running", create=True) as running:
        os.fchmod(running.fileno(), 0o700)
        yield running


def write_control_token(home: Home, session_id: str, token: str) -> None:
    """Writes `running/<session id>.control`, before the record. Raises OSError."""
    with _held_directory(home) as running:
        running.write_atomic(f"{session_id}.control", token.encode("ascii"), 0o600)


def read_control_token(home: Home, session_id: str) -> str | None:
    """The control token beside a session's record; None for a session that has none.

    Raises OSError for a file that cannot be read.
    """
    try:
        with open_root(home.running) as running:
            return running.read_bytes(f"{session_id}.control", LARGEST_RECORD).decode("ascii")
    except (FileNotFoundError, UnicodeDecodeError):
        return None


def remove_record(home: Home, session_id: str) -> None:
    """Removes the record and the control token; one that is gone, or stays, ends nothing.

    What stays behind names a process that is gone, and is removed by whoever reads it.
    """
    with contextlib.suppress(OSError), open_root(home.running) as running:
        remove_files(running, session_id)


def remove_files(running: Root, session_id: str) -> None:
    """Unlinks both files of a session in the open directory; one that cannot go is left."""
    for name in (f"{session_id}.json", f"{session_id}.control"):
        with contextlib.suppress(OSError):
            running.unlink(name)
