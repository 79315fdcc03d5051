"""What a composed root holds, planned whole before anything is made. spec/containment.md 13.

Every path stands in it under its own name, so that a canonical path of the host's is the same path
inside. Devices and /proc are the helper's.
"""

import os
from collections.abc import Iterable, Sequence
from typing import Final

from murmur.sandbox import mounts
from murmur.sandbox.binaries import Binary, inside
from murmur.sandbox.launchspec import Tree
from murmur.sandbox.widening import PathGrant

FIXED: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")

ETC_FILES: Final = (
    "ld.so.cache",
    "ld.so.conf",
    "ca-certificates.conf",
    "resolv.conf",
    "hosts",
    "nsswitch.conf",
    "localtime",
    "timezone",
)
ETC_FOLDERS: Final = (
    "ld.so.conf.d",
    "alternatives",
    "ssl",
    "pki",
    "ca-certificates",
    "terminfo",
)


def fixed_trees() -> tuple[str, ...]:
    """The system trees of this host that are folders of their own, canonical."""
    return tuple(dict.fromkeys(os.path.realpath(path) for path in FIXED if os.path.isdir(path)))


class RootPlan:
    """Collects the trees of one composed root; of two for one place, the one that is needed."""

    def __init__(self) -> None:
        self._trees: dict[str, Tree] = {}
        self._folders: list[str] = []

    def trees(self) -> tuple[Tree, ...]:
        """What to attach, shallowest first: a deeper one must land on top of a shallower one."""
        return tuple(
            sorted(self._trees.values(), key=lambda tree: (tree.target.count("/"), tree.target))
        )

    def system(self) -> None:
        """/usr and its like, a merged one as the link that it is; and what /etc holds."""
        for path in FIXED:
            if os.path.islink(path):
                self._put(Tree(os.readlink(path), path, link=True))
            elif os.path.isdir(path):
                self._bind(path, noexec=False)
        for name in (*ETC_FILES, *ETC_FOLDERS):
            self._etc(f"/etc/{name}")

    def _etc(self, path: str) -> None:
        real = os.path.realpath(path)
        if os.path.islink(path) and inside(real, self._folders):
            self._put(Tree(os.readlink(path), path, link=True))
        elif os.path.exists(real):
            self._put(Tree(real, path, read_only=True, noexec=True, make_target=True,
                           optional=True))  # fmt: skip

    def programs(self, binaries: Iterable[Binary], own: Sequence[str]) -> None:
        """The folders of programs that lie elsewhere, what these load, and the names they were
        found under.

        A folder so wide that it holds one of the session's `own` would bring in a whole home: then
        the program comes alone.
        """
        for binary in binaries:
            for path in binary.all_paths:
                if not self._holds(path):
                    folder = os.path.dirname(path)
                    wide = any(inside(each, (folder,)) for each in own)
                    self._bind(path if wide else folder, noexec=False)
            for path in binary.closure:
                if not self._holds(path):
                    self._bind(path, noexec=False)
            for name in binary.found:
                self._link(name)

    def grants(self, grants: Sequence[PathGrant], *, noexec: bool) -> None:
        """Grants; what is granted for writing is attached even where it can be seen already.

        `noexec`: no code of what commands write may be loaded.
        """
        for each in grants:
            if each.required:
                self._bind(each.path, noexec=False, optional=False)
            elif each.write:
                self._put(Tree(each.path, each.path, noexec=noexec, make_target=True,
                               optional=True))  # fmt: skip
            elif not self._holds(each.path) and os.path.exists(each.path):
                self._bind(each.path, noexec=False)
            self._link(each.declared)

    def own(self, path: str, *, target: str | None = None, noexec: bool, write: bool) -> None:
        """A folder or file of the session's, which must be there and be what the runtime saw."""
        status = os.stat(path)
        self._put(
            Tree(
                path,
                path if target is None else target,
                status.st_dev,
                status.st_ino,
                noexec=noexec,
                read_only=not write,
                make_target=True,
            )
        )

    def close_aliases(self, written: Iterable[str]) -> None:
        """Second ways to what commands write, through what the root holds: no code runs there."""
        for path in mounts.aliases(written):
            if self._holds(path) and path not in self._trees:
                self._put(Tree(path, path, noexec=True, read_only=True))

    def _holds(self, path: str) -> bool:
        return inside(path, self._folders)

    def _bind(self, path: str, *, noexec: bool, optional: bool = True) -> None:
        self._put(
            Tree(path, path, noexec=noexec, read_only=True, make_target=True, optional=optional)
        )
        self._folders.append(path)

    def _link(self, name: str) -> None:
        """The links through which a name leads, where the root does not hold them yet."""
        here = "/"
        for part in name.split("/"):
            here = os.path.join(here, part)
            if os.path.islink(here):
                if not self._holds(here) and here not in self._trees:
                    self._put(Tree(os.path.realpath(here), here, link=True))
                here = os.path.realpath(here)

    def _put(self, tree: Tree) -> None:
        there = self._trees.get(tree.target)
        if there is None or (there.optional and not tree.optional) or there.link:
            self._trees[tree.target] = tree
