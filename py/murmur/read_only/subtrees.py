"""The subtrees of `capabilities.filesystem.read_only`, and whether a path lies in one.

seeds/manifest-schema.md, Read-only paths: a candidate is resolved against the work folder, links
included, and matched a component at a time. Resolving only reads links; nothing is opened.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

Components = tuple[str, ...]

_LONGEST: Final = 4096


@dataclass(frozen=True, slots=True)
class Covered:
    """A path below a subtree: `path` relative to the work folder, `rule` as the manifest has it."""

    path: str
    rule: str


class Protected(Protocol):
    """What the check asks: whether a path is covered by some rule. `workdir` is where relative
    paths start.
    """

    @property
    def workdir(self) -> str: ...

    @property
    def rules(self) -> tuple[str, ...]: ...

    def covering(
        self, path: str, base: str | None = None, *, entry: bool = False
    ) -> Covered | None:
        """The path and the rule that covers it, or None."""


@dataclass(frozen=True, slots=True)
class Subtrees:
    """The read-only subtrees of one work folder, an absolute path without links in it."""

    workdir: str
    rules: tuple[str, ...]

    def covering(
        self, path: str, base: str | None = None, *, entry: bool = False
    ) -> Covered | None:
        """The subtree that holds `path`, or None; a path outside the work folder is in none.

        `base` is the folder that a relative path starts from, the work folder by default. With
        `entry` the path's own directory entry counts beside what it leads to: removing a link
        changes the folder that holds the link.
        """
        whole = os.path.join(self.workdir if base is None else base, path)
        if not path or not _can_exist(whole):
            return None
        candidates = [os.path.realpath(whole)]
        if entry:
            parent, name = os.path.split(whole.rstrip("/"))
            if name not in ("", ".", ".."):
                candidates.append(os.path.join(os.path.realpath(parent), name))
        for candidate in candidates:
            inside = self._inside(candidate)
            if inside is None:
                continue
            for rule in self.rules:
                top = self._inside(os.path.realpath(os.path.join(self.workdir, rule)))
                if top is not None and inside[: len(top)] == top:
                    return Covered("/".join(inside) or ".", rule)
        return None

    def _inside(self, resolved: str) -> Components | None:
        """The components of a resolved path below the work folder; None outside it."""
        if resolved == self.workdir:
            return ()
        prefix = self.workdir.rstrip("/") + "/"
        if not resolved.startswith(prefix):
            return None
        return tuple(resolved[len(prefix) :].split("/"))


def _can_exist(path: str) -> bool:
    """Whether the kernel would take `path` at all."""
    if "\0" in path or len(path) > _LONGEST:
        return False
    try:
        path.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def subtrees(workdir: str, entries: Iterable[str]) -> Subtrees:
    """The subtrees that the manifest's entries name below `workdir`."""
    return Subtrees(os.path.realpath(workdir), tuple(entries))
