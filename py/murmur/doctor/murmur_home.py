"""*Murmur home*: the mode of `~/.murmur` and of each entry in it. Nothing is changed.

CLI reference, *Murmur home*; spec/registry.md 26.
"""

import dataclasses
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from murmur.core.diagnostics import Diagnostic, warning
from murmur.core.home import Home

MOST_LISTED: Final = 20
_FOLDER: Final = 0o700
_FILE: Final = 0o600
_KEPT: Final = (
    "each kept until its formation has ended and the entry member's trace.retain expires it"
)


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """A known name. The modes beneath are held `levels` deep (None: all the way), and not below a
    session's own folder where `to_session` is set."""

    name: str
    purpose: str
    private: bool = True
    disposable: bool = False
    retention: str = ""
    levels: int | None = None
    to_session: bool = False

    @property
    def said(self) -> str:
        parts = [self.purpose, self.retention, "safe to delete" if self.disposable else ""]
        parts.append("expected owner-only" if self.private else "")
        return ", ".join(part for part in parts if part)


# A session's own folder holds what its commands and guests write with their own modes; nobody else
# gets there, since every level down to it is owner-only.
ENTRIES: Final = (
    Entry("config.yaml", "provider credentials"),
    Entry("deploy_keys", "SSH private keys"),
    Entry("deploy_staging", "deployment staging copies"),
    Entry("deployments.json", "deployment records"),
    Entry("spend", "the machine spend ledger"),
    Entry("conversations", "conversation records"),
    Entry("running", "running-capsule records"),
    Entry("state", "capsule state stores"),
    Entry("records", "session records", to_session=True),
    Entry("sessions", "runtime directories of live sessions", to_session=True),
    Entry("artifacts", "installed artifacts", private=False),
    Entry("programs", "pinned programs"),
    Entry("compiled", "compiled WASM cache", disposable=True),
    Entry("host_facts", "facts about allowlisted host binaries", disposable=True),
    Entry("bin", "cached mur binaries", private=False),
    Entry("formations", "formation members' working directories", retention=_KEPT, levels=2),
)


def home_block(home: Home | None, problem: str) -> tuple[list[str], list[Diagnostic]]:
    """The block, and W-SEC-028 for each path that is wider than it is held.

    `home` None is a HOME that cannot be resolved; `problem` says why.
    """
    if home is None:
        return [f"Murmur home: not reported, {problem}"], []
    lines = [f"Murmur home ({home.root})"]
    found: list[Diagnostic] = []
    lines += _entry_lines(home.root, Entry(".", "the murmur home", levels=0), found)
    for entry in ENTRIES:
        lines += _entry_lines(home.root / entry.name, entry, found)
    for name in _others(home.root):
        shown = _shown(home.root / name)
        lines.append(f"  {name}: {shown}  something not recognised by this build")
    return lines, found


def _others(root: Path) -> list[str]:
    known = {entry.name for entry in ENTRIES}
    try:
        return sorted(name for name in os.listdir(root) if name not in known)
    except OSError:
        return []


def _shown(path: Path) -> str:
    try:
        return f"{stat.S_IMODE(os.lstat(path).st_mode):04o}"
    except FileNotFoundError:
        return "absent"
    except OSError as failure:
        return f"unreadable ({failure.strerror})"


def _entry_lines(path: Path, entry: Entry, found: list[Diagnostic]) -> list[str]:
    lines = [f"  {entry.name}: {_shown(path)}  {entry.said}"]
    if not entry.private:
        return lines
    own = _too_wide(path)
    if own is not None:
        found.append(_warning(path, own))
    wide = list(_wider_below(path, entry.levels, entry.to_session))
    for below, held, mode in wide[:MOST_LISTED]:
        relative = below.relative_to(path.parent)
        lines.append(f"    wider than {held:04o}: {relative} is {mode:04o}")
        found.append(_warning(below, (held, mode)))
    if len(wide) > MOST_LISTED:
        lines.append(f"    and {len(wide) - MOST_LISTED} more wider than expected")
    return lines


def _too_wide(path: Path) -> tuple[int, int] | None:
    """(mode held, mode) of a path that is wider; None for one that is not, or is none of ours."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    if not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
        return None
    held = _FOLDER if stat.S_ISDIR(status.st_mode) else _FILE
    mode = stat.S_IMODE(status.st_mode)
    return (held, mode) if mode & ~held & 0o777 else None


def _wider_below(
    path: Path, levels: int | None, to_session: bool
) -> Iterator[tuple[Path, int, int]]:
    """Every wider path beneath a folder, by name, links not followed."""
    if levels == 0:
        return
    try:
        names = sorted(os.listdir(path))
    except OSError:
        return
    for name in names:
        below = path / name
        wide = _too_wide(below)
        if wide is not None:
            yield (below, *wide)
        if not below.is_symlink() and not (to_session and name.startswith("ses_")):
            deeper = None if levels is None else levels - 1
            yield from _wider_below(below, deeper, to_session)


def _warning(path: Path, wide: tuple[int, int]) -> Diagnostic:
    held, mode = wide
    return warning(
        "W-SEC-028",
        path=path,
        holds="is murmur's own",
        mode=f"{mode:04o}",
        remedy=f"chmod {held:o} {path}",
    )
