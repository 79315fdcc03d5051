"""The folder that an artifact works in: the work folder, or one below it. spec/artifacts.md 6."""

import os

from murmur.core.diagnostics import error
from murmur.core.safefs import Root, UnsafePath


def accessible_folder(work: Root, scope: str | None) -> Root:
    """The folder an artifact sees as `.`: the work folder, or its scope below it, made if missing.

    Raises E-IO-003 when a link or a file stands on the way.
    """
    parts = [part for part in (scope or ".").split("/") if part not in ("", ".")]
    if not parts:
        return Root(os.dup(work.fileno()))
    try:
        return work.sub("/".join(parts), create=True, mode=0o777)
    except (OSError, UnsafePath) as failure:
        raise error(
            "E-IO-003",
            what=f"filesystem.scope {scope}",
            reason=str(failure.strerror),
            hint="a scope is a plain folder inside the work folder",
        ) from None
