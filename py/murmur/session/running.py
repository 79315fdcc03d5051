"""The running record of a session: `~/.murmur/running/<session id>.json`.

CLI reference, *Running-capsule records*; spec/sessions.md 21. The record carries nothing from the
environment.
"""

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from murmur.core.home import Home
from murmur.core.safefs import open_root


def process_start(pid: int) -> str:
    """The start time of a process as an opaque string (field 22 of /proc/<pid>/stat)."""
    text = Path(f"/proc/{pid}/stat").read_text()
    return text.rpartition(")")[2].split()[19]


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


def write_record(
    home: Home,
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
) -> None:
    """Writes the record by rename, re-applying the modes. Raises OSError."""
    pid = os.getpid()
    record: dict[str, object] = {
        "session_id": session_id,
        "url": url,
        "pid": pid,
        "process_start": process_start(pid),
        "capsule_name": capsule_name,
        "capsule_version": capsule_version,
        "workdir": str(workdir),
        "records_dir": str(records_dir),
        "outlives_launcher": not has_terminal(),
        "started_at": started_at,
    }
    if door_token is not None:
        record["door_token"] = door_token
        if credentials:
            record["credentials"] = dict(credentials)
    data = compact(record).encode()
    with open_root(home.root) as murmur, murmur.sub("running", create=True) as running:
        os.fchmod(running.fileno(), 0o700)
        running.write_atomic(f"{session_id}.json", data, 0o600)


def remove_record(home: Home, session_id: str) -> None:
    """Removes the record; one that is gone, or cannot be removed, ends nothing.

    What stays behind names a process that is gone, and is removed by whoever reads it.
    """
    with contextlib.suppress(OSError), open_root(home.running) as running:
        running.unlink(f"{session_id}.json")
