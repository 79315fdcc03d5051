"""`murmur.lock`, version 3: what a project's artifacts were when they were installed.

YAML beside `murmur.yaml`. Reading refuses what it does not fully understand (`E-RUN-003`), and
never migrates. spec/registry.md 11.
"""

import contextlib
import dataclasses
import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from murmur.core.diagnostics import MurmurError, error
from murmur.core.regular import read_regular
from murmur.core.safefs import TooLarge
from murmur.manifest.document import BadDocument, parse_document
from murmur.manifest.names import is_full_name
from murmur.store.names import FullName
from murmur.store.scalars import yaml_scalar

LOCK_FILE: Final = "murmur.lock"
LOCK_VERSION: Final = 3
_LIMIT: Final = 1 << 20
_STALE_SECONDS: Final = 3600

Origin = Literal["operator", "runtime"]


@dataclasses.dataclass(frozen=True, slots=True)
class Pin:
    """One entry. Exactly one of `any` (WASM, static) and `platforms` (native) holds hashes."""

    name: FullName
    resolved_version: str
    any: str | None = None
    platforms: Mapping[str, str] = dataclasses.field(default_factory=dict)
    owner_id: int | None = None
    origin: Origin = "operator"
    session: str | None = None

    def sha256_for(self, platform: str) -> str | None:
        """The pinned hash for a host. `any` never stands in for a missing platform."""
        return self.platforms.get(platform) if self.platforms else self.any


@dataclasses.dataclass(frozen=True, slots=True)
class Lock:
    """The whole file; entries keep their order."""

    pins: tuple[Pin, ...] = ()

    def find(self, name: FullName) -> Pin | None:
        return next((pin for pin in self.pins if pin.name == name), None)

    def merge(self, pin: Pin) -> tuple["Lock", Pin | None]:
        """This lock with `pin` in it, and the runtime's pin that an operator's pin adopted."""
        old = self.find(pin.name)
        if old is None:
            return Lock((*self.pins, pin)), None
        new = _merged(old, pin)
        adopted = old if old.origin == "runtime" and new.origin == "operator" else None
        return Lock(tuple(new if entry is old else entry for entry in self.pins)), adopted

    def without(self, name: FullName) -> "Lock":
        """This lock less one entry; the others keep their order."""
        return Lock(tuple(pin for pin in self.pins if pin.name != name))


def _merged(old: Pin, new: Pin) -> Pin:
    platforms = new.platforms
    if old.resolved_version == new.resolved_version and old.platforms and new.platforms:
        platforms = {**old.platforms, **new.platforms}
    operator = new.origin == "operator"
    return dataclasses.replace(
        new,
        platforms=platforms,
        origin="operator" if operator else old.origin,
        session=None if operator else old.session,
    )


def lock_path(project: Path) -> Path:
    return project / LOCK_FILE


def read_lock(path: Path) -> Lock | None:
    """The lock at `path`; None when there is none. Raises E-RUN-003 for one that is not valid."""
    try:
        data = read_regular(path, _LIMIT)
    except FileNotFoundError:
        return None
    except TooLarge:
        raise _invalid(path, f"it is larger than {_LIMIT} bytes") from None
    except OSError as failure:
        raise _invalid(path, f"it cannot be read: {failure.strerror}") from failure
    try:
        return parse_lock(data.decode("utf-8"), path)
    except UnicodeDecodeError as failure:
        raise _invalid(path, "it is not UTF-8 text") from failure


def parse_lock(text: str, path: Path) -> Lock:
    """The lock written in `text`. Raises E-RUN-003."""
    try:
        value = parse_document(text).value
    except BadDocument as bad:
        where = f" at {bad.place}" if bad.place else ""
        raise _invalid(path, f"it is not valid YAML{where}: {bad.reason}") from None
    if not isinstance(value, dict):
        raise _invalid(path, "it is not a mapping")
    version = value.get("lock_version")
    if type(version) is not int or version != LOCK_VERSION:
        found = "absent" if version is None else repr(version)
        raise _invalid(path, f"lock_version is {found}, and this mur reads {LOCK_VERSION} only")
    entries = value.get("artifacts")
    if not isinstance(entries, list):
        raise _invalid(path, "artifacts is not a list")
    pins: list[Pin] = []
    for index, entry in enumerate(entries):
        try:
            pin = _pin(entry)
        except ValueError as bad:
            raise _invalid(path, f"artifacts[{index}]: {bad}") from None
        if any(pin.name == other.name for other in pins):
            raise _invalid(path, f"artifacts[{index}]: {pin.name} is pinned twice")
        pins.append(pin)
    return Lock(tuple(pins))


