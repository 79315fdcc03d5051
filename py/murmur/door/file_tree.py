"""Every regular file below an exported folder, for its listing. spec/door.md 17."""

import errno
import hashlib
import os
import stat
import threading
from typing import Any, Final

from murmur.core.safefs import Root

_CHUNK: Final = 1 << 20


def list_tree(root: Root, stopped: threading.Event) -> list[dict[str, Any]]:
    """Every regular file below `root`, which is closed: path, size, mtime and hash from one open.

    No link is followed or listed, and what goes away meanwhile is left out. Raises OSError.
    """
    entries: list[dict[str, Any]] = []
    with root:
        folders = [""]
        while folders:
            folder = folders.pop()
            for name in _names(root, folder):
                if stopped.is_set():
                    raise OSError(errno.ECANCELED, "the session is ending")
                path = f"{folder}/{name}" if folder else name
                status = _status(root, path)
                if status is None:
                    continue
                if stat.S_ISDIR(status.st_mode):
                    folders.append(path)
                elif stat.S_ISREG(status.st_mode):
                    entry = _entry(root, path)
                    if entry is not None:
                        entries.append(entry)
    return sorted(entries, key=lambda entry: str(entry["path"]))


def _names(root: Root, folder: str) -> list[str]:
    try:
        return root.list(folder)
    except OSError:
        if not folder:
            raise
        return []


def _status(root: Root, path: str) -> os.stat_result | None:
    try:
        return root.status(path)
    except OSError:
        return None


def _entry(root: Root, path: str) -> dict[str, Any] | None:
    try:
        descriptor = root.open_file(path, os.O_RDONLY)
    except OSError:
        return None
    digest = hashlib.sha256()
    size = 0
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        status = os.fstat(descriptor)
        while piece := file.read(_CHUNK):
            digest.update(piece)
            size += len(piece)
    return {
        "path": path,
        "size_bytes": size,
        "mtime_ms": status.st_mtime_ns // 1_000_000,
        "sha256": digest.hexdigest(),
    }
