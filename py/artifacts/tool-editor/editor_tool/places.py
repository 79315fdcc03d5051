"""Paths of the input, and the one folder that no operation reaches."""

from pathlib import Path

from murmur_tooling import places
from murmur_tooling.members import ToolError

HISTORY = ".tool-editor"
"""Where the editor keeps what `undo` brings back."""


def resolve(folder: Path, text: str) -> str:
    """The path below `folder` that `text` leads to, as `murmur_tooling.places` has it.

    Raises ToolError `permission_denied` for what leads into the editor's own folder.
    """
    path = places.resolve(folder, text)
    if path.partition("/")[0] == HISTORY:
        raise ToolError("permission_denied", f"{HISTORY} is the editor's own; use undo")
    return path
