"""`mur build`, standard: a folder with a `murmur.yaml` becomes a `.mur.zip`.

Packs the manifest byte for byte and exactly what `requires_files` lists; compiles nothing, and
writes nothing unless every check passed. spec/registry.md 4, 5 and 7, spec/diagnostics.md 6.6.
"""

import dataclasses
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from murmur.core.diagnostics import Diagnostic, error, warning
from murmur.manifest.artifact import ArtifactManifest, parse_artifact_manifest
from murmur.manifest.document import parse_document
from murmur.manifest.harness_needs import BadHarnessNeeds, parse_harness_needs
from murmur.manifest.programs import BadPrograms, parse_programs
from murmur.store.archive import (
    BUILD_RECORD,
    COMPONENT,
    MANIFEST,
    SUFFIX,
    Entry,
    NoPayload,
    archive_bytes,
    build_record,
    select_component,
    write_whole,
)
from murmur.store.component import read_contracts
from murmur.store.entry_names import collision, name_fault
from murmur.store.levels import built_at_level
from murmur.store.literals import find_literals
from murmur.store.names import bare_name_fault, version_fault

_CARGO: Final = ("Cargo.toml", "Cargo.lock")


@dataclasses.dataclass(frozen=True, slots=True)
class Built:
    """A written archive: where, the level recorded in it (None: it fits none), and warnings."""

    path: str
    level: int | None
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def line(self) -> str:
        """The command's last line."""
        if self.level is None:
            return f"Built artifact: {self.path} (fits no WIT level this mur knows)"
        return f"Built artifact: {self.path} (WIT level {self.level})"


@dataclasses.dataclass(frozen=True, slots=True)
class _File:
    """A declared file: as declared, its archive name, and where it really lies."""

    declared: str
    name: str
    path: Path


def build(source: str, output: str | None = None) -> Built:
    """Builds the artifact in the folder `source`.

    `output` is a path ending `.mur.zip` or a folder. Raises E-IO-001, E-MAN-*, E-BLD-001,
    E-BLD-002, E-BLD-003, E-BLD-008 and E-IO-003; nothing is written then.
    """
    folder = Path(source)
    manifest_path = os.path.join(source, MANIFEST)
    text = _read_manifest(manifest_path)
    manifest = parse_artifact_manifest(text, manifest_path)
    check_name(manifest.name, f"rename it in {manifest_path}, for example to my-tool")
    _check_blocks(manifest, manifest_path)
    target = output_path(source, manifest.name, manifest.version, output)
    files, lints = _declared_files(folder, manifest, manifest_path, target)
    warnings = [*manifest.warnings, *lints]
    entries = [Entry(MANIFEST, text), *_read(files, manifest)]
    level = _level(manifest, entries)
    warnings += _payload_warnings(manifest, manifest_path, entries)
    warnings += secret_warnings(text, manifest_path)
    write_archive(target, entries, level)
    return Built(target, level, tuple(warnings))


def _check_blocks(manifest: ArtifactManifest, manifest_path: str) -> None:
    """Raises E-BLD-008 for a `programs:` or `harness_needs:` block that staging would refuse."""
    try:
        parse_programs(manifest.programs, manifest.runtime)
        parse_harness_needs(manifest.harness_needs, manifest.runtime)
    except (BadPrograms, BadHarnessNeeds) as bad:
        raise error(
            "E-BLD-008", artifact=manifest_path, field=bad.field, reason=bad.reason
        ) from None


def check_name(name: str, hint: str) -> None:
    """Raises E-BLD-001 unless `name` is a bare artifact name."""
    fault = bare_name_fault(name)
    if fault is not None:
        raise error("E-BLD-001", name=name, reason=fault, hint=hint)


def output_path(folder: str, name: str, version: str, output: str | None) -> str:
    """Where the archive is written: `output`, or the default name in `output` or `folder`.

    Raises E-IO-003 for a version that is no file name and a path that does not end `.mur.zip`.
    """
    fault = version_fault(version)
    if fault is not None:
        raise error(
            "E-IO-003",
            what=f"the version {version!r} is no usable file name",
            reason=fault,
            hint="use a version such as 1.2.3",
        )
    file_name = f"{name}-{version}{SUFFIX}"
    if output is None:
        return os.path.join(folder, file_name)
    if os.path.isdir(output) or output.endswith(os.sep):
        return os.path.join(output, file_name)
    if not output.endswith(SUFFIX):
        raise error(
            "E-IO-003",
            what=f"--output {output}",
            reason=f"an output file's name ends in {SUFFIX}",
            hint=f"name a folder, or a file such as {file_name}",
        )
    return output


def write_archive(target: str, entries: Sequence[Entry], level: int | None) -> None:
    """Writes the archive, with its build record when a level fits.

    Raises E-BLD-002 for names that no reader of archives would take, and E-IO-003.
    """
    packed = [*entries, build_record(level)] if level is not None else entries
    _refuse_names([entry.name for entry in packed])
    try:
        write_whole(Path(target), archive_bytes(packed))
    except OSError as failure:
        raise error(
            "E-IO-003", what=f"{target} cannot be written", reason=failure.strerror, hint=""
        ) from failure


def _refuse_names(names: Sequence[str]) -> None:
    """Raises E-BLD-002: what the guard of archives refuses is not packed in the first place."""
    for name in names:
        fault = name_fault(name)
        if fault is not None:
            raise _refused(name, fault, "give the file another name")
    alike = collision(names)
    if alike is not None:
        one, other, how = alike
        raise _refused(
            other, f"with {one!r} it would be packed {how}", "give the two files distinct names"
        )


