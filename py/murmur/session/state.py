"""Durable state: one folder outside every workdir for each artifact entry that is granted it.

A guest sees it as the preopen `state`; commands never reach it. spec/sessions.md 19;
seeds/manifest-schema.md, *State store name*.
"""

import contextlib
import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from murmur.core.diagnostics import error
from murmur.core.home import Home
from murmur.core.safefs import Root, open_root
from murmur.guest.calls import hook_host
from murmur.manifest.capsule import Capsule
from murmur.session.grants import state_stores

PREOPEN: Final = "state"


@dataclasses.dataclass(frozen=True, slots=True)
class StateFolder:
    """A store that one artifact is granted: where it is, and the root that is held."""

    path: Path
    root: Root


StateFolders = Mapping[str, StateFolder]
"""By full artifact name. Two that name one store share it."""


def open_state_stores(home: Home, capsule: Capsule) -> dict[str, StateFolder]:
    """The stores of a capsule's artifacts, made where they are missing and closed to others.

    Raises E-CAP-009 naming one that cannot be made such a directory.
    """
    with contextlib.ExitStack() as undo:
        found: dict[str, StateFolder] = {}
        for artifact, store in state_stores(capsule).items():
            try:
                root = _open(home, store)
            except OSError as failure:
                reason = f"{home.state / store} cannot be used: {failure.strerror or failure}"
                raise error("E-CAP-009", store=store, reason=reason) from None
            undo.callback(root.close)
            found[artifact] = StateFolder(home.state / store, root)
        undo.pop_all()
    return found


def _open(home: Home, store: str) -> Root:
    """The store's directory; its mode and its parent's are set anew at every launch."""
    with open_root(home.root) as murmur, murmur.sub("state", create=True, mode=0o700) as stores:
        os.fchmod(stores.fileno(), 0o700)
        root = stores.sub(store, create=True, mode=0o700)
    try:
        os.fchmod(root.fileno(), 0o700)
    except OSError:
        root.close()
        raise
    return root


def close_state_stores(folders: StateFolders) -> None:
    """Lets go of them; doing it again does nothing."""
    for folder in folders.values():
        folder.root.close()


def state_openings(folders: StateFolders, capsule: Capsule) -> dict[str, list[tuple[str, int]]]:
    """What each guest host may open beside the rest: a path and the descriptor held of it."""
    found: dict[str, list[tuple[str, int]]] = {}
    for entry in capsule.artifacts:
        folder = folders.get(entry.name)
        if folder is None:
            continue
        host = hook_host(entry.name) if entry.runtime == "hook" else f"{entry.runtime}s"
        found.setdefault(host, []).append((str(folder.path), folder.root.fileno()))
    return found
