"""The folder that a zipapp unpacked itself into, and whether anybody changed it since.

Below the Full tier nothing keeps commands from writing where the operator can, `~/.murmur/bin`
included. So a run whose commands had no kernel's boundary looks at the files again when they are
all dead, against the list that it read before the first of them started. design/decisions.md 13.
"""

import dataclasses
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from murmur.core.safefs import open_root

MANIFEST: Final = "MANIFEST"


@dataclasses.dataclass(frozen=True, slots=True)
class Installation:
    """An unpacked payload: its folder, and the sha256 of each file by its path below that."""

    folder: Path
    files: Mapping[str, str]

    def changed(self) -> list[str]:
        """The files that were changed, removed or added, by path; links count as added.

        Bytecode of a payload that lists none was made when it was unpacked, and is not judged.
        """
        judged_bytecode = any(name.endswith(".pyc") for name in self.files)
        missing = dict(self.files)
        wrong = []
        for base, folders, names in os.walk(self.folder):
            linked = [name for name in folders if os.path.islink(os.path.join(base, name))]
            for name in (*linked, *names):
                path = os.path.join(base, name)
                relative = os.path.relpath(path, self.folder)
                if relative == MANIFEST or (relative.endswith(".pyc") and not judged_bytecode):
                    continue
                expected = missing.pop(relative, None)
                if expected is None or os.path.islink(path) or _sha256(path) != expected:
                    wrong.append(relative)
        return sorted([*wrong, *missing])

    def remove(self) -> None:
        """Removes the folder, so that the next start unpacks anew. Raises OSError."""
        with open_root(self.folder.parent) as parent:
            parent.remove_tree(self.folder.name)


def _sha256(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def this_installation(module: str = __file__) -> Installation | None:
    """What this program runs from; None in a source tree."""
    folder = Path(module).resolve().parents[2]
    try:
        text = (folder / MANIFEST).read_text(encoding="utf-8")
    except OSError:
        return None
    lines = (line.partition("  ") for line in text.splitlines())
    return Installation(folder, {name: digest for digest, _, name in lines})
