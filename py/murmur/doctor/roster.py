"""The *Roster* block: the file beside the project's manifest, or in a formation directory.

Its shape and its names are checked; whether its members are installed, agree with the lock and
serve each other is admission's business, which this build does not establish. spec/registry.md 20.
"""

import dataclasses
from pathlib import Path

from murmur.core.diagnostics import Diagnostic, MurmurError, error, printable
from murmur.doctor.findings import Findings
from murmur.manifest.roster import FILE, load_roster
from murmur.session.scope.unestablished import UNESTABLISHED


@dataclasses.dataclass(frozen=True, slots=True)
class RosterFound:
    """The block's lines, and the refusal (with its hint) of a roster that is refused."""

    lines: tuple[str, ...]
    refusal: Diagnostic | None = None


def roster_block(directory: Path, findings: Findings) -> RosterFound:
    """Checks `roster.yaml` of a directory that holds one."""
    path = directory / FILE
    lines = ["Roster", f"  file: {path}"]
    try:
        load_roster(_read(path), str(path))
    except MurmurError as refused:
        findings.errors.append(refused.hint or f"mend {FILE}")
        return RosterFound((*lines, f"  ✗  {printable(refused.message)}"), refused.diagnostic)
    # An admission that nobody checked must not look like one that passed.
    findings.errors.append("use a mur that admits rosters")
    return RosterFound((*lines, f"  ✗  {UNESTABLISHED['roster']}"))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as failure:
        reason = f"it cannot be read: {failure.strerror}"
    except UnicodeDecodeError:
        reason = "it is not UTF-8"
    raise error("E-ROS-001", at=FILE, key="the file", reason=reason, hint="")
