"""The machine's spend ledger: what every run with a daily ceiling used, one file a UTC day.

`~/.murmur/spend/<YYYY-MM-DD>.jsonl`, spec/sessions.md 20 and spec/registry.md 21. Nothing is
locked: a line is one append of one call, which no other append can fall into, and a process that
hangs can hold nobody up. What a crash or a full disk left of a line is no line: the next append
begins one of its own, and a reader skips it.
"""

import datetime
import json
import os
import re
import threading
from pathlib import Path
from typing import Final, Self

from murmur.core.diagnostics import MurmurError, error
from murmur.core.home import Home
from murmur.core.safefs import Root, open_root

KEPT_DAYS: Final = 30
_DAY_FILE: Final = re.compile(r"(\d{4}-\d\d-\d\d)\.jsonl", re.ASCII)
_CHUNK: Final = 1 << 20


class SpendLedger:
    """The ledger's directory, held open. Safe to use from any thread."""

    def __init__(self, folder: Root) -> None:
        """Takes over `folder`."""
        self._folder = folder
        self._lock = threading.Lock()
        self._name = ""
        self._inode = 0
        self._read = 0
        self._total = 0

    def used(self, now_ms: int) -> int:
        """Tokens of the UTC day that `now_ms` falls into, over all runs. Raises OSError.

        Only what was added since the last question is read.
        """
        with self._lock:
            name = day_file(now_ms)
            try:
                descriptor = self._folder.open_file(name, os.O_RDONLY)
            except FileNotFoundError:
                self._begin(name, 0)
                return 0
            try:
                status = os.fstat(descriptor)
                if (name, status.st_ino) != (
                    self._name,
                    self._inode,
                ) or status.st_size < self._read:
                    self._begin(name, status.st_ino)
                self._take_in(descriptor)
            finally:
                os.close(descriptor)
            return self._total

    def charge(self, now_ms: int, session_id: str, input_tokens: int, output_tokens: int) -> None:
        """Adds one settled call. Raises OSError: the call is not counted then."""
        row = {
            "ts": now_ms,
            "session_id": session_id,
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
        }
        line = json.dumps(row, separators=(",", ":")).encode() + b"\n"
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        descriptor = self._folder.open_file(day_file(now_ms), flags)
        try:
            if _torn(descriptor):
                line = b"\n" + line
            if os.write(descriptor, line) != len(line):
                raise OSError("the disk took a part of the line only")
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Lets go of the directory; doing it again does nothing."""
        self._folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self, name: str, inode: int) -> None:
        self._name, self._inode, self._read, self._total = name, inode, 0, 0

    def _take_in(self, descriptor: int) -> None:
        """Adds up the complete lines behind what was read before."""
        rest = b""
        while piece := os.pread(descriptor, _CHUNK, self._read + len(rest)):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                self._total += _tokens(line)
                self._read += len(line) + 1


def open_ledger(home: Home, now_ms: int) -> SpendLedger:
    """Opens today's ledger, made where it is missing, and removes days older than `KEPT_DAYS`.

    Raises E-RUN-026 naming the directory or the file that cannot be used.
    """
    name = day_file(now_ms)
    path = home.spend
    try:
        with open_root(home.root) as murmur:
            folder = murmur.sub("spend", create=True, mode=0o700)
        try:
            os.fchmod(folder.fileno(), 0o700)
            _remove_old(folder, now_ms)
            path = home.spend / name
            os.close(folder.open_file(name, os.O_RDWR | os.O_CREAT | os.O_APPEND))
        except OSError:
            folder.close()
            raise
    except OSError as failure:
        raise _unusable(path, failure) from None
    return SpendLedger(folder)


def check_ledger(home: Home, now_ms: int) -> None:
    """Raises E-RUN-026 where what `open_ledger` would find cannot be used; makes nothing."""
    name = day_file(now_ms)
    path = home.spend
    try:
        with open_root(home.root) as murmur, murmur.sub("spend") as folder:
            path = home.spend / name
            os.close(folder.open_file(name, os.O_RDWR | os.O_APPEND))
    except FileNotFoundError:
        return
    except OSError as failure:
        raise _unusable(path, failure) from None


def _unusable(path: Path, failure: OSError) -> MurmurError:
    return error("E-RUN-026", path=path, reason=failure.strerror or failure)


def day_file(now_ms: int) -> str:
    """The file of the UTC day that a Unix time in milliseconds falls into."""
    return f"{_day(now_ms).isoformat()}.jsonl"


def _day(now_ms: int) -> datetime.date:
    return datetime.datetime.fromtimestamp(now_ms / 1000, datetime.UTC).date()


def _remove_old(folder: Root, now_ms: int) -> None:
    """Removes day files alone, and only old ones: whatever else lies there is somebody's."""
    oldest = _day(now_ms) - datetime.timedelta(days=KEPT_DAYS)
    for name in folder.list():
        match = _DAY_FILE.fullmatch(name)
        if match is None:
            continue
        try:
            day = datetime.date.fromisoformat(match[1])
        except ValueError:
            continue
        if day < oldest:
            try:
                folder.unlink(name)
            except FileNotFoundError:
                pass  # Another run did it.


def _torn(descriptor: int) -> bool:
    """Whether the file ends within a line."""
    size = os.fstat(descriptor).st_size
    return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"


def _tokens(line: bytes) -> int:
    """What a line charges; nothing for one that is no ledger line."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return 0
    if not isinstance(row, dict):
        return 0
    counts = [row.get("input_tokens"), row.get("output_tokens")]
    return sum(n for n in counts if isinstance(n, int) and not isinstance(n, bool) and n > 0)
