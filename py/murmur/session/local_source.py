"""Artifacts that a manifest reads from a path of its own, afresh at each launch.

Only a skill's text can be read so: a file, or a folder that holds a `skill.md` in any spelling. It
is in no store and no lock, and an entry declared as a tool answers with it as a skill does.
seeds/manifest-schema.md, *Local-source artifacts*.
"""

import dataclasses
import hashlib
import os
from pathlib import Path
from typing import Final

from murmur.core.diagnostics import error
from murmur.core.regular import read_regular_text
from murmur.manifest.artifact import ArtifactManifest
from murmur.manifest.capsule import LOCAL_VERSION, ArtifactEntry
from murmur.session.package import Package
from murmur.store.skill_text import front_block

_SKILL: Final = "skill.md"
_LARGEST: Final = 1 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class LocalSkill:
    """A skill as its file holds it. `manifest` is made up, as the file has none."""

    text: str
    manifest: ArtifactManifest

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def packed(self) -> bytes:
        """What stands for its own murmur.yaml in the runtime directory. JSON is YAML."""
        import json

        row = {
            "name": self.manifest.name,
            "version": self.manifest.version,
            "runtime": self.manifest.runtime,
            "description": self.manifest.description,
        }
        return (json.dumps(row, indent=2, ensure_ascii=False) + "\n").encode()


def read_local_skill(
    entry: ArtifactEntry, directory: Path, package: Package | None = None
) -> LocalSkill:
    """The skill of an entry with a `source`, relative to the manifest's `directory`.

    Of an installed capsule, a relative one is an entry of its `package`.

    Raises E-IO-001 for a path that is not there and for a folder without a skill.md, E-IO-003 for a
    file that cannot be read, E-RUN-001 for an entry whose role no text can play.
    """
    assert entry.source is not None
    if package is not None and not os.path.isabs(entry.source):
        return _packed_skill(entry, package)
    path = directory / entry.source
    file = _skill_file(entry, path) if path.is_dir() else path
    try:
        text = read_regular_text(file, _LARGEST)
    except FileNotFoundError:
        raise error(
            "E-IO-001",
            what="skill source path",
            path=path,
            hint=f"mend the source of {entry.name}, a path from the folder of murmur.yaml",
        ) from None
    except (OSError, UnicodeDecodeError) as failure:
        reason = failure.strerror if isinstance(failure, OSError) else "it is not UTF-8"
        raise error("E-IO-003", what=str(file), reason=str(reason), hint="mend the file") from None
    return _skill(entry, file, text)


def _packed_skill(entry: ArtifactEntry, package: Package) -> LocalSkill:
    source = os.path.normpath(entry.source or "")
    inside = f"{source}/{_SKILL}" if source != "." else _SKILL
    name = next(
        (each for each in package.payload.archive.names if each.lower() == inside.lower()), source
    )
    try:
        return _skill(entry, package.path(name), package.text(name))
    except FileNotFoundError:
        raise error(
            "E-IO-001",
            what="skill source path",
            path=package.path(source),
            hint="pack the file with the capsule: name it in requires_files",
        ) from None


def _skill(entry: ArtifactEntry, file: Path, text: str) -> LocalSkill:
    if entry.runtime in ("driver", "hook"):
        raise error(
            "E-RUN-001",
            artifact=entry.label,
            reason=f"the capsule declares runtime: {entry.runtime}, and {file} is a skill's text",
            hint="declare runtime: skill, or build and install the artifact",
        )
    return LocalSkill(text, _manifest(entry, text))


def _skill_file(entry: ArtifactEntry, folder: Path) -> Path:
    """The `skill.md` in a folder, whatever its spelling; the first by name where there are two."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.lower() == _SKILL)
    except OSError as failure:
        raise error(
            "E-IO-003", what=str(folder), reason=failure.strerror, hint="mend the folder"
        ) from None
    if not names:
        raise error(
            "E-IO-001",
            what="skill.md",
            path=folder,
            hint=f"the source of {entry.name} is a folder, and has to hold its skill.md",
        )
    return folder / names[0]


def _manifest(entry: ArtifactEntry, text: str) -> ArtifactManifest:
    return ArtifactManifest(
        name=entry.bare_name,
        version=LOCAL_VERSION,
        runtime="skill",
        execution="static",
        description=front_block(text).get("description", ""),
    )
