"""Registering with `mur-roost`, which a capsule that may start sub-capsules does at launch.

spec/sessions.md 6.4, step 1. This build has no delegation: where the daemon is there, a launch is
refused all the same, and says so.
"""

import os
import shutil
import socket
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from murmur.core.diagnostics import MurmurError, error
from murmur.manifest.capsule import Capsule

ROOST: Final = "mur-roost"
ROOST_URL: Final = "MURMUR_ROOST_URL"
_CONNECT_S: Final = 2.0


def register(capsule: Capsule, environ: Mapping[str, str]) -> None:
    """Raises E-RUN-019 for a capsule with `spawn.allow`."""
    if not capsule.capabilities.spawn_allow:
        return
    refusal = roost_refusal(capsule, environ)
    if refusal is None:
        refusal = error(
            "E-RUN-019",
            url=environ[ROOST_URL],
            reason="this build of mur does not delegate yet, so it cannot register",
        )
    raise refusal


def roost_refusal(capsule: Capsule, environ: Mapping[str, str]) -> MurmurError | None:
    """E-RUN-019 when the daemon that the capsule registers with is not there to register with."""
    if not capsule.capabilities.spawn_allow:
        return None
    url = environ.get(ROOST_URL, "")
    if shutil.which(ROOST, path=environ.get("PATH", os.defpath)) is None:
        return error("E-RUN-019", url=url or ROOST_URL, reason=f"{ROOST} is not on PATH")
    if not url:
        return error("E-RUN-019", url=ROOST_URL, reason=f"{ROOST_URL} is not set")
    problem = _connects(url)
    if problem is None:
        return None
    return error("E-RUN-019", url=url, reason=f"nothing answers there: {problem}")


def _connects(url: str) -> str | None:
    """Why nothing can be reached at `url`, by connecting and no more; None when something can."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        if not parts.hostname:
            return "it is not a URL"
        socket.create_connection((parts.hostname, port), _CONNECT_S).close()
    except (OSError, ValueError) as failure:
        return str(getattr(failure, "strerror", None) or failure)
    return None
