"""The layout of `~/.murmur`: every path below it is named here. spec/sessions.md 3."""

import dataclasses
import errno
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from murmur.core.diagnostics import error


@dataclasses.dataclass(frozen=True, slots=True)
class Home:
    """The operator's `~/.murmur`. Directories below it are made when they are first needed."""

    root: Path

    @property
    def config(self) -> Path:
        return self.root / "config.yaml"

    @property
    def artifacts(self) -> Path:
        """The global artifact store; readable by others as the operator's umask says."""
        return self.root / "artifacts"

    @property
    def programs(self) -> Path:
        return self.root / "programs"

    @property
    def compiled(self) -> Path:
        """Compiled WASM forms (0700); safe to delete."""
        return self.root / "compiled"

    @property
    def host_facts(self) -> Path:
        """Facts on allowlisted binaries (0700); safe to delete."""
        return self.root / "host_facts"

    @property
    def sessions(self) -> Path:
        """Runtime directories of live sessions (0700)."""
        return self.root / "sessions"

    @property
    def records(self) -> Path:
        """Records directories (0700 at every level)."""
        return self.root / "records"

    def records_group(self, workdir_root: Path) -> Path:
        """Where the sessions of one workdir root are recorded, one directory each.

        Links in the root are resolved: one folder has one group. spec/sessions.md 2.
        """
        return self.records.joinpath(*workdir_root.resolve().parts[1:])

    @property
    def running(self) -> Path:
        """Running records (0700, files 0600)."""
        return self.root / "running"

    @property
    def conversations(self) -> Path:
        return self.root / "conversations"

    @property
    def state(self) -> Path:
        return self.root / "state"

    @property
    def spend(self) -> Path:
        return self.root / "spend"

    @property
    def bin(self) -> Path:
        """Where the zipapp unpacks itself."""
        return self.root / "bin"


def home_path(environ: Mapping[str, str]) -> Path:
    """Where the home lies, without touching it. Raises E-IO-004 for an unset or relative HOME."""
    value = environ.get("HOME", "")
    if not value:
        raise error("E-IO-004", found="HOME is not set", value="")
    if not os.path.isabs(value):
        raise error("E-IO-004", found="HOME is a relative path", value=f" ({value})")
    return Path(value) / ".murmur"


def find_home(environ: Mapping[str, str]) -> Home:
    """The home that `open_home` would open, with nothing made and no mode changed.

    Raises E-IO-004 as `open_home` would: for commands that look and leave no trace.
    """
    root = home_path(environ)
    reason = _obstacle(root)
    if reason is not None:
        raise error("E-IO-004", found=f"{root} cannot be used: {reason}", value="")
    return Home(root)


def _obstacle(root: Path) -> str | None:
    """Why `root` can neither be opened nor made; None when one of them can be done."""
    try:
        os.close(os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
    except FileNotFoundError:
        parent = root.parent
        if os.path.lexists(root):
            return "it is a link to nothing"
        if not parent.is_dir():
            return os.strerror(errno.ENOTDIR if parent.exists() else errno.ENOENT)
        if not os.access(parent, os.W_OK | os.X_OK):
            return f"{parent} is not writable"
    except OSError as failure:
        return failure.strerror or str(failure)
    return None


def open_home(environ: Mapping[str, str]) -> Home:
    """Creates `~/.murmur` when it is missing and strips group and other bits from it.

    The owner's bits are left as they are. Raises E-IO-004 when HOME cannot hold it.
    """
    root = home_path(environ)
    try:
        try:
            os.mkdir(root, 0o700)
        except FileExistsError:
            pass
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
            if mode & 0o077:
                os.fchmod(descriptor, mode & ~0o077)
        finally:
            os.close(descriptor)
    except OSError as failure:
        raise error(
            "E-IO-004",
            found=f"{root} cannot be used: {failure.strerror}",
            value="",
        ) from failure
    return Home(root)
