"""Files below an exported root, opened for somebody outside: the operator's and the peers' planes.

spec/door.md 17 and 18. A path is walked from a held descriptor, one name at a time; links are
resolved here and never by the kernel, so that nothing which a command changes meanwhile leads out
of the root.
"""

import dataclasses
import os
import stat
from typing import Final, Literal, Self

from murmur.core.safefs import Root

RefusalCode = Literal[
    "not_found", "outside_root", "symlink_refused", "not_a_regular_file", "too_large", "io_error"
]

_MOST_LINKS: Final = 40
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class ExportRefused(Exception):
    """A path that is not opened; `code` is the planes' error word."""

    def __init__(self, code: RefusalCode, reason: str) -> None:
        super().__init__(reason)
        self.code: RefusalCode = code
        self.reason = reason


@dataclasses.dataclass(frozen=True, slots=True)
class ExportedFile:
    """An opened regular file; `path` is relative to the root, links resolved. The holder closes."""

    descriptor: int
    path: str
    status: os.stat_result


def check_path(path: str) -> list[str]:
    """The segments of a requested path, judged before the file system is touched.

    Raises ExportRefused `outside_root` for a path that is empty or absolute, holds a NUL or a
    segment that is empty, `.` or `..`.
    """
    segments = path.split("/")
    if "\0" in path or any(segment in ("", ".", "..") for segment in segments):
        raise ExportRefused("outside_root", f"{path!r} is no plain relative path")
    return segments


class ExportedRoot:
    """The folder that an export opens, found anew for each request. A context manager.

    `work` is the work folder, `work_path` its canonical path, `root` the manifest's value. Raises
    ExportRefused: `not_found` while there is no such folder, `outside_root` where it has become a
    link out of the work folder.
    """

    def __init__(self, work: Root, work_path: str, root: str) -> None:
        segments = [segment for segment in root.split("/") if segment not in ("", ".")]
        walk = _Walk(work.fileno(), work_path)
        try:
            walk.go(segments)
            if walk.file is not None:
                os.close(walk.file.descriptor)
                raise ExportRefused("not_found", f"{root} is no folder")
            self._descriptor = walk.take_folder()
        finally:
            walk.close()
        self.path = "/".join([work_path.rstrip("/"), *walk.names])

    def fileno(self) -> int:
        """The open folder."""
        return self._descriptor

    def open(self, path: str, *, links: bool, max_bytes: int | None = None) -> ExportedFile:
        """Opens the regular file at `path` for reading. Raises ExportRefused.

        `links` says whether a link that stays inside the root is followed; one that leaves it is
        refused as `outside_root` either way.
        """
        walk = _Walk(self._descriptor, self.path)
        try:
            walk.go(check_path(path))
            if walk.linked and not links:
                if walk.file is not None:
                    os.close(walk.file.descriptor)
                raise ExportRefused("symlink_refused", f"{path} leads through a symbolic link")
            if walk.file is None:
                raise ExportRefused("not_a_regular_file", f"{path} is a folder")
        finally:
            walk.close()
        if max_bytes is not None and walk.file.status.st_size > max_bytes:
            os.close(walk.file.descriptor)
            size = walk.file.status.st_size
            raise ExportRefused("too_large", f"{path} holds {size} bytes, and {max_bytes} is most")
        return walk.file

    def close(self) -> None:
        """Doing it again does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Walk:
    """One resolution below an open folder. `names` is where it stands; `file` what it ended at."""

    def __init__(self, base: int, base_path: str) -> None:
        self.names: list[str] = []
        self.linked = False
        self.file: ExportedFile | None = None
        self._base_path = base_path.rstrip("/")
        self._open = [os.dup(base)]
        self._links = 0

    def go(self, segments: list[str]) -> None:
        pending = segments[::-1]
        try:
            while pending:
                self._step(pending)
        except FileNotFoundError:
            raise ExportRefused("not_found", "there is no such file") from None
        except NotADirectoryError:
            raise ExportRefused("not_found", "there is no such file") from None
        except OSError as failure:
            raise ExportRefused("io_error", failure.strerror or str(failure)) from None

    def _step(self, pending: list[str]) -> None:
        name = pending.pop()
        if name in ("", "."):
            return
        if name == "..":
            self._up()
            return
        here = self._open[-1]
        status = os.stat(name, dir_fd=here, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            self._follow(os.readlink(name, dir_fd=here), pending)
        elif stat.S_ISDIR(status.st_mode):
            self._open.append(os.open(name, _FOLDER, dir_fd=here))
            self.names.append(name)
        elif any(left not in ("", ".") for left in pending):
            raise ExportRefused("not_found", "a file stands where a folder is needed")
        elif stat.S_ISREG(status.st_mode):
            self._take(name)
            pending.clear()
        else:
            raise ExportRefused("not_a_regular_file", f"{name} is no regular file")

    def _up(self) -> None:
        if not self.names:
            raise ExportRefused("outside_root", "a link leaves the root")
        self.names.pop()
        os.close(self._open.pop())

    def _follow(self, target: str, pending: list[str]) -> None:
        self.linked = True
        self._links += 1
        if self._links > _MOST_LINKS:
            raise ExportRefused("not_found", "links lead in a circle")
        if target.startswith("/"):
            if not f"{target}/".startswith(f"{self._base_path}/"):
                raise ExportRefused("outside_root", "a link leaves the root")
            while self.names:
                self._up()
            target = target[len(self._base_path) :]
        pending.extend(target.split("/")[::-1])

    def _take(self, name: str) -> None:
        descriptor = os.open(name, _FILE, dir_fd=self._open[-1])
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            raise ExportRefused("not_a_regular_file", f"{name} is no regular file")
        self.file = ExportedFile(descriptor, "/".join([*self.names, name]), status)

    def take_folder(self) -> int:
        """The folder it ended at, for the caller to close."""
        return self._open.pop()

    def close(self) -> None:
        while self._open:
            os.close(self._open.pop())
