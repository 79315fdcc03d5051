"""`mur precompile`: compiled forms of given files, so that their first launch loads them."""

import dataclasses
import json
import os
from collections.abc import Sequence
from pathlib import Path

import click

from murmur.core.diagnostics import MurmurError, printable
from murmur.core.home import open_home
from murmur.core.streams import complain, emit
from murmur.core.version import VERSION
from murmur.store.archive import decompression_ceiling
from murmur.store.payload import Payload

FAILED = "failed"
NOT_WASM = "not_wasm"


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """What became of one file. Name and version are None without a manifest that parses."""

    path: str
    name: str | None
    version: str | None
    outcome: str
    reason: str = ""

    @property
    def line(self) -> str:
        what = printable(self.path if self.name is None else f"{self.name}@{self.version}")
        return f"{self.outcome.replace('_', ' '):<16}{what}"


@click.command("precompile")
@click.argument("paths", metavar="ZIP...", nargs=-1, required=True)
@click.option(
    "--workdir",
    metavar="DIR",
    help="The --workdir of the mur run that will launch these: nothing is stored where its "
    "commands could reach.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON object.")
def command(paths: tuple[str, ...], workdir: str | None, as_json: bool) -> int:
    """Compile .mur.zip files for this machine, so their first launch skips compiling."""
    reports = _reports(paths, Path(workdir) if workdir is not None else None)
    if as_json:
        emit(_object(reports))
    else:
        for report in reports:
            emit(report.line)
    for report in reports:
        if report.outcome == FAILED:
            complain(f"{printable(report.path)}: {report.reason}")
    return int(any(report.outcome == FAILED for report in reports))


def _reports(paths: Sequence[str], workdir: Path | None) -> list[Report]:
    """One report a file, in the order given. Raises E-IO-004."""
    from murmur.cli.compiling import compile_all
    from murmur.store.compiled import CompiledCache, is_withheld

    home = open_home(os.environ)
    opened = [_open(path) for path in paths]
    eligible = [each for each in opened if isinstance(each, Payload) and _is_compiled(each)]
    cache = CompiledCache(home, withheld=is_withheld(home, workdir))
    outcomes = iter(compile_all(eligible, cache, discard=True))
    reports = []
    for path, each in zip(paths, opened, strict=True):
        if isinstance(each, str):
            reports.append(Report(path, None, None, FAILED, each))
            continue
        outcome, reason = next(outcomes) if _is_compiled(each) else (NOT_WASM, "")
        manifest = each.manifest
        reports.append(Report(path, manifest.name, manifest.version, outcome, reason))
    return reports


def _is_compiled(payload: Payload) -> bool:
    """Whether a launch compiles it: a WASM tool, driver or hook."""
    return payload.kind == "wasm" and payload.manifest.runtime != "capsule"


def _open(path: str) -> Payload | str:
    """The payload in a file, or why there is none."""
    from murmur.store.content import hold_file
    from murmur.store.payload import open_payload

    try:
        return open_payload(hold_file(path), path)
    except MurmurError as refused:
        return refused.message
    except OSError as failure:
        return failure.strerror or "it cannot be read"


def _object(reports: Sequence[Report]) -> str:
    facts = {
        "mur_version": VERSION,
        "decompression_ceiling": decompression_ceiling(os.environ),
        "artifacts": [
            {
                "path": report.path,
                "name": report.name,
                "version": report.version,
                "outcome": report.outcome,
            }
            for report in reports
        ],
    }
    return json.dumps(facts, separators=(",", ":"), ensure_ascii=False)
