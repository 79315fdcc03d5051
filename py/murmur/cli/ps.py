"""`mur ps`: the capsules that run on this machine. CLI reference, *mur ps*."""

import dataclasses
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import click

from murmur.core.diagnostics import printable
from murmur.core.streams import complain, emit

if TYPE_CHECKING:
    from murmur.core.home import Home
    from murmur.running.formations import FoundFormation
    from murmur.running.reading import Found, Reading
    from murmur.running.record import Record

_PROBES_AT_ONCE: Final = 32

_WIDTHS: Final = {
    "SESSION": 36,
    "CAPSULE": 24,
    "STATUS": 12,
    "DETACHED": 8,
    "UPTIME": 9,
    "FORMATION": 36,
    "URL": 0,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Listed:
    """A record with a row, and its STATUS."""

    record: "Record"
    status: str


@click.command("ps")
@click.option("--verbose", is_flag=True, help="Name every record that the listing removes.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; remove nothing.")
def command(verbose: bool, as_json: bool) -> None:
    """List the capsules running on this machine."""
    if verbose and as_json:
        raise click.UsageError("--json and --verbose cannot be given together")
    from murmur.cli.reaching import records_home
    from murmur.running.reading import read_running

    home = records_home()
    reading = read_running(home, sweep=not as_json)
    for path in reading.older:
        complain(_skipped(path))
    listed = _probe(reading.alive)
    if as_json:
        _print_json(home, listed, reading)
        return
    _say_removed(reading, verbose)
    _print_table(home, listed, reading, verbose)


def _skipped(path: str) -> str:
    return printable(
        f"skipped: {path} — a record an older mur wrote, which this mur cannot read; it is left in "
        "place, so stop that capsule with the mur that started it, then delete this file once that "
        "capsule is gone"
    )


def _probe(alive: "Sequence[Found]") -> list[Listed]:
    """Layer 3 of every record at once: one that hangs holds up none of the others."""
    if not alive:
        return []
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(_PROBES_AT_ONCE, len(alive))) as pool:
        return list(pool.map(_verified, alive))


def _verified(found: "Found") -> Listed:
    from murmur.cli.reaching import door_of, unanswered
    from murmur.running.processes import Standing

    record = found.record
    if found.standing is not Standing.RUNS:
        return Listed(record, "unreachable")
    client = door_of(record)
    answers = client is None or not unanswered(record, client)
    return Listed(record, "running" if answers else "unreachable")


def _say_removed(reading: "Reading", verbose: bool) -> None:
    if verbose:
        for each in reading.gone:
            formation = each.record.formation_id
            member = f" (formation {formation})" if formation else ""
            complain(f"pruned: {each.record.session_id} — {each.reason}{member}")
        for path in reading.unreadable:
            complain(printable(f"pruned: {path} — not a readable record"))
        return
    count = len(reading.gone) + len(reading.unreadable)
    if count:
        records = "record" if count == 1 else "records"
        complain(f"pruned {count} stale {records}; mur ps --verbose names each")


def _print_table(home: "Home", listed: list[Listed], reading: "Reading", verbose: bool) -> None:
    keyed = [each.record for each in listed]
    if verbose:
        keyed += [each.record for each in reading.gone]
    formations = list(dict.fromkeys(each.formation_id for each in keyed if each.formation_id))
    columns = [name for name in _WIDTHS if formations or name != "FORMATION"]
    if listed:
        emit(_line(columns, columns))
        for each in grouped(listed):
            emit(_line(columns, _cells(each, columns)))
    else:
        emit("no running capsules")
    if formations:
        from murmur.running.formations import find_formations

        emit("")
        found = find_formations(
            home, formations, [each.record for each in listed], [g.record for g in reading.gone]
        )
        for formation in found:
            emit(summary(formation, listed))


def grouped(listed: list[Listed]) -> list[Listed]:
    """The rows with each formation's kept together, groups and rows newest session first."""
    groups: dict[str, list[Listed]] = {}
    for each in listed:
        groups.setdefault(each.record.formation_id or each.record.session_id, []).append(each)
    return [each for group in groups.values() for each in group]


def _cells(listed: Listed, columns: Iterable[str]) -> list[str]:
    record = listed.record
    cells = {
        "SESSION": record.session_id,
        "CAPSULE": printable(record.capsule),
        "STATUS": listed.status,
        "DETACHED": "yes" if record.outlives_launcher else "no",
        "UPTIME": uptime(record.started_at),
        "FORMATION": record.formation_id or "-",
        "URL": record.url or "-",
    }
    return [cells[name] for name in columns]


def _line(columns: Sequence[str], cells: Sequence[str]) -> str:
    padded = [cell.ljust(_WIDTHS[name]) for name, cell in zip(columns, cells, strict=True)]
    return "  ".join(padded).rstrip()


def uptime(started_at: str) -> str:
    """`HH:MM:SS` since then, `Nd` in front past a day; `-` for what is no moment."""
    import datetime

    try:
        started = datetime.datetime.fromisoformat(started_at)
        now = datetime.datetime.now(datetime.UTC)
        seconds = max(0, int((now - started).total_seconds()))
    except (ValueError, TypeError, OverflowError):
        return "-"
    days, rest = divmod(seconds, 86400)
    clock = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{days}d{clock}" if days else clock


def summary(formation: "FoundFormation", listed: list[Listed]) -> str:
    """What was found of one formation; it never says that this is all of it."""
    mine = [each.status for each in listed if each.record.formation_id == formation.id]
    counts = [
        f"{mine.count(status)} {status}" for status in ("running", "unreachable") if status in mine
    ]
    text = f"formation {formation.id}: {len(mine)} listed"
    text += f" ({', '.join(counts)})" if counts else ""
    pruned = [each for each in formation.not_listed if each.record_kept]
    text += f", {len(pruned)} pruned now" if pruned else ""
    without = [each for each in formation.not_listed if not each.record_kept]
    ended = sum(each.ended for each in without)
    others = [
        f"{count} {word}"
        for count, word in ((ended, "ended"), (len(without) - ended, "with no record"))
        if count
    ]
    if others:
        text += f"; not listed: {', '.join(others)}"
    else:
        text += f"; no other member found in {_roots(formation.searched_roots)}"
    if formation.unreadable_roots:
        text += f"; {_roots(formation.unreadable_roots)} could not be read"
    return text


def _roots(count: int) -> str:
    return f"{count} session root" + ("" if count == 1 else "s")


def _print_json(home: "Home", listed: list[Listed], reading: "Reading") -> None:
    from murmur.running.formations import find_formations

    records = [each.record for each in listed]
    formations = list(dict.fromkeys(each.formation_id for each in records if each.formation_id))
    found = find_formations(home, formations, records, [each.record for each in reading.gone])
    value = {
        "capsules": [_capsule(each) for each in listed],
        "formations": [each.as_json() for each in found],
    }
    emit(json.dumps(value, indent=2))


def _capsule(listed: Listed) -> dict[str, object]:
    """The keys of the stable interface; no token is among them."""
    record = listed.record
    return {
        "session_id": record.session_id,
        "status": listed.status,
        "url": record.url,
        "pid": record.pid,
        "process_start": record.process_start,
        "capsule_name": record.capsule_name,
        "capsule_version": record.capsule_version,
        "workdir": record.workdir,
        "records_dir": record.records_dir,
        "outlives_launcher": record.outlives_launcher,
        "started_at": record.started_at,
        "formation_id": record.formation_id,
        "formation_member": record.formation_member,
        "formation_entry": record.formation_entry,
    }
