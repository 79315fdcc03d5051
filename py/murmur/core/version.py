"""The version of this mur. A build from main is `X.Y.Z-dev`, the next release's number."""

import functools
import re
from pathlib import Path
from typing import Final

VERSION: Final = "0.1.0-dev"

_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_HERE: Final = Path(__file__)


@functools.cache
def build_commit() -> str | None:
    """The commit this mur was built from, 40 lowercase hex digits; None when nothing tells.

    A packaged build has it baked into the file `commit` beside this module; a checkout is asked
    itself. git is not started: this runs on every `mur version` and in every launch.
    """
    baked = baked_commit()
    if baked is not None:
        return baked
    root = _HERE.resolve().parent.parent.parent
    if root.name != "py":  # not a checkout, so a .git further up is somebody else's
        return None
    git = root.parent / ".git"
    if git.is_file():  # a linked worktree names its own directory
        git = git.parent / (_line(git) or "").removeprefix("gitdir: ")
    head = _line(git / "HEAD") or ""
    commit = _reference(git, head.removeprefix("ref: ")) if head.startswith("ref: ") else head
    return commit if commit is not None and _COMMIT.fullmatch(commit) else None


def baked_commit() -> str | None:
    """The commit that a packaged build carries; None in a checkout, or without one."""
    baked = _line(_HERE.with_name("commit")) or ""
    return baked if _COMMIT.fullmatch(baked) else None


def _reference(git: Path, name: str) -> str | None:
    """What a branch points at: a file of its own, or a line of `packed-refs`."""
    common = _line(git / "commondir")
    shared = git / common if common else git
    for directory in (git, shared):
        if found := _line(directory / name):
            return found
    try:
        packed = (shared / "packed-refs").read_text("ascii", "replace")
    except OSError:
        return None
    for line in packed.splitlines():
        commit, _, reference = line.partition(" ")
        if reference == name:
            return commit
    return None


def _line(path: Path) -> str | None:
    try:
        return path.read_text("ascii", "replace").strip()
    except OSError:
        return None
