"""`mur run --explain-scope`, printed: the report, then what a launch would be refused for.

Standard output holds the report alone under `--json`; the rest goes to standard error then.
CLI reference, *mur run*; spec/containment.md 5 and 6.
"""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from murmur.core.diagnostics import MurmurError, printable
from murmur.core.streams import complain, emit, report

if TYPE_CHECKING:
    from murmur.session.launch import Flags

REFUSED: Final = "mur run would refuse this launch:"


def print_scope(flags: "Flags") -> int:
    """Prints the report of the launch that these flags describe. Raises what it refuses."""
    from murmur.running.record import compact
    from murmur.session.explain import explain
    from murmur.session.launch import read_launch
    from murmur.session.scope.text import report_lines

    found = explain(read_launch(flags, os.environ))
    for notice in found.notices:
        complain(notice)
    for warned in found.warnings:
        report(warned)
    if flags.json:
        emit(compact(found.report.as_json()))
        if found.refusals:
            complain(f"[mur run] {REFUSED}")
            for line in refusal_lines(found.refusals):
                complain(line)
        return 0
    containment = found.containment
    for line in report_lines(found.report, containment.floor, containment.missing):
        emit(line)
    if found.refusals:
        emit("")
        emit(REFUSED)
        for line in refusal_lines(found.refusals):
            emit(line)
    return 0


def refusal_lines(refusals: Sequence[MurmurError]) -> list[str]:
    """One line each, code first."""
    return [f"  - {refused.code}: {printable(refused.message)}" for refused in refusals]
