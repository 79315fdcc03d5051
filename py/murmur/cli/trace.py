"""`mur trace`: reading the records of sessions, and removing those of ended ones.

CLI reference, *mur trace*. Every subcommand but `rm` changes nothing.
"""

import json
import os
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from murmur.cli.output_file import write_output
from murmur.core.diagnostics import MurmurError, error
from murmur.core.home import Home, find_home
from murmur.core.streams import complain, emit, emit_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

DEFAULT_ROOT = "./workdir"
_LINES_A_PIECE = 500
_workdir = click.option(
    "--workdir",
    metavar="DIR",
    help="The workdir root whose sessions are read [default: ./workdir].",
)


@click.group("trace")
def command() -> None:
    """Read the records of sessions, and remove those of ended ones."""


def _root(workdir: str | None) -> Path:
    """The workdir root, made absolute. Raises E-IO-003 without a current directory."""
    try:
        return Path(workdir or DEFAULT_ROOT).absolute()
    except OSError as failure:
        reason = failure.strerror or str(failure)
        raise error("E-IO-003", what=workdir or DEFAULT_ROOT, reason=reason, hint="") from None


def _traces(addresses: "Sequence[str]", workdir: str | None) -> list[Path]:
    """The trace files that addresses name. Raises E-TRC-002, E-IO-003, E-IO-004."""
    from murmur.trace.addresses import find_all_recorded, need_group

    home = find_home(os.environ) if need_group(addresses) else None
    return [each.file() for each in find_all_recorded(addresses, home, _root(workdir))]


def _print(lines: "Iterable[str]") -> None:
    """Writes many lines in few pieces: each piece is flushed."""
    rest = iter(lines)
    while piece := "\n".join(islice(rest, _LINES_A_PIECE)):
        emit(piece)


@command.command("show")
@click.argument("session", default="@1")
@_workdir
@click.option(
    "--body", metavar="SELECTOR", help="Print the body behind one content hash and nothing else."
)
@click.option("--turn", type=int, help="The turn whose hashes --body names.")
@click.option("--html", metavar="FILE", help="Write one self-contained page to FILE instead.")
def show_one(
    session: str, workdir: str | None, body: str | None, turn: int | None, html: str | None
) -> None:
    """Human-readable summary of a single session."""
    from murmur.trace.show.page import show

    if html is not None and (body is not None or session.startswith("frm_")):
        raise click.UsageError("--html shows one session, and takes neither --body nor a formation")
    if turn is not None and body is None:
        raise error("E-TRC-001", file=session, reason="--turn has no meaning without --body")
    if session.startswith("frm_"):
        if body is not None:
            reason = "--body and --turn name a body of one session, not of a formation"
            raise error("E-TRC-001", file=session, reason=reason)
        _show_formation(session, workdir)
        return
    (path,) = _traces([session], workdir)
    if html is not None:
        from murmur.trace.show.html import page

        _write_or_print(page(path).splitlines(), html)
    elif body is None:
        _print(show(path, _home_or_none()))
    else:
        from murmur.trace.show.bodies import body as recorded

        emit_bytes(recorded(path, body, turn))


def _home_or_none() -> Home | None:
    """The operator's home, where a member's formation is looked for; none for a path alone."""
    try:
        return find_home(os.environ)
    except MurmurError:
        return None


def _show_formation(formation_id: str, workdir: str | None) -> None:
    from murmur.core.ids import is_id
    from murmur.trace.show.page import show_formation

    if not is_id(formation_id, "frm"):
        reason = f"'{formation_id}' is not a formation id"
        raise error("E-TRC-002", address=formation_id, reason=reason)
    roots = [_root(workdir)] if workdir is not None else [_root(None), _root(".")]
    _print(list(show_formation(find_home(os.environ), roots, formation_id)))


@command.command("steps")
@click.argument("session", default="@1")
@_workdir
@click.option("--verbose", is_flag=True, help="Append a summary of each tool call's input.")
def show_steps(session: str, workdir: str | None, verbose: bool) -> None:
    """Turn-by-turn tree of what one session's agent did."""
    from murmur.trace.steps import steps

    if session.startswith("frm_"):
        reason = f"a formation has no steps; `mur trace show {session}` lists its members"
        raise error("E-TRC-001", file=session, reason=reason)
    (path,) = _traces([session], workdir)
    _print(steps(path, verbose=verbose))


@command.command("diff")
@click.argument("sessions", nargs=-1, metavar="[BEFORE AFTER]")
@_workdir
def show_diff(sessions: tuple[str, ...], workdir: str | None) -> None:
    """Side-by-side metric comparison of two sessions, @2 and @1 unless named."""
    from murmur.trace.comparing import compare

    if len(sessions) not in (0, 2):
        reason = f"{len(sessions)} given; name two sessions, before and after, or none"
        raise error("E-TRC-002", address=" ".join(sessions), reason=reason)
    before, after = _traces(sessions or ("@2", "@1"), workdir)
    _print(list(compare(before, after)))


