"""`mur cancel`: ends one task of a running capsule. CLI reference, *mur cancel*."""

from typing import TYPE_CHECKING, Final

import click

from murmur.core.diagnostics import error, printable
from murmur.core.streams import emit

if TYPE_CHECKING:
    from murmur.door.client import DoorClient

_NOT_CANCELABLE: Final = -32002


@click.command("cancel")
@click.argument("arguments", nargs=-1, metavar="[SESSION] TASK_ID")
@click.option("--url", metavar="<host:port>", help="The capsule's address, in place of SESSION.")
def command(arguments: tuple[str, ...], url: str | None) -> None:
    """Stop one running task on a capsule, leaving the session running."""
    wanted = 1 if url is not None else 2
    if len(arguments) != wanted:
        usage = "--url takes a TASK_ID alone" if url else "a SESSION and a TASK_ID are needed"
        raise click.UsageError(usage)
    client = _client(arguments[0], url)
    _cancel(client, arguments[-1])


def _client(address: str, url: str | None) -> "DoorClient":
    from murmur.cli.reaching import door_at, reach

    return door_at(url) if url is not None else reach(address)[1]


def _cancel(client: "DoorClient", task_id: str) -> None:
    from murmur.cli.reaching import refused, silent
    from murmur.cli.residue import residue_lines, residue_of
    from murmur.door import methods
    from murmur.door.client import DoorRefused, DoorSilent, RpcRefused

    what = f"cancel of {task_id} failed"
    try:
        task = client.call(methods.CANCEL_TASK, {"id": task_id})
    except DoorSilent as failure:
        raise silent(client.address, str(failure)) from None
    except DoorRefused as refusal:
        raise refused(what, refusal) from None
    except RpcRefused as refusal:
        if refusal.code == _NOT_CANCELABLE:
            _print(task_id, refusal.metadata.get("state", ""))
            emit("nothing to cancel: the task had already ended")
            return
        raise error("E-IO-003", what=what, reason=refusal.message, hint="") from None
    status = task.get("status")
    _print(task_id, status.get("state", "") if isinstance(status, dict) else "")
    for line in residue_lines(residue_of(task)):
        emit(line)


def _print(task_id: str, state: object) -> None:
    from murmur.door.client import state_word

    emit(f"task:    {printable(task_id)}")
    emit(f"state:   {printable(state_word(state))}")
