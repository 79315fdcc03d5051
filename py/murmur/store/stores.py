"""The project store and the global store on disk. spec/registry.md 9.

`<root>/<scope>/<name>/<version>/` holds one zip per platform (or one for all), each with a
`.sha256` and a `.meta.json` beside it. Writing replaces the directory under an advisory lock on the
one that holds the artifact's versions; readers never need the lock, but take it for one second
look when what they saw does not agree, since a writer may have come between two of their steps.
"""

import contextlib
import dataclasses
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from murmur.core.diagnostics import Diagnostic, MurmurError, error, warning
from murmur.store.archive import SUFFIX
from murmur.store.component import Contracts
from murmur.store.content import Content, hold_file
from murmur.store.names import FullName, version_fault, version_order
from murmur.store.payload import Payload, open_payload
from murmur.store.placing import place
from murmur.store.platforms import PLATFORMS, UNKNOWN, payload_stem
from murmur.store.record import Record, parse_record

_HEX: Final = re.compile(r"[0-9a-f]{64}")
_HASH_LIMIT: Final = 1 << 12
_RECORD_LIMIT: Final = 1 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class StoredArtifact:
    """Where one payload lies. `tag` is the platform its files are filed under, if any."""

    store: "Store"
    full_name: FullName
    version: str
    tag: str | None
    path: Path

    @property
    def reference(self) -> str:
        return f"{self.full_name}@{self.version}"

    def recorded_sha256(self) -> str:
        """The hash that the store recorded. Raises E-IO-003 when it is empty or unreadable."""
        path = self.path.with_name(_stem(self.path) + ".sha256")
        try:
            text = _read_bounded(path, _HASH_LIMIT).decode("ascii", "replace").strip()
        except OSError as failure:
            raise _io(path, failure) from failure
        if not _HEX.fullmatch(text):
            raise error(
                "E-IO-003",
                what=f"the recorded hash {path} is unusable",
                reason="it is empty" if not text else "it is not 64 lowercase hex digits",
                hint=f"install {self.reference} again",
            )
        return text

    def record(self) -> Record | None:
        """The record beside the payload; None when there is none that can be read."""
        try:
            return parse_record(
                _read_bounded(self.path.with_name(_stem(self.path) + ".meta.json"), _RECORD_LIMIT)
            )
        except OSError:
            return None

    def open(self, environ: Mapping[str, str] | None = None) -> Payload:
        """Reads the payload once, verifies it and opens exactly the bytes that were verified.

        Raises E-REG-002 when they do not hash to the recorded sha256, E-IO-003 when they cannot
        be read, and what `open_payload` raises.
        """
        content, agrees = self._read()
        if not agrees:
            with holding_version(self.path.parent, exclusive=False):
                content, agrees = self._read()
        if not agrees:
            raise error(
                "E-REG-002",
                artifact=self.reference,
                recorded=f"the {self.store.label} store",
                expected=self.recorded_sha256(),
                found=content.sha256,
                hint=f"install or publish {self.reference} again",
            )
        return open_payload(content, self.reference, environ)

    def _read(self) -> tuple[Content, bool]:
        try:
            content = hold_file(self.path)
        except OSError as failure:
            raise _io(self.path, failure) from failure
        return content, content.sha256 == self.recorded_sha256()

    def contracts(self, payload: Payload) -> Contracts | None:
        """The interfaces of this payload: the record's, which were derived from these very bytes
        when they were stored, else the component's own (unpacking one takes a tenth of a second).
        """
        record = self.record()
        if record is not None and record.contracts is not None:
            return record.contracts
        return payload.contracts

    def platform_warning(self, payload: Payload) -> Diagnostic | None:
        """W-REG-001 for a native payload that was filed without a platform."""
        if payload.kind != "native" or self.tag is not None:
            return None
        return warning(
            "W-REG-001", details=(f"Fix: mur install {self.reference}",), artifact=self.reference
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Store:
    """One store. `label` is `project` or `global`; the root need not exist."""

    root: Path
    label: str

    def directory(self, full_name: FullName, version: str) -> Path:
        """The directory of one version. Raises E-IO-003 for a version that is no path segment."""
        fault = version_fault(version)
        if fault is not None:
            raise error(
                "E-IO-003",
                what=f"{full_name}@{version} cannot be stored",
                reason=f"the version is no usable file name: {fault}",
                hint="use a version such as 1.2.3",
            )
        return self.root / full_name.scope / full_name.name / version

    def find(self, full_name: FullName, version: str, platform: str) -> StoredArtifact | None:
        """The payload for `platform`: its tagged one, else the untagged one; None for neither.

        Without a zip and its `.sha256` both there, it is not there.
        """
        directory = self.directory(full_name, version)
        found = self._look(directory, full_name, version, platform)
        if found is None and directory.parent.is_dir():
            with holding_version(directory, exclusive=False):
                found = self._look(directory, full_name, version, platform)
        return found

    def _look(
        self, directory: Path, full_name: FullName, version: str, platform: str
    ) -> StoredArtifact | None:
        for tag in (platform, None) if platform != UNKNOWN else (None,):
            stem = payload_stem(full_name, version, tag)
            path = directory / (stem + SUFFIX)
            if path.is_file() and (directory / (stem + ".sha256")).is_file():
                return StoredArtifact(self, full_name, version, tag, path)
        return None

    def holds(self, full_name: FullName, version: str, tag: str | None) -> bool:
        """Whether exactly that payload is there."""
        stem = payload_stem(full_name, version, tag)
        directory = self.directory(full_name, version)
        return (directory / (stem + SUFFIX)).is_file() and (
            directory / (stem + ".sha256")
        ).is_file()

    def put(
        self,
        full_name: FullName,
        payload: Payload,
        tag: str | None,
        *,
        owner_id: int | None = None,
        overwrite: bool = True,
    ) -> StoredArtifact:
        """Stores a payload with its hash and its record, all three or none.

        Raises E-REG-003 when it is there already and `overwrite` is false, and E-IO-003.
        """
        version = payload.manifest.version
        directory = self.directory(full_name, version)
        stem = payload_stem(full_name, version, tag)
        record = Record.of(full_name, payload, tag, owner_id)
        stored = StoredArtifact(self, full_name, version, tag, directory / (stem + SUFFIX))
        try:
            directory.parent.mkdir(parents=True, exist_ok=True)
            with holding_version(directory, exclusive=True):
                if not overwrite and self.holds(full_name, version, tag):
                    raise error("E-REG-003", artifact=stored.reference)
                place(
                    directory,
                    [
                        ("zip", stem + SUFFIX, payload.content),
                        ("sha", stem + ".sha256", Content.of(payload.sha256.encode() + b"\n")),
                        ("meta", stem + ".meta.json", Content.of(record.render())),
                    ],
                )
        except OSError as failure:
            raise _io(directory, failure) from failure
        return stored

    def versions(self, full_name: FullName) -> tuple[str, ...]:
        """Every version of an artifact with any payload here, newest first."""
        try:
            names = os.listdir(self.root / full_name.scope / full_name.name)
        except OSError:
            return ()
        held = (name for name in names if version_fault(name) is None)
        return tuple(
            sorted(
                (name for name in held if any(self.payloads(full_name, name))),
                key=version_order,
                reverse=True,
            )
        )

    def payloads(self, full_name: FullName, version: str) -> Iterator[StoredArtifact]:
        """Every payload of one version, by file name."""
        for tag in (None, *PLATFORMS):
            if self.holds(full_name, version, tag):
                stem = payload_stem(full_name, version, tag)
                path = self.directory(full_name, version) / (stem + SUFFIX)
                yield StoredArtifact(self, full_name, version, tag, path)


def project_store(project: Path) -> Store:
    """The store of the project whose `murmur.yaml` (or `roster.yaml`) lies in `project`."""
    return Store(project / ".murmur" / "artifacts", "project")


def global_store(artifacts: Path) -> Store:
    """The machine's store, `~/.murmur/artifacts` (`Home.artifacts`)."""
    return Store(artifacts, "global")


def resolve(
    full_name: FullName, version: str, stores: Sequence[Store], platform: str
) -> StoredArtifact | None:
    """The payload of one artifact at exactly that version, from the first store that has it."""
    for store in stores:
        found = store.find(full_name, version, platform)
        if found is not None:
            return found
    return None


def resolve_all(
    wanted: Iterable[tuple[FullName, str]], stores: Sequence[Store], platform: str, hint: str
) -> list[StoredArtifact]:
    """Every wanted artifact, in order. Raises E-RUN-008 naming all the missing ones at once."""
    found = []
    missing = []
    for full_name, version in wanted:
        stored = resolve(full_name, version, stores, platform)
        if stored is None:
            missing.append(f"{full_name}@{version}")
        else:
            found.append(stored)
    if missing:
        raise error("E-RUN-008", missing=", ".join(missing), hint=hint)
    return found


def _stem(path: Path) -> str:
    return path.name.removesuffix(SUFFIX)


def _read_bounded(path: Path, limit: int) -> bytes:
    with path.open("rb") as stream:
        return stream.read(limit)


def _io(path: Path, failure: OSError) -> MurmurError:
    if isinstance(failure, PermissionError):
        return error("E-IO-002", path=failure.filename or path, reason=failure.strerror)
    return error("E-IO-003", what=f"{failure.filename or path}", reason=failure.strerror, hint="")


@contextlib.contextmanager
def holding_version(directory: Path, *, exclusive: bool) -> Iterator[None]:
    """Holds the advisory lock on all versions of the artifact that one is of, by its directory.

    Without a lock where none can be had.
    """
    try:
        import fcntl  # not on every system, and this module must import there

        descriptor = os.open(directory.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (ImportError, OSError):
        yield
        return
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)