@command.command("report")
@click.argument("sessions", nargs=-1, metavar="[SESSION...]")
@click.option(
    "--last", type=click.IntRange(min=1), metavar="N", help="The N most recent sessions only."
)
@click.option("--since", metavar="DURATION", help="Sessions of the last <n>m, <n>h or <n>d only.")
@_workdir
def show_report(
    sessions: tuple[str, ...], last: int | None, since: str | None, workdir: str | None
) -> None:
    """Aggregate statistics across a set of sessions."""
    from murmur.trace.aggregate import Report

    if sessions and (last is not None or since is not None):
        raise click.UsageError("--last and --since cannot be combined with named sessions")
    report = Report()
    blocks: list[str] = []
    for path in _reported(sessions, last, since, workdir):
        blocks += report.add(path)
    if report.skipped:
        complain(f"note: skipped {report.skipped} incomplete session(s)")
    if not report.sessions:
        reason = "no session there holds an event"
        raise error("E-TRC-002", address=workdir or DEFAULT_ROOT, reason=reason)
    _print([*blocks, ""])
    _print(report.lines(workdir or DEFAULT_ROOT))


def _reported(
    sessions: tuple[str, ...], last: int | None, since: str | None, workdir: str | None
) -> list[Path]:
    """The traces to aggregate. Raises E-TRC-002 for a root that holds no session."""
    if sessions:
        return _traces(sessions, workdir)
    from murmur.trace.addresses import recorded_sessions
    from murmur.trace.aggregate import made_since
    from murmur.trace.writer import TRACE_FILE

    root = _root(workdir)
    group = find_home(os.environ).records_group(root)
    names = recorded_sessions(group)
    if not names:
        raise error("E-TRC-002", address=root, reason=f"no session is recorded in {group}")
    if since is not None:
        names = made_since(names, _seconds(since))
    return [group / name / TRACE_FILE for name in names[:last]]


def _seconds(since: str) -> int:
    """The seconds in `<n>m`, `<n>h` or `<n>d`; anything else is a usage error."""
    match = re.fullmatch(r"([0-9]{1,9})([mhd])", since)
    if match is None:
        raise click.BadParameter(f"{since!r} is not <n>m, <n>h or <n>d", param_hint="--since")
    return int(match.group(1)) * {"m": 60, "h": 3600, "d": 86400}[match.group(2)]


@command.command("list")
@_workdir
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show_list(workdir: str | None, as_json: bool) -> None:
    """List the sessions of one workdir root, newest first."""
    from murmur.cli.columns import columns
    from murmur.trace.listing import listed_sessions

    home, root = find_home(os.environ), _root(workdir)
    found = listed_sessions(home, root, _running(home))
    group = home.records_group(root)
    if as_json:
        whole = {
            "workdir_root": str(root),
            "records_group": str(group),
            "sessions": [each.as_json() for each in found],
        }
        emit(json.dumps(whole, indent=2))
        return
    if not found:
        emit(f"no sessions in workdir at {root} (records in {group})")
        return
    rows = [
        [
            each.session_id,
            each.started_at or "-",
            "running" if each.running else "ended",
            each.context_id or "-",
        ]
        for each in found
    ]
    _print(columns([["SESSION", "STARTED", "STATUS", "CONTEXT"], *rows]))
    emit(f"records: {group}")


def _running(home: Home) -> frozenset[str]:
    """The sessions whose process is alive, or may be. Raises E-RUN-028."""
    from murmur.running.reading import read_running

    reading = read_running(home, sweep=False)
    return frozenset(each.record.session_id for each in reading.alive)


@command.command("rm")
@click.argument("session")
@_workdir
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def remove_one(session: str, workdir: str | None, as_json: bool) -> None:
    """Remove one ended session's records, its own work folder, and its stale running record."""
    from murmur.trace.removal import find_doomed, remove

    home, root, cwd = find_home(os.environ), _root(workdir), _root(".")
    doomed = find_doomed(session, home, root, cwd, named_root=workdir is not None)
    if doomed.session_id in _running(home):
        raise _still_running(doomed.session_id)
    removed = remove(doomed, home, cwd, lambda: _remove_stale(home, doomed.session_id))
    if as_json:
        emit(json.dumps(removed.as_json(), indent=2))
        return
    for what, path in (
        ("work folder", removed.session_dir),
        ("records", removed.records_dir),
        ("running record", removed.running_record),
    ):
        if path is not None:
            emit(f"removed {what} {path}")


def _still_running(session_id: str) -> MurmurError:
    what = f"{session_id} is running"
    hint = f"end it first with `mur stop {session_id}`"
    return error("E-RUN-024", what=what, reason="nothing of it was removed", hint=hint)


def _remove_stale(home: Home, session_id: str) -> Path | None:
    """Removes the running record of a session whose process is gone; its path, or None."""
    from murmur.running.reading import read_running
    from murmur.running.record import remove_record

    reading = read_running(home, sweep=False)
    if all(each.record.session_id != session_id for each in reading.gone):
        return None
    remove_record(home, session_id)
    return home.running / f"{session_id}.json"


@command.command("script")
@click.argument("session", default="@1")
@_workdir
@click.option("-o", "output", metavar="FILE", help="Write to FILE instead of standard output.")
def write_script(session: str, workdir: str | None, output: str | None) -> None:
    """Turn a session recorded with trace.capture: content into a driver-replay script."""
    from murmur.trace.script import script

    (path,) = _traces([session], workdir)
    _write_or_print(list(script(path)), output)


def _write_or_print(lines: "Sequence[str]", output: str | None) -> None:
    """Prints the lines, or writes them to a file that is replaced whole. Raises E-IO-003."""
    if output is None:
        _print(lines)
        return
    write_output(Path(output), "".join(f"{line}\n" for line in lines))
    emit(f"wrote {output}")
