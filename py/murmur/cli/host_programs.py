"""What an install of a project prepares of its `capabilities.shell.allow`: pinned programs of its
tools, and the facts that the first launch would ask of the binaries. spec/registry.md 12, 16, 17.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from murmur.core.diagnostics import MurmurError, error
from murmur.core.home import Home

if TYPE_CHECKING:
    from murmur.store.fetching import Watcher
    from murmur.store.program_downloads import Pinned
    from murmur.store.programs import Staged
    from murmur.store.ready import Ready


def allowed_binaries(manifest: Path) -> tuple[str, ...]:
    """The manifest's `shell.allow`; nothing where the manifest cannot be read.

    What is installed by name does not depend on the manifest, so a bad one is no refusal here.
    """
    from murmur.manifest.parse import load_capsule

    with contextlib.suppress(OSError, UnicodeDecodeError, MurmurError):
        text = manifest.read_text("utf-8")
        return load_capsule(text, str(manifest)).capsule.capabilities.shell_allow
    return ()


class StagedPrograms:
    """Downloads that are verified and unpacked, and not yet in the program store."""

    def __init__(self, staged: "Sequence[tuple[Pinned, Staged]]") -> None:
        self._staged = staged

    def commit(self) -> list[str]:
        """Puts them into the store; a line for each."""
        for _, staged in self._staged:
            staged.store.commit(staged)
        return [f"Stored {pinned.label} ({pinned.download.platform})" for pinned, _ in self._staged]

    def discard(self) -> None:
        """Removes what was not committed."""
        for _, staged in self._staged:
            staged.store.discard(staged)


@contextlib.contextmanager
def staged_programs(
    ready: "Sequence[Ready]", allowed: Sequence[str], home: Home, watcher: "Watcher | None"
) -> Iterator[StagedPrograms]:
    """The pinned downloads of the tools in `ready`, gone again unless they are committed.

    A program that PATH has is not downloaded, since a launch would take the host's. Raises as
    `fetch_programs`, and E-IO-003 for a download that cannot be unpacked.
    """
    from murmur.sandbox.binaries import resolve
    from murmur.store.fetching import Unwatched
    from murmur.store.platforms import host_platform
    from murmur.store.program_downloads import fetch_programs, pinned_programs
    from murmur.store.programs import BadProgram, ProgramStore

    found = pinned_programs(ready, allowed, host_platform())
    here = resolve((each.program for each in found), os.environ.get("PATH", "/usr/bin:/bin"), ())
    store = ProgramStore(home.programs)
    wanted = [
        each
        for each in found
        if each.program not in here and not store.holds(each.download, each.program)
    ]
    contents = fetch_programs(wanted, watcher or Unwatched()) if wanted else []
    staged: list[tuple[Pinned, Staged]] = []
    try:
        for pinned, content in zip(wanted, contents, strict=True):
            try:
                unpacked = store.stage(pinned.download, pinned.program, content)
            except BadProgram as bad:
                what = f"the download of {pinned.label} cannot be used"
                hint = "install a newer version of the tool"
                raise error("E-IO-003", what=what, reason=str(bad), hint=hint) from None
            staged.append((pinned, unpacked))
        yield StagedPrograms(staged)
    finally:
        StagedPrograms(staged).discard()


def keep_host_facts(allowed: Sequence[str], project: Path, home: Home) -> int:
    """Works out what the first launch would ask of the allowlisted binaries; how many are kept.

    What cannot be worked out is left to that launch without a word.
    """
    from murmur.core.safefs import open_root
    from murmur.sandbox.binaries import resolve
    from murmur.sandbox.interpreters import keep

    with contextlib.suppress(OSError):
        # Below a work folder that holds the home, a launch would not believe what is kept there.
        if home.root.resolve().is_relative_to(project.resolve()):
            return 0
        search = os.environ.get("PATH", "/usr/bin:/bin")
        binaries = resolve(allowed, search, ())
        if not binaries:
            return 0
        with open_root(home.root) as root, root.sub("host_facts", create=True) as facts:
            os.fchmod(facts.fileno(), 0o700)
            return keep(binaries, search, facts)
    return 0
