"""What guest hosts may still open once locked down: the folders that their guests were granted.

design/decisions.md 7. A host that only compiles opens nothing but this interpreter's own modules:
the component and the place for its compiled form are handed to it as descriptors. Hosts that call
are started after staging, when `allow` has said which folder that is.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from murmur.sandbox.lockdown import (
    HostLockdown,
    LibraryMissing,
    Opening,
    find_library,
    interpreter_openings,
)


class GuestLockdown:
    """`murmur.guest.lockdown.Lockdown` for one session."""

    def __init__(self, library: Path) -> None:
        modules = interpreter_openings()
        self._current = HostLockdown(
            str(library),
            dict.fromkeys(("compile", "process-driver", "capsule", "drivers", "tools"), modules),
        )

    @property
    def library(self) -> str:
        return self._current.library

    def allow(
        self,
        folder: str,
        held: int,
        forms: Iterable[Path],
        hooks: Mapping[str, Sequence[tuple[str, int]]],
        state: Mapping[str, Sequence[tuple[str, int]]],
        *,
        landlock: bool,
    ) -> None:
        """From now on hosts that call may open `folder`, of which `held` is a descriptor.

        `hooks` are the hosts of hooks by name, each with the folders that it may open instead,
        and a descriptor of each; `state` are the durable stores by host, beside those. They map the
        compiled `forms` in place, which spares a copy.
        `landlock` false is for a kernel without it.
        """
        modules = interpreter_openings()
        calling = (*modules, *(Opening(str(form)) for form in forms))
        working = (*calling, Opening(folder, write=True, held=held))
        rules = {
            "process-driver": calling,
            "capsule": working,
            "drivers": working,
            "tools": working,
        }
        rules |= {host: (*calling, *_writable(folders)) for host, folders in hooks.items()}
        for host, stores in state.items():
            rules[host] = (*rules[host], *_writable(stores))
        self._current = HostLockdown(self.library, {"compile": modules, **rules}, landlock=landlock)

    def open_spec(self, host: str) -> int:
        """A descriptor of the spec for a host of that name; the caller closes it."""
        return self._current.open_spec(host)


def _writable(folders: Sequence[tuple[str, int]]) -> list[Opening]:
    return [Opening(path, write=True, held=held) for path, held in folders]


def find_guest_lockdown(helper: Path | None) -> GuestLockdown | None:
    """The lockdown with the library beside the helper; None where there is none to load.

    Without it the guests' routes say that they are outside the class.
    """
    try:
        library = find_library(helper)
    except LibraryMissing:
        return None
    return GuestLockdown(library) if os.access(library, os.R_OK) else None
