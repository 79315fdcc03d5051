"""The cache of compiled WASM forms, `~/.murmur/compiled`. spec/registry.md 16.

A form is native code that a guest host maps and runs, so it is only taken from a directory that
nobody else can have written, and only when its own hash stands beside it. Whatever is wrong with
an entry, the answer is to compile again: the cache never fails a launch and never changes one.
Compiling itself is the guest package's work and is handed in.
"""

import contextlib
import dataclasses
import hashlib
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from murmur.core.home import Home
from murmur.core.safefs import Root, UnsafePath
from murmur.core.version import VERSION, baked_commit
from murmur.store.archive import decompression_ceiling

Compile = Callable[[bytes, int], None]
"""Compiles a component's bytes and writes the compiled form to the open descriptor."""

MAX_AGE_SECONDS: Final = 30 * 24 * 3600
_TOUCH_AFTER_SECONDS: Final = 24 * 3600
_HEX64: Final = re.compile(r"[0-9a-f]{64}")
_HEX16: Final = re.compile(r"[0-9a-f]{16}")
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclasses.dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled form on disk. `fresh` says that this call compiled it; `kept`, that the cache
    holds it (otherwise it lies in the caller's scratch folder)."""

    path: Path
    fresh: bool
    kept: bool


def build_facts(environ: Mapping[str, str]) -> tuple[str, ...]:
    """What of this mur decides what compiling gives, beside the engine: its build and the ceiling.

    The guest package folds them into the engine key: `Guests.engine_key(*build_facts(environ))`.
    """
    # A checkout's HEAD moves with every commit and says nothing of what compiling gives; the
    # engine's own version and settings are in the key already.
    return VERSION, baked_commit() or "", str(decompression_ceiling(environ))


def form_name(payload_sha256: str, key: str) -> str | None:
    """`<payload sha256>-<engine key>.cwasm`; None for a key that names no cache entry."""
    if _HEX64.fullmatch(payload_sha256) and _HEX16.fullmatch(key):
        return f"{payload_sha256}-{key}.cwasm"
    return None


def compiled_path(home: Home, payload_sha256: str, key: str) -> Path | None:
    """Where the form of a payload lies, or would lie; None for an invalid key."""
    name = form_name(payload_sha256, key)
    return home.compiled / name if name else None


def is_withheld(home: Home, writable_root: Path | None) -> bool:
    """Whether the cache is off because a session's commands could reach it.

    True when `~/.murmur` or `compiled` is at or beneath the directory that the session's writable
    root is created in (`--workdir`).
    """
    if writable_root is None:
        return False
    root = os.path.realpath(writable_root)
    return any(
        os.path.commonpath((root, os.path.realpath(path))) == root
        for path in (home.root, home.compiled)
    )


class CompiledCache:
    """The cache of one home, read and written through a held directory descriptor."""

    def __init__(self, home: Home, *, withheld: bool = False) -> None:
        self._path = home.compiled
        self._withheld = withheld

    def find(self, payload_sha256: str, key: str) -> Path | None:
        """The usable form of a payload; None when there is none."""
        name = form_name(payload_sha256, key)
        if name is None or self._withheld:
            return None
        try:
            with self._open() as directory:
                return self._path / name if _is_sound(directory, name) else None
        except (OSError, ValueError):
            return None

    def ensure(
        self,
        payload_sha256: str,
        key: str,
        component: Callable[[], bytes],
        compile_form: Compile,
        scratch: Path | None = None,
    ) -> Compiled:
        """The form of a payload, compiled now when the cache has no sound one.

        A form that cannot be kept is written below `scratch`, a private folder of the caller's
        that outlives its use. Raises what `component` and `compile_form` raise, and OSError when
        it can be written nowhere.
        """
        found = self.find(payload_sha256, key)
        if found is not None:
            return Compiled(found, fresh=False, kept=True)
        data = component()
        name = form_name(payload_sha256, key)
        if name is not None and not self._withheld:
            with contextlib.suppress(_CannotKeep):
                return Compiled(self._keep(name, data, compile_form), fresh=True, kept=True)
        if scratch is None:
            raise OSError(f"{self._path} cannot be written, and no scratch folder was given")
        path = scratch / f"{name or secrets.token_hex(16) + '.cwasm'}"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            compile_form(data, descriptor)
        finally:
            os.close(descriptor)
        return Compiled(path, fresh=True, kept=False)

    def _open(self) -> Root:
        """The directory, made when missing. Raises OSError unless it is this user's alone.

        A directory found wide is narrowed and emptied: what is in it may be anybody's.
        """
        with contextlib.suppress(FileExistsError):
            os.mkdir(self._path, 0o700)
        root = Root(os.open(self._path, _DIRECTORY))
        try:
            found = os.fstat(root.fileno())
            if found.st_uid != os.geteuid():
                raise UnsafePath(str(self._path), "it belongs to another user")
            if found.st_mode & 0o077:
                os.fchmod(root.fileno(), 0o700)
                _remove_files(root)
        except BaseException:
            root.close()
            raise
        return root

    def _keep(self, name: str, data: bytes, compile_form: Compile) -> Path:
        """Compiles into the cache. Raises _CannotKeep when the cache cannot take the form."""
        try:
            directory = self._open()
        except OSError as failure:
            raise _CannotKeep from failure
        with directory:
            temporary = f".{name}.{secrets.token_hex(8)}.tmp"
            try:
                descriptor = directory.open_file(
                    temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600
                )
            except OSError as failure:
                raise _CannotKeep from failure
            try:
                with os.fdopen(descriptor, "rb") as form:
                    compile_form(data, form.fileno())
                    try:
                        _publish(directory, temporary, name, form.fileno())
                    except OSError as failure:
                        raise _CannotKeep from failure
            finally:
                with contextlib.suppress(OSError):
                    directory.unlink(temporary)
            with contextlib.suppress(OSError):
                _evict(directory, time.time())
        return self._path / name


class _CannotKeep(Exception):
    pass


def _publish(directory: Root, temporary: str, name: str, descriptor: int) -> None:
    """Gives a compiled form its name and writes its hash beside it."""
    os.fchmod(descriptor, 0o600)
    os.fsync(descriptor)
    digest = _digest(descriptor)
    os.rename(temporary, name, src_dir_fd=directory.fileno(), dst_dir_fd=directory.fileno())
    directory.write_atomic(name + ".sha256", digest.encode() + b"\n", 0o600, sync=True)


def _digest(descriptor: int) -> str:
    os.lseek(descriptor, 0, os.SEEK_SET)
    digest = hashlib.sha256()
    buffer = bytearray(1 << 20)
    while count := os.readv(descriptor, [buffer]):
        digest.update(memoryview(buffer)[:count])
    return digest.hexdigest()


def _open_private(directory: Root, name: str) -> int:
    """A regular file of this user's alone. Raises OSError otherwise."""
    descriptor = directory.open_file(name, os.O_RDONLY)
    found = os.fstat(descriptor)
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & ~0o600:
        os.close(descriptor)
        raise UnsafePath(name, "it is not this user's alone")
    return descriptor


def _is_sound(directory: Root, name: str) -> bool:
    """Whether a form is private and hashes to what its sidecar says. Raises OSError when absent."""
    sidecar = _open_private(directory, name + ".sha256")
    try:
        recorded = os.read(sidecar, 256).decode("ascii", "replace").strip()
    finally:
        os.close(sidecar)
    form = _open_private(directory, name)
    try:
        if _digest(form) != recorded:
            return False
        now = time.time()
        if now - os.fstat(form).st_atime > _TOUCH_AFTER_SECONDS:
            # File systems mounted noatime would let a form in daily use grow old.
            for used in (name, name + ".sha256"):
                with contextlib.suppress(OSError):
                    found = os.stat(used, dir_fd=directory.fileno(), follow_symlinks=False)
                    os.utime(
                        used,
                        (now, found.st_mtime),
                        dir_fd=directory.fileno(),
                        follow_symlinks=False,
                    )
        return True
    finally:
        os.close(form)


def _remove_files(directory: Root) -> None:
    for name in directory.list():
        found = directory.status(name)
        if found is not None and not stat.S_ISDIR(found.st_mode):
            directory.unlink(name)


def _evict(directory: Root, now: float) -> None:
    """Removes what nothing has read or written for 30 days; directories stay."""
    for name in directory.list():
        found = directory.status(name)
        if found is None or stat.S_ISDIR(found.st_mode):
            continue
        if now - max(found.st_atime, found.st_mtime) > MAX_AGE_SECONDS:
            with contextlib.suppress(OSError):
                directory.unlink(name)
