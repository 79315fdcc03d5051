"""What one `mur run` was asked for: flags, manifest text and environment, each read once.

`Launch` is the first noun of a run; nothing later reads the manifest or the environment again.
CLI reference, *mur run*; spec/sessions.md 6.1.
"""

import dataclasses
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from murmur.core.diagnostics import error
from murmur.core.dotenv import with_dotenv
from murmur.core.home import Home, find_home
from murmur.core.regular import read_regular_text
from murmur.session.deadline import Deadline, earliest_deadline
from murmur.session.directories import work_place
from murmur.session.package import Package, find_package
from murmur.session.resume import Mode, Resumed, find_resumed
from murmur.store.archive import MANIFEST
from murmur.store.lock import lock_path

_LARGEST: Final = 4 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class Flags:
    """The flags of `mur run` as given; None where a flag is absent."""

    manifest: Path = Path("murmur.yaml")
    task: str | None = None
    workdir: Path | None = None
    bind: str = "127.0.0.1"
    json: bool = False
    verbose: bool = False
    task_acceptance: str | None = None
    after_task: str | None = None
    system_prompt: str | None = None
    env_file: bool = True
    containment: str | None = None
    context: str | None = None
    resume: str | None = None
    resume_mode: Mode = "full"
    forget_session: bool = False
    deadline: int | None = None
    deadline_at_ms: int | None = None
    capsule: str | None = None
    capsule_version: str | None = None
    writes_lock: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class Launch:
    """Everything that decides a run. `started` is a monotonic moment in seconds.

    `resumed` is the session that `--resume` continues, `deadline` the one that binds; `package` is
    the installed capsule of `--capsule`, and `manifest` an entry of it then.
    """

    flags: Flags
    manifest: Path
    manifest_text: str
    environ: Mapping[str, str]
    home: Home
    started: float
    resumed: Resumed | None = None
    deadline: Deadline | None = None
    package: Package | None = None
    base: Path = Path()

    @property
    def context_id(self) -> str | None:
        """The context that the launch's first task runs under; None: each mints its own."""
        return self.resumed.context_id if self.resumed is not None else self.flags.context

    @property
    def directory(self) -> Path:
        """Where murmur.lock, the project store and the workdir are: the manifest's directory.

        Of an installed capsule, which has no lock, the `--workdir` or the current directory.
        """
        return self.manifest.parent if self.package is None else self.base

    @property
    def lock_file(self) -> Path | None:
        """The lock that pins the artifacts; None for an installed capsule."""
        return None if self.package is not None else lock_path(self.directory)

    def read_named(self, path: str, largest: int) -> str:
        """The text of a file that the manifest names. Raises OSError and UnicodeDecodeError.

        A relative path starts from the manifest: its folder, or its own package.
        """
        if self.package is not None and not os.path.isabs(path):
            return self.package.text(os.path.normpath(path))
        return read_regular_text(self.directory / path, largest)


def read_manifest(manifest: Path) -> str:
    """The text of a capsule manifest. Raises E-IO-001, E-IO-002 or E-IO-003."""
    try:
        return read_regular_text(manifest, _LARGEST)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise error(
            "E-IO-001",
            what="murmur.yaml",
            path=manifest,
            hint="run mur in a project directory, or name the manifest with --manifest",
        ) from None
    except PermissionError as failure:
        raise error("E-IO-002", path=manifest, reason=failure.strerror) from None
    except (OSError, UnicodeDecodeError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) else "it is not UTF-8"
        raise error(
            "E-IO-003", what=str(manifest), reason=str(reason), hint="mend the file"
        ) from None


def read_launch(flags: Flags, environ: Mapping[str, str], started: float | None = None) -> Launch:
    """Reads home, resumed session, `.env` and manifest, in that order; nothing is made.

    Raises E-IO-004 for the home, E-RUN-015, E-RUN-016, E-TRC-001 or E-TRC-002 for --resume,
    E-IO-003 for `.env`, E-IO-001 or E-IO-002 for the manifest.
    """
    began = time.monotonic() if started is None else started
    home = find_home(environ)
    if flags.capsule is not None:
        return _read_installed(flags, environ, home, began)
    manifest = _absolute(flags.manifest)
    resumed = _resumed(flags, home, manifest.parent)
    variables = with_dotenv(environ, manifest.parent) if flags.env_file else dict(environ)
    text = read_manifest(manifest)
    return Launch(
        flags=flags,
        manifest=manifest,
        manifest_text=text,
        environ=variables,
        home=home,
        started=began,
        resumed=resumed,
        deadline=earliest_deadline(flags.deadline, flags.deadline_at_ms, began),
    )


def _read_installed(flags: Flags, environ: Mapping[str, str], home: Home, began: float) -> Launch:
    """The launch of an installed capsule; `.env` is looked for from the current directory up.

    (Open in spec/sessions.md 5.) Raises as `read_launch` and `find_package` do.
    """
    assert flags.capsule is not None and flags.capsule_version is not None
    here = _absolute(Path())
    base = here if flags.workdir is None else _absolute(flags.workdir)
    resumed = _resumed(flags, home, base)
    variables = with_dotenv(environ, here) if flags.env_file else dict(environ)
    package = find_package(flags.capsule, flags.capsule_version, base, home, variables)
    return Launch(
        flags=flags,
        manifest=package.manifest,
        manifest_text=package.text(MANIFEST),
        environ=variables,
        home=home,
        started=began,
        resumed=resumed,
        deadline=earliest_deadline(flags.deadline, flags.deadline_at_ms, began),
        package=package,
        base=base,
    )


def _resumed(flags: Flags, home: Home, directory: Path) -> Resumed | None:
    """The session to continue, looked up in the records group of the launch's own workdir."""
    if flags.resume is None:
        return None
    if flags.context is not None:
        raise error("E-RUN-015")
    return find_resumed(flags.resume, home, work_place(flags.workdir, directory).root)


def _absolute(manifest: Path) -> Path:
    """Raises E-IO-003 when there is no current directory that the path could start from."""
    try:
        return Path(os.path.abspath(manifest))
    except OSError as failure:
        raise error(
            "E-IO-003",
            what="the current directory",
            reason=str(failure.strerror),
            hint="change into a folder that exists",
        ) from None


def task_text(given: str) -> str:
    """The text of `--task`: the content of an existing file, byte for byte, else the value itself.

    Whatever can be read is a file here, a pipe of the shell's too; a folder is not. Bytes of an
    argument that are no UTF-8 are replaced. Raises E-IO-003 for a file that cannot be read as
    UTF-8.
    """
    if not os.path.exists(given) or os.path.isdir(given):
        return os.fsencode(given).decode("utf-8", "replace")
    try:
        return Path(given).read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) else "it is not UTF-8"
        raise error(
            "E-IO-003", what=f"--task {given}", reason=str(reason), hint="mend the file"
        ) from None
