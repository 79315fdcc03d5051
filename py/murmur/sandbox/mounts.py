"""Other ways to a folder: mount points of the same file system that show it a second time."""

import dataclasses
import os
import re
from collections.abc import Iterable


@dataclasses.dataclass(frozen=True, slots=True)
class Mount:
    """One line of /proc/self/mountinfo: device `major:minor`, the part shown, and where."""

    device: str
    root: str
    point: str


def read_mounts(text: str) -> list[Mount]:
    """The mounts in the text of a mountinfo file, in its order."""
    found = []
    for line in text.splitlines():
        fields = line.split(" ")
        if len(fields) > 5:
            found.append(Mount(fields[2], _plain(fields[3]), _plain(fields[4])))
    return found


def _plain(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)


def aliases(paths: Iterable[str], text: str | None = None) -> tuple[str, ...]:
    """Mount points, other than the paths' own ways, through which one of the folders is visible.

    A mount option holds for one mount: a work folder that is noexec under its own path would still
    be executable through such a second way, for Landlock's rule follows the folder itself.
    """
    if text is None:
        try:
            with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
                text = file.read()
        except OSError:
            return ()
    table = read_mounts(text)
    found: set[str] = set()
    for path in paths:
        own = _covering(table, path)
        if own is None:
            continue
        inner = _join(own.root, os.path.relpath(path, own.point))
        for mount in table:
            if mount.device != own.device or mount.point == own.point:
                continue
            shown = _below(inner, mount.root)
            if shown is not None:
                found.add(_join(mount.point, shown))
            elif _below(mount.root, inner) is not None and _below(mount.point, path) is None:
                found.add(mount.point)
    return tuple(sorted(each for each in found if os.path.isdir(each)))


def _covering(table: list[Mount], path: str) -> Mount | None:
    """The mount that the path lies on: the deepest mount point, the last mounted of equals."""
    best: Mount | None = None
    for mount in table:
        if _below(path, mount.point) is not None and (
            best is None or len(mount.point) >= len(best.point)
        ):
            best = mount
    return best


def _below(path: str, root: str) -> str | None:
    """`path` relative to `root`, or None when it is not there."""
    if path == root:
        return "."
    prefix = root.rstrip("/") + "/"
    return path[len(prefix) :] if path.startswith(prefix) else None


def _join(root: str, relative: str) -> str:
    return os.path.normpath(os.path.join(root, relative))
