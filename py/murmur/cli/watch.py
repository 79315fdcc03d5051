"""`mur watch`: a running capsule's events, line by line. CLI reference, *mur watch*."""

import contextlib
from typing import TYPE_CHECKING

import click

from murmur.core.diagnostics import Diagnostic, MurmurError, error
from murmur.core.streams import complain, emit_piece

if TYPE_CHECKING:
    from murmur.door.client import DoorClient, Watching


@click.command("watch")
@click.argument("session", required=False)
@click.option("--url", metavar="<host:port>", help="The capsule's address, in place of SESSION.")
def command(session: str | None, url: str | None) -> None:
    """Stream live events from a running capsule's output to stdout."""
    from murmur.cli.reaching import door_at, reach

    if session is not None and url is not None:
        raise click.UsageError("SESSION and --url cannot be given together")
    if url is not None:
        client = door_at(url)
        named, session_id = client.address, None
    else:
        record, client = reach(session or "@1")
        named = session_id = record.session_id
    watching = _open(client, named, session_id)
    with contextlib.closing(watching):
        complain(
            f"watching {named} — Ctrl-C ends the watch and leaves the capsule running; "
            "mur stop ends the capsule"
        )
        _follow(watching, named)


def _open(client: "DoorClient", named: str, session_id: str | None) -> "Watching":
    from murmur.cli.reaching import refused, silent
    from murmur.door.client import DoorRefused, DoorSilent, RpcRefused

    what = f"watch of {named} failed"
    try:
        return client.watch(0)
    except DoorSilent as failure:
        raise silent(client.address, str(failure), session_id) from None
    except DoorRefused as refusal:
        raise refused(what, refusal) from None
    except RpcRefused as refusal:
        raise error("E-IO-003", what=what, reason=refusal.message, hint="") from None


def _follow(watching: "Watching", named: str) -> None:
    """Prints until the capsule closes the stream or nobody reads. Raises E-IO-003 when lost."""
    from murmur.cli.watch_lines import WatchLines

    lines = WatchLines()
    last: int | None = None
    for event in watching:
        last = last if event.id is None else event.id
        shown = lines.show(event.result)
        for note in shown.notes:
            complain(f"mur watch: {note}")
        if shown.text and not emit_piece(shown.text):
            return
        if shown.closed:
            complain(f"mur watch: {named} closed the stream")
            return
    emit_piece(lines.finish())
    raise _lost(named, last)


def _lost(named: str, last: int | None) -> MurmurError:
    """E-IO-003 in the reference's one sentence."""
    after = "before any event id arrived" if last is None else f"after event id {last}"
    message = (
        f"connection to {named} lost {after} — the capsule may still be running; run mur watch "
        "again to reattach"
    )
    return MurmurError(Diagnostic("E-IO-003", message))
