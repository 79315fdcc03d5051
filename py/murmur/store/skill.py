"""`mur build` of a skill: a folder or a zip with a `SKILL.md` becomes a `.mur.zip`.

spec/registry.md 6 and the skill part of the CLI reference's `mur build`.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from murmur.core.diagnostics import error
from murmur.manifest.artifact import parse_artifact_manifest
from murmur.manifest.refusal import Refusals
from murmur.store.archive import (
    BUILD_RECORD,
    MANIFEST,
    SKILL,
    SUFFIX,
    Archive,
    BadArchive,
    Colliding,
    Entry,
    Refused,
    decompression_ceiling,
)
from murmur.store.build import Built, check_name, output_path, secret_warnings, write_archive
from murmur.store.content import hold_file
from murmur.store.levels import built_at_level
from murmur.store.scalars import yaml_scalar
from murmur.store.skill_text import front_block, with_description

DEFAULT_VERSION: Final = "0.1.0"
_NAME_HINT: Final = "pass --skill <name> with a name such as pdf-helper"


def is_skill_folder(source: str) -> bool:
    """Whether a folder has no `murmur.yaml` and a root `SKILL.md` in any casing."""
    try:
        names = os.listdir(source)
    except OSError:
        return False
    return MANIFEST not in names and any(name.lower() == SKILL for name in names)


def build_skill(
    source: str,
    *,
    name: str | None = None,
    version: str | None = None,
    summary: str | None = None,
    output: str | None = None,
) -> Built:
    """Packs the skill in `source`, a folder or a `.zip`.

    Raises E-IO-001 without a `SKILL.md`, E-MAN-002 and E-MAN-003 for a `murmur.yaml` that is no
    skill's, E-BLD-001, E-BLD-002 and E-IO-003. Nothing is written then.
    """
    found = dict(_folder_entries(source) if os.path.isdir(source) else _zip_entries(source))
    text = _take_skill(source, found)
    manifest = found.pop(MANIFEST, None)
    if BUILD_RECORD in found:
        raise error(
            "E-BLD-002",
            entry=BUILD_RECORD,
            reason="mur build writes that file itself",
            hint="remove it, or give it another name",
        )
    if manifest is None:
        manifest = _generate(source, text, name, version, summary)
    elif summary is not None:
        manifest = with_description(_decode(manifest, source), summary).encode()
    parsed = parse_artifact_manifest(manifest, os.path.join(source, MANIFEST))
    if parsed.runtime != "skill":
        raise Refusals(os.path.join(source, MANIFEST)).rejected(
            ("runtime",),
            f"it is {parsed.runtime or 'absent'}, and a skill is packed with runtime: skill",
            "set runtime: skill, or build without --skill",
        )
    check_name(parsed.name, _NAME_HINT)
    target = output_path(".", parsed.name, parsed.version, output)
    entries = [Entry(MANIFEST, manifest), Entry(SKILL, text)]
    real = os.path.realpath(target)
    for entry_name in sorted(found):
        if os.path.realpath(os.path.join(source, entry_name)) != real:
            entries.append(Entry(entry_name, found[entry_name]))
    level = built_at_level(None)
    write_archive(target, entries, level)
    return Built(target, level, tuple(secret_warnings(manifest, os.path.join(source, MANIFEST))))


def infer_name(source: str) -> str:
    """The name that a folder's or a zip's own name gives. CLI reference, *Name inference*."""
    last = os.path.basename(os.path.abspath(source.rstrip("/")))
    last = re.sub(r"\.zip\Z", "", last, flags=re.IGNORECASE).lower()
    last = re.sub(r"[^a-z0-9-]", "_", last)
    return re.sub(r"_+", "_", last).strip("_-")


def _generate(
    source: str, text: bytes, name: str | None, version: str | None, summary: str | None
) -> bytes:
    """A manifest for a skill that has none: name, version, runtime, and description when set."""
    block = front_block(text.decode("utf-8", "replace"))
    chosen = name or block.get("name") or infer_name(source)
    check_name(chosen, _NAME_HINT)
    description = summary if summary is not None else block.get("description")
    lines = [
        f"name: {yaml_scalar(chosen)}",
        f"version: {yaml_scalar(version or DEFAULT_VERSION)}",
        "runtime: skill",
    ]
    if description:
        lines.append(f"description: {yaml_scalar(description)}")
    return ("\n".join(lines) + "\n").encode()


def _take_skill(source: str, found: dict[str, bytes]) -> bytes:
    """Takes the skill's own text out of the entries. Raises E-IO-001 and E-BLD-002."""
    names = sorted(name for name in found if name.lower() == SKILL)
    if not names:
        raise error(
            "E-IO-001",
            what="SKILL.md",
            path=os.path.join(source, "SKILL.md"),
            hint="a skill is a folder or a .zip with a SKILL.md at its root",
        )
    if len(names) > 1:
        raise error(
            "E-BLD-002",
            entry=names[0],
            reason=f"{' and '.join(names)} would both be packed as {SKILL}",
            hint="keep one of them",
        )
    return found.pop(names[0])


def _folder_entries(source: str) -> Iterator[tuple[str, bytes]]:
    """Every file to pack, by its path relative to the folder. Raises E-BLD-002 for a link."""
    pending = [""]
    while pending:
        relative = pending.pop()
        for entry in sorted(os.scandir(os.path.join(source, relative)), key=lambda e: e.name):
            name = f"{relative}/{entry.name}" if relative else entry.name
            if entry.name.startswith("."):
                continue
            if entry.is_symlink():
                raise error(
                    "E-BLD-002",
                    entry=name,
                    reason="it is a symbolic link, which is not followed",
                    hint="copy what it points at into the folder",
                )
            if entry.is_dir(follow_symlinks=False):
                pending.append(name)
            elif entry.is_file(follow_symlinks=False) and not entry.name.endswith(SUFFIX):
                yield name, _read(Path(entry.path))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as failure:
        raise error(
            "E-IO-003", what=f"{path} cannot be read", reason=failure.strerror, hint=""
        ) from failure


def _zip_entries(source: str) -> Iterator[tuple[str, bytes]]:
    """Every root entry of a zip. Raises E-IO-001, E-IO-003 and E-BLD-002 for a link."""
    path = Path(source)
    if not path.is_file():
        raise error("E-IO-001", what="skill", path=source, hint="name a folder or a .zip file")
    try:
        archive = Archive(hold_file(path), decompression_ceiling(os.environ))
        for name in archive.names:
            if "/" not in name and not name.startswith("."):
                yield name, archive.read(name)
    except Colliding as bad:
        raise error(
            "E-BLD-002", entry=bad.one, reason=str(bad), hint="keep one of them in the zip"
        ) from None
    except BadArchive as bad:
        if isinstance(bad, Refused) and bad.links:
            raise error(
                "E-BLD-002",
                entry=bad.entry,
                reason="it is a symbolic link, which is not followed",
                hint="put the file itself into the zip",
            ) from None
        raise error("E-IO-003", what=f"{source} cannot be read", reason=str(bad), hint="") from None
    except OSError as failure:
        raise error(
            "E-IO-003", what=f"{source} cannot be read", reason=failure.strerror, hint=""
        ) from failure


def _decode(manifest: bytes, source: str) -> str:
    """A manifest's text, known to be a mapping. Raises E-MAN-002."""
    path = os.path.join(source, MANIFEST)
    parse_artifact_manifest(manifest, path)
    return manifest.decode("utf-8-sig")
