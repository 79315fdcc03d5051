"""Where cgroups are mounted and where this process stands in each hierarchy."""

import dataclasses
import os
import stat
from pathlib import Path

from murmur.sandbox.mounts import read_mounts


class Blocked(Exception):
    """A hierarchy that cannot hold a scope, and why; `error` is an errno where a call failed."""

    def __init__(self, reason: str, error: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.error = error


@dataclasses.dataclass(frozen=True, slots=True)
class Facts:
    """`unified`: this process's cgroup on v2, None without one. `v1`: the same by controller."""

    unified: Path | None
    v1: dict[str, Path]


def read_facts() -> Facts:
    """The facts of this process, from /proc/self/cgroup and mountinfo. Never raises."""
    try:
        groups = Path("/proc/self/cgroup").read_text(encoding="utf-8", errors="surrogateescape")
        table = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return Facts(None, {})
    return parse_facts(groups, table)


def parse_facts(groups: str, table: str) -> Facts:
    """The facts in the two files' texts. Each v1 controller stands in a group of its own line."""
    unified_mounts: list[tuple[str, str]] = []
    v1_mounts: list[tuple[frozenset[str], str, str]] = []
    for line, mount in zip(
        (line for line in table.splitlines() if len(line.split(" ")) > 5),
        read_mounts(table),
        strict=True,
    ):
        tail = line.partition(" - ")[2].split(" ")
        if tail[0] == "cgroup2":
            unified_mounts.append((mount.root, mount.point))
        elif tail[0] == "cgroup" and len(tail) > 2:
            v1_mounts.append((frozenset(tail[2].split(",")), mount.root, mount.point))
    unified: Path | None = None
    v1: dict[str, Path] = {}
    for line in groups.splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0" and not controllers:
            unified = next(
                (p for root, point in unified_mounts if (p := _place(root, point, path))), None
            )
            continue
        for controller in controllers.split(","):
            for options, root, point in v1_mounts:
                place = _place(root, point, path) if controller in options else None
                if place is not None:
                    v1[controller] = place
                    break
    return Facts(unified, v1)


def _place(root: str, point: str, group: str) -> Path | None:
    """The folder of a group on a mount that shows the hierarchy from `root` on."""
    if root == "/":
        return Path(point + group.rstrip("/")) if group != "/" else Path(point)
    if group == root or group.startswith(root + "/"):
        return Path(point + group[len(root) :])
    return None


def write(path: Path, text: str) -> None:
    """Writes one value to a control file. Raises OSError that names it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode("ascii"))
    except OSError as failure:
        raise OSError(failure.errno, failure.strerror, str(path)) from failure
    finally:
        os.close(descriptor)


class Counter:
    """A number in a flat-keyed control file, held open: it is read around every command."""

    def __init__(self, path: Path, key: str) -> None:
        self._key = key.encode("ascii") + b" "
        try:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._descriptor = -1

    def read(self) -> int:
        """The number now; 0 where the kernel has no such file or key."""
        if self._descriptor < 0:
            return 0
        try:
            data = os.pread(self._descriptor, 4096, 0)
        except OSError:
            return 0
        for line in data.split(b"\n"):
            if line.startswith(self._key):
                return int(line[len(self._key) :])
        return 0

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def members(folder: Path) -> list[int]:
    """The pids in a cgroup; empty once it is gone."""
    try:
        return [int(line) for line in (folder / "cgroup.procs").read_text("ascii").split()]
    except OSError:
        return []


def disk_of(path: str) -> str:
    """`major:minor` of the whole disk that holds a path, or would once it is made.

    Raises Blocked where there is none to bound: overlay, tmpfs, device-mapper and the like.
    """
    probe = Path(path)
    while not probe.exists():
        probe = probe.parent
    device = os.stat(probe).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    block = Path("/sys/dev/block", number)
    if not block.exists():
        block = Path("/sys/dev/block", mounted_from(number) or number)
    try:
        real = block.resolve(strict=True)
    except OSError:
        raise Blocked(f"{path} lies on no block device") from None
    if (real / "partition").exists():
        real = real.parent
    if real.name.startswith("dm-"):
        raise Blocked(f"{path} lies on a device-mapper volume")
    return (real / "dev").read_text("ascii").strip()


def mounted_from(number: str, table: str | None = None) -> str | None:
    """The block device that a file system with a number of its own is mounted from, as btrfs is.

    `table` is the text of a mountinfo file, this process's if not given.
    """
    if table is None:
        try:
            table = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape")
        except OSError:
            return None
    for line in table.splitlines():
        fields, _, tail = line.partition(" - ")
        source = tail.split(" ")[1] if tail.count(" ") > 1 else ""
        if fields.split(" ")[2:3] != [number] or not source.startswith("/dev/"):
            continue
        try:
            status = os.stat(source)
        except OSError:
            continue
        if stat.S_ISBLK(status.st_mode):
            return f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
    return None
