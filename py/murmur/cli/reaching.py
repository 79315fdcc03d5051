"""Reaching a running capsule: by a session address, or by `--url`.

CLI reference, *Session addresses* and *A record is a hint*. The order of refusals is that of
spec/diagnostics.md: records, address, script capsule, door.
"""

import os
from typing import TYPE_CHECKING, Final

import click

from murmur.core.diagnostics import MurmurError, error
from murmur.core.home import Home, home_path

if TYPE_CHECKING:
    from murmur.door.client import DoorClient, DoorRefused
    from murmur.running.reading import Found
    from murmur.running.record import Record

TOKEN_VARIABLE: Final = "MURMUR_DOOR_TOKEN"


def records_home() -> Home:
    """The home whose running records are read; nothing is made. Raises E-RUN-028."""
    try:
        return Home(home_path(os.environ))
    except MurmurError as refusal:
        path = "~/.murmur/running"
        raise error("E-RUN-028", path=path, reason=refusal.message) from None


def named_session(address: str) -> "Found":
    """The running session that `address` names. Raises E-RUN-028, E-RUN-022."""
    from murmur.running.addresses import resolve_running

    return resolve_running(records_home(), address)


def reach(address: str) -> "tuple[Record, DoorClient]":
    """The record of a session and its door, which has answered for it.

    Raises E-RUN-028, E-RUN-022, E-RUN-056 for a script capsule, E-RUN-023 for a door that does not
    answer, and E-IO-003 for one that refuses the recorded token.
    """
    from murmur.running.processes import Standing

    found = named_session(address)
    record = found.record
    client = door_of(record)
    if client is None:
        raise error("E-RUN-056", session=record.session_id)
    reason = "the start time of its process cannot be read"
    if found.standing is Standing.RUNS:
        reason = unanswered(record, client)
    if reason:
        raise silent(client.address, reason, record.session_id)
    return record, client


def door_of(record: "Record") -> "DoorClient | None":
    """The door of a recorded session, with the operator's token; None for a script capsule."""
    from murmur.door.client import DoorClient, parse_address

    at = None if record.url is None else parse_address(record.url)
    return None if at is None else DoorClient(*at, record.door_token)


def unanswered(record: "Record", client: "DoorClient") -> str:
    """Layer 3: why the door's card does not answer for the session; empty when it does."""
    from murmur.door.client import DoorRefused, DoorSilent, RpcRefused

    try:
        named = client.session_of_card()
    except (DoorSilent, DoorRefused, RpcRefused) as failure:
        return str(failure)
    if named is None:
        return "its agent card names no session"
    return "" if named == record.session_id else "its agent card names another session"


def silent(address: str, reason: str, session_id: str | None = None) -> MurmurError:
    """E-RUN-023 for the door at `address`; the session is known from its record alone."""
    session = f" of session {session_id}" if session_id else ""
    return error("E-RUN-023", door=address, session=session, reason=reason)


def door_at(url: str) -> "DoorClient":
    """The door at `--url`, with the token of MURMUR_DOOR_TOKEN. Raises a usage error."""
    from murmur.door.client import DoorClient, parse_address

    at = parse_address(url)
    if at is None:
        raise click.BadParameter(f"'{url}' is not <host:port>", param_hint="--url")
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if token and not (token.isascii() and token.isprintable()):
        raise error(
            "E-IO-003",
            what=TOKEN_VARIABLE,
            reason="it holds characters that no header can carry",
            hint="set it to what `mur token` prints",
        )
    return DoorClient(*at, token or None)


def refused(what: str, refusal: "DoorRefused") -> MurmurError:
    """E-IO-003 for an answer outside JSON-RPC; 401 and 403 name where a token comes from."""
    reason = f"the door answered {refusal}"
    hint = ""
    if refusal.status in (401, 403):
        hint = f"with --url the token is {TOKEN_VARIABLE}, which `mur token` prints"
        reason = f"{reason} ({TOKEN_VARIABLE})"
    return error("E-IO-003", what=what, reason=reason, hint=hint)