def _pin(entry: object) -> Pin:
    """One entry. Raises ValueError saying what is wrong with it."""
    if not isinstance(entry, dict):
        raise ValueError("not a mapping")
    name = _text(entry, "name")
    if not is_full_name(name):
        raise ValueError(f"name {name!r} is not <scope>/<name>")
    anywhere, platforms = _hashes(entry.get("sha256"))
    origin = entry.get("origin", "operator")
    if origin not in ("operator", "runtime"):
        raise ValueError(f"origin {origin!r} is neither operator nor runtime")
    session = entry.get("session")
    if origin == "runtime" and not (isinstance(session, str) and session.strip()):
        raise ValueError("an entry of origin runtime names no session")
    if origin == "operator" and session is not None:
        raise ValueError("an entry of origin operator names a session")
    owner = entry.get("owner_id")
    if owner is not None and (type(owner) is not int or not 0 <= owner < 1 << 64):
        raise ValueError(f"owner_id {owner!r} is no unsigned 64-bit integer")
    return Pin(
        FullName(name),
        _text(entry, "resolved_version"),
        anywhere,
        platforms,
        owner,
        origin,
        session,
    )


def _text(entry: Mapping[object, object], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        raise ValueError(f"{key} is not a non-empty string")
    return value


def _hashes(value: object) -> tuple[str | None, dict[str, str]]:
    if not isinstance(value, dict):
        raise ValueError("sha256 is not a mapping")
    if ("any" in value) == ("platforms" in value):
        raise ValueError("sha256 holds exactly one of any and platforms")
    if "any" in value:
        return _text(value, "any"), {}
    platforms = value["platforms"]
    if not isinstance(platforms, dict) or not platforms:
        raise ValueError("sha256.platforms is not a mapping with an entry")
    hashes: dict[str, str] = {}
    for tag in platforms:
        if not isinstance(tag, str) or not tag:
            raise ValueError(f"sha256.platforms has the key {tag!r}")
        hashes[tag] = _text(platforms, tag)
    return None, hashes


def _invalid(path: Path, reason: str) -> MurmurError:
    return error(
        "E-RUN-003",
        what=f"{path} is not usable",
        reason=reason,
        hint=f"delete {path.name} and run `mur install`",
    )


# --- writing -------------------------------------------------------------------------------


def _lines(pin: Pin) -> Iterator[str]:
    yield f"  - name: {yaml_scalar(pin.name.text)}"
    yield f"    resolved_version: {yaml_scalar(pin.resolved_version)}"
    yield "    sha256:"
    if pin.platforms:
        yield "      platforms:"
        for tag in sorted(pin.platforms):
            yield f"        {yaml_scalar(tag)}: {yaml_scalar(pin.platforms[tag])}"
    else:
        yield f"      any: {yaml_scalar(pin.any or '')}"
    if pin.owner_id is not None:
        yield f"    owner_id: {pin.owner_id}"
    yield f"    origin: {pin.origin}"
    if pin.session is not None:
        yield f"    session: {yaml_scalar(pin.session)}"


def render_lock(lock: Lock) -> str:
    """The file's text; the same lock always gives the same bytes."""
    lines = [f"lock_version: {LOCK_VERSION}"]
    if not lock.pins:
        lines.append("artifacts: []")
    else:
        lines.append("artifacts:")
        for pin in lock.pins:
            lines += _lines(pin)
    return "\n".join(lines) + "\n"


def write_lock(path: Path, lock: Lock) -> None:
    """Replaces the lock whole. Raises E-RUN-003 for an invalid one and E-IO-003.

    What writers that were killed left beside it is swept away.
    """
    text = render_lock(lock)
    parse_lock(text, path)
    _sweep(path.parent)
    temporary = path.with_name(f".{LOCK_FILE}.{secrets.token_hex(8)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        try:
            with os.fdopen(os.open(temporary, flags, 0o666), "wb") as stream:
                stream.write(text.encode())
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as failure:
        raise error(
            "E-IO-003", what=f"{path} cannot be written", reason=failure.strerror, hint=""
        ) from failure


def _sweep(project: Path) -> None:
    """Removes temporary files that no writer can still be about to rename."""
    for left in project.glob(f".{LOCK_FILE}.*.tmp"):
        with contextlib.suppress(OSError):
            if time.time() - left.lstat().st_mtime > _STALE_SECONDS:
                left.unlink()


@contextlib.contextmanager
def holding(project: Path) -> Iterator[None]:
    """Holds the project directory's advisory lock while its `murmur.lock` is read and rewritten.

    A running capsule's pull and an install may meet here; where no lock can be had, neither waits.
    """
    try:
        import fcntl  # not on every system, and this module must import there

        descriptor = os.open(project, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (ImportError, OSError):
        yield
        return
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def pin_payloads(pins: Sequence[Pin], path: Path) -> tuple[Lock, tuple[Pin, ...]]:
    """Merges pins into the lock at `path` and writes it once, if anything changed.

    Returns the lock and every runtime pin that was adopted. Raises as read and write do.
    """
    with holding(path.parent):
        return merge_pins(pins, path)


def merge_pins(pins: Sequence[Pin], path: Path) -> tuple[Lock, tuple[Pin, ...]]:
    """What `pin_payloads` does, for a caller that holds the project's lock (`holding`) already."""
    before = read_lock(path)
    lock = before or Lock()
    adopted = []
    for pin in pins:
        lock, taken = lock.merge(pin)
        if taken is not None:
            adopted.append(taken)
    if lock != before:
        write_lock(path, lock)
    return lock, tuple(adopted)
