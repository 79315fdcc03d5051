"""Which pinned programs an install fetches, and fetching them. spec/registry.md 12 and 17."""

import dataclasses
import functools
import tempfile
import threading
from collections.abc import Collection, Sequence
from typing import Final
from urllib.parse import urlsplit

from murmur.core.diagnostics import MurmurError, error
from murmur.manifest.programs import BadPrograms, Download, parse_programs
from murmur.store.concurrently import NotBegun, concurrently
from murmur.store.content import Content
from murmur.store.fetching import AT_ONCE, Watcher
from murmur.store.ready import Ready
from murmur.store.transport import Absent, Stopped, Transfer, Unanswered, Web

LIMIT: Final = 2 << 30
"""The most bytes that are taken of one download."""


@dataclasses.dataclass(frozen=True, slots=True)
class Pinned:
    """One download to be fetched: of which program, for which tool (`name@version`)."""

    tool: str
    program: str
    download: Download

    @property
    def label(self) -> str:
        return f"{self.program}, a program of {self.tool}"


def pinned_programs(
    ready: Sequence[Ready], allowed: Collection[str], platform: str
) -> list[Pinned]:
    """The downloads that tools pin for this platform, of programs that the capsule allows by name.

    A malformed block pins nothing here; staging refuses it (E-RUN-062).
    """
    found = []
    for item in ready:
        try:
            manifest = item.payload.manifest
            programs = parse_programs(manifest.programs, manifest.runtime)
        except BadPrograms:
            continue
        for program in programs:
            download = program.download_for(platform)
            if download is not None and program.name in allowed:
                found.append(Pinned(item.reference, program.name, download))
    return found


def fetch_programs(wanted: Sequence[Pinned], watcher: Watcher) -> list[Content]:
    """The bytes of every download, each with the sha256 that its tool pins.

    Raises E-REG-001 for one that is not there, E-REG-002 for other bytes, E-REG-006, E-IO-003.
    """
    stop = threading.Event()
    watcher.expects(len(wanted))
    outcomes = concurrently(functools.partial(_fetch, stop, watcher), wanted, AT_ONCE, stop)
    for each in outcomes:
        if isinstance(each, Exception) and not isinstance(each, NotBegun | Stopped):
            raise each
    return [each for each in outcomes if isinstance(each, Content)]


def _fetch(stop: threading.Event, watcher: Watcher, wanted: Pinned) -> Content:
    watcher.begins(wanted.label, 0)
    transfer = Transfer(functools.partial(watcher.has, wanted.label), stop)
    spool = tempfile.TemporaryFile(buffering=0, prefix="murmur-")  # noqa: SIM115 - it is returned
    try:
        sha256 = Web().download(wanted.download.url, "*/*", spool, LIMIT, transfer)
    except Absent:
        raise _absent(wanted) from None
    except Unanswered as failure:
        raise _unanswered(wanted, failure) from None
    except OSError as failure:
        what = f"the download of {wanted.label} cannot be kept"
        reason = failure.strerror or str(failure)
        raise error("E-IO-003", what=what, reason=reason, hint="") from failure
    finally:
        watcher.ends(wanted.label)
    if sha256 != wanted.download.sha256:
        raise error(
            "E-REG-002",
            artifact=f"the download of {wanted.label}",
            recorded="the tool's manifest",
            expected=wanted.download.sha256,
            found=sha256,
            hint="the file at its URL has changed: install a newer version of the tool",
        )
    return Content(spool, spool.tell(), sha256)


def _absent(wanted: Pinned) -> MurmurError:
    return error(
        "E-REG-001",
        artifact=wanted.label,
        reason=f"is not at {wanted.download.url}",
        hint="install a newer version of the tool, or install with --no-precompile to go without",
    )


def _unanswered(wanted: Pinned, failure: Unanswered) -> MurmurError:
    host = urlsplit(wanted.download.url).netloc
    return error(
        "E-REG-006",
        details=(f"{host}: {failure}",),
        artifact=wanted.label,
        hint="try again later, or install with --no-precompile to go without",
    )
