"""What is attached in the host's own root, below a composed one. spec/containment.md 14.

Only what is attached for writing can be written, whatever Landlock grants: the helper makes all
else of the host read-only.
"""

import os
from collections.abc import Iterable, Mapping
from typing import Final

from murmur.sandbox import mounts
from murmur.sandbox.binaries import inside
from murmur.sandbox.launchspec import Tree

TMP: Final = "/tmp"


def host_view(
    written: Mapping[str, bool],
    read: Iterable[str],
    used: Iterable[str],
    over: Mapping[str, str],
    temp: str | None,
    code: Iterable[str] = (),
) -> tuple[Tree, ...]:
    """The trees, shallowest first: a deeper one must land on top of a shallower one.

    `written` are folders and files for writing, each with whether no code may be loaded from it;
    `read` the session's folders for reading; `used` other paths that commands were granted. `over`
    has, by the host's canonical path, files of the session's that stand in for the host's. `temp`
    is attached as /tmp, which hides whatever the host keeps beneath: what is granted there comes
    back. None: /tmp stays the host's. `code` are folders below one of `read` whose programs run.
    """
    tmp = os.path.realpath(TMP)
    plan = {path: _tree(path, path, noexec=noexec) for path, noexec in written.items()}
    if temp is not None:
        for path in read:
            if inside(path, [tmp]):
                plan.setdefault(path, _tree(path, path, noexec=True, read_only=True))
        for path in code:
            if inside(path, [tmp]):
                plan[path] = _tree(path, path, noexec=False, read_only=True)
        for path in used:
            if inside(path, [tmp]) and not inside(path, plan) and os.path.exists(path):
                plan[path] = _tree(path, path, noexec=False, read_only=True)
    for alias in mounts.aliases(written):
        plan.setdefault(alias, _tree(alias, alias, noexec=any(written.values())))
    trees = list(plan.values())
    trees += [_tree(own, path, noexec=True, read_only=True) for path, own in over.items()]
    if temp is not None:
        trees.append(_tree(temp, tmp, noexec=True))
    return tuple(sorted(trees, key=lambda tree: (tree.target.count("/"), tree.target)))


def _tree(source: str, target: str, *, noexec: bool, read_only: bool = False) -> Tree:
    status = os.stat(source)
    return Tree(
        source,
        target,
        status.st_dev,
        status.st_ino,
        noexec=noexec,
        read_only=read_only,
        make_target=source == target and inside(target, [os.path.realpath(TMP)]),
    )
