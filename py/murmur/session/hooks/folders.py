"""The folders that hooks are granted, held open from staging to the session's end.

spec/artifacts.md 6 and 15.6; seeds/manifest-schema.md, Hook capabilities. A hook without a grant
has none. `filesystem.scope` is its `.`; `hooks/` of the records, by `filesystem.records`, is `.`
too, and beside a scope `records` (open in the reference).
"""

import contextlib
import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path

from murmur.core.safefs import Root
from murmur.guest.calls import hook_host
from murmur.manifest.capsule import ArtifactEntry
from murmur.session.accessible import accessible_folder
from murmur.session.directories import Directories

RECORDS = "hooks"


@dataclasses.dataclass(frozen=True, slots=True)
class HookFolder:
    """One folder: where it is, the root that is held, the name that the hook sees it by."""

    path: Path
    root: Root
    name: str


HookFolders = Mapping[str, tuple[HookFolder, ...]]
"""By full artifact name."""


def open_hook_folders(
    directories: Directories, entries: Iterable[ArtifactEntry]
) -> dict[str, tuple[HookFolder, ...]]:
    """The folders of every hook, made where they are missing.

    Raises E-IO-003 for a scope that is no plain folder, OSError for the records.
    """
    with contextlib.ExitStack() as undo:
        found: dict[str, tuple[HookFolder, ...]] = {}
        for entry in entries:
            if entry.runtime == "hook":
                folders = tuple(_folders(directories, entry))
                for folder in folders:
                    undo.callback(folder.root.close)
                found[entry.name] = folders
        undo.pop_all()
    return found


def _folders(directories: Directories, entry: ArtifactEntry) -> list[HookFolder]:
    granted = entry.capabilities
    if granted is None:
        return []
    folders: list[HookFolder] = []
    scope = granted.filesystem_scope
    if scope is not None:
        root = accessible_folder(directories.work_root, scope)
        folders.append(HookFolder(directories.work / scope, root, "."))
    if granted.filesystem is not None and granted.filesystem.records:
        root = directories.records_root.sub(RECORDS, create=True, mode=0o700)
        name = "records" if folders else "."
        folders.append(HookFolder(directories.records / RECORDS, root, name))
    return folders


def close_hook_folders(folders: HookFolders) -> None:
    """Lets go of them; doing it again does nothing."""
    for folder in (each for held in folders.values() for each in held):
        folder.root.close()


def openings_by_host(folders: HookFolders) -> dict[str, list[tuple[str, int]]]:
    """What each hook's guest host may open: a path and the descriptor that is held of it."""
    return {
        hook_host(name): [(str(folder.path), folder.root.fileno()) for folder in held]
        for name, held in folders.items()
    }