def secret_warnings(manifest: bytes, path: str) -> list[Diagnostic]:
    """W-SEC-004 for every literal secret in a manifest that has parsed already."""
    document = parse_document(manifest.decode("utf-8-sig"))
    return [
        warning("W-SEC-004", path=path, field=literal.path, masked=literal.masked)
        for literal in find_literals(document.value)
    ]


def _read_manifest(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise error(
            "E-IO-001",
            what="murmur.yaml",
            path=path,
            hint="name a folder that holds a murmur.yaml, or a skill folder with a SKILL.md",
        ) from None
    except PermissionError as failure:
        raise error("E-IO-002", path=path, reason=failure.strerror) from failure
    except OSError as failure:
        raise error(
            "E-IO-003", what=f"{path} cannot be read", reason=failure.strerror, hint=""
        ) from failure


def _declared_files(
    folder: Path, manifest: ArtifactManifest, manifest_path: str, target: str
) -> tuple[list[_File], list[Diagnostic]]:
    """The files to pack, in declaration order. Raises E-BLD-002 and E-IO-003."""
    declared = [
        _File(entry, _archive_name(entry), folder / entry) for entry in manifest.requires_files
    ]
    for file in declared:
        _require_present(file, manifest_path)
    for file in declared:
        _refuse_links(folder, file)
    seen = {os.path.realpath(folder / MANIFEST)}
    output = os.path.realpath(target)
    kept: dict[str, _File] = {}
    warnings = []
    for file in declared:
        real = os.path.realpath(file.path)
        if file.name == MANIFEST:
            warnings.append(warning("W-BLD-001", path=manifest_path, entry=file.declared))
        if real in seen or real == output:
            continue
        if file.name in (MANIFEST, BUILD_RECORD):
            raise _refused(
                file.declared,
                f"it would be packed as {file.name}, which is reserved",
                "give the file another name",
            )
        if file.name in kept:
            raise _refused(
                file.declared,
                f"{kept[file.name].declared!r} is packed as {file.name} as well",
                "give the two entries distinct paths",
            )
        seen.add(real)
        kept[file.name] = file
    return list(kept.values()), warnings


def _archive_name(declared: str) -> str:
    """The archive name of a declared path. Raises E-BLD-002 for one that may leave the folder."""
    name = declared.replace("\\", "/")
    hint = "use a plain path relative to the folder"
    if name.startswith("/") or re.match(r"[A-Za-z]:", name):
        raise _refused(declared, "it is an absolute path", hint)
    segments = [segment for segment in name.split("/") if segment not in ("", ".")]
    if ".." in segments:
        raise _refused(declared, "it holds a `..`", hint)
    if not segments or "\0" in name:
        raise _refused(declared, "it names no file", hint)
    return "/".join(segments)


def _require_present(file: _File, manifest_path: str) -> None:
    try:
        status = os.lstat(file.path)
    except OSError as failure:
        reason = "it does not exist" if isinstance(failure, FileNotFoundError) else failure.strerror
        raise _missing(file, manifest_path, reason or "it cannot be read") from None
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
        raise _missing(file, manifest_path, "it is not a file")


def _missing(file: _File, manifest_path: str, reason: str) -> Exception:
    return error(
        "E-IO-003",
        what=f"{manifest_path} requires {file.declared}",
        reason=reason,
        hint="build or create it first, or remove it from requires_files",
    )


def _refuse_links(folder: Path, file: _File) -> None:
    path = folder
    for segment in Path(file.declared).parts:
        path /= segment
        if path.is_symlink():
            raise _refused(
                file.declared,
                f"{path} is a symbolic link, which is not followed",
                "copy what it points at into the folder",
            )


def _refused(entry: str, reason: str, hint: str) -> Exception:
    return error("E-BLD-002", entry=entry, reason=reason, hint=hint)


def _read(files: Sequence[_File], manifest: ArtifactManifest) -> Iterator[Entry]:
    for file in files:
        try:
            data = file.path.read_bytes()
        except OSError as failure:
            raise error(
                "E-IO-003", what=f"{file.path} cannot be read", reason=failure.strerror, hint=""
            ) from failure
        yield Entry(file.name, data, file.name == f"bin/{manifest.name}")


def _level(manifest: ArtifactManifest, entries: Sequence[Entry]) -> int | None:
    """The level that the packed payload fits. Raises E-BLD-003."""
    if manifest.execution != "wasm":
        return built_at_level(None)
    try:
        name = select_component([entry.name for entry in entries])
    except NoPayload as bad:
        raise error("E-BLD-003", reason=str(bad)) from None
    component = next(entry.data for entry in entries if entry.name == name)
    return built_at_level(read_contracts(component))


def _payload_warnings(
    manifest: ArtifactManifest, manifest_path: str, entries: Sequence[Entry]
) -> list[Diagnostic]:
    names = [entry.name for entry in entries]
    found = []
    if manifest.execution == "wasm":
        idle = [name for name in names if re.fullmatch(r"[^/]*\.wasm", name) and name != COMPONENT]
        if COMPONENT in names and idle:
            found.append(warning("W-BLD-002", path=manifest_path, files=", ".join(sorted(idle))))
    if manifest.execution != "static":
        sources = [name for name in names if _is_build_input(name)]
        if sources:
            found.append(warning("W-BLD-003", path=manifest_path, files=", ".join(sources)))
    return found


def _is_build_input(name: str) -> bool:
    segments = name.split("/")
    return segments[-1] in _CARGO or name.endswith(".rs") or "target" in segments[:-1]
