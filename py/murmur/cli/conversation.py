"""`mur conversation ls`, `show`, `rm`, `truncate`: the durable records of conversations.

CLI reference, *mur conversation*. They need no manifest and launch nothing.
"""

import json
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from murmur.core.diagnostics import MurmurError, error
from murmur.core.home import Home, find_home
from murmur.core.streams import emit

if TYPE_CHECKING:
    from murmur.conversation.lines import Message
    from murmur.conversation.record import Record
    from murmur.conversation.stores import Located, Shown, Stores, Summary

_RECORD: Final = click.option("--record", metavar="NAME", help="The record store to look in.")
_JSON: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_UNITS: Final = ("KiB", "MiB", "GiB", "TiB")


@click.group("conversation")
def command() -> None:
    """Inspect and prune the durable conversation records under ~/.murmur/conversations."""


@command.command("ls")
@_RECORD
@click.option("--message", metavar="MSG-ID", help="Say where this message id stands instead.")
@_JSON
def list_records(record: str | None, message: str | None, as_json: bool) -> None:
    """List the durable conversation records, or place one message id in them."""
    stores = _stores()
    if message is not None:
        _print_located(stores.locate(message, record), message, as_json)
        return
    found = list(stores.summaries(record))
    if as_json:
        emit(_pretty([summary.as_json() for summary in found]))
        return
    if not found:
        emit("No conversation records.")
        return
    _print_table(found)


@command.command("show")
@click.argument("context_id", metavar="CONTEXT-ID")
@_RECORD
@_JSON
def show(context_id: str, record: str | None, as_json: bool) -> None:
    """Print one context: its record header, every message and its harness session."""
    stores = _stores()
    shown = stores.show(stores.find(context_id, record))
    if as_json:
        emit(_pretty(shown.as_json()))
    else:
        _print_summary(shown)


@command.command("rm")
@click.argument("context_id", metavar="CONTEXT-ID")
@_RECORD
def remove(context_id: str, record: str | None) -> None:
    """Remove one context's record directory, whole."""
    held = _record(context_id, record)
    try:
        count = held.remove()
    except OSError as failure:
        raise _failed(f"{held.directory} cannot be removed", failure) from None
    emit(f"removed {held.directory} ({_messages(count)})")


@command.command("truncate")
@click.argument("context_id", metavar="CONTEXT-ID")
@click.option("--keep", type=int, required=True, metavar="N", help="How many messages stay.")
@_RECORD
def truncate(context_id: str, keep: int, record: str | None) -> None:
    """Drop the oldest messages from a record, keeping the newest N."""
    if keep < 1:
        raise error("E-CNV-003", keep=keep)
    held = _record(context_id, record)
    try:
        done = held.truncate(keep)
    except FileNotFoundError:
        raise error("E-CNV-001", name=f"record of {context_id!r}", place=held.directory) from None
    except OSError as failure:
        raise _failed(f"{held.path} cannot be truncated", failure) from None
    if not done.dropped:
        emit(f"{held.path} already holds {done.kept} messages; nothing dropped")
        return
    emit(
        f"dropped {done.dropped} messages from {held.path} "
        f"({done.kept} kept; oldest surviving is {done.oldest_surviving_id})"
    )
    if done.blobs:
        emit(f"removed {done.blobs} image blobs no kept message names")


def _home() -> Home:
    """Raises E-IO-003 where other commands raise E-IO-004: nothing is about to be made."""
    try:
        return find_home(os.environ)
    except MurmurError as refused:
        raise error(
            "E-IO-003",
            what="~/.murmur/conversations cannot be found",
            reason=refused.message,
            hint="set HOME to your home folder",
        ) from None


def _stores() -> "Stores":
    from murmur.conversation.stores import Stores

    return Stores(_home())


def _record(context_id: str, store: str | None) -> "Record":
    from murmur.conversation.record import Record

    home = _home()
    place = _stores().find(context_id, store)
    return Record(home, place.store, place.context_id)


def _failed(what: str, failure: OSError) -> MurmurError:
    reason = failure.strerror or str(failure)
    return error("E-IO-003", what=what, reason=reason, hint="look at its owner and mode")


def _pretty(value: object) -> str:
    """Lone surrogates, which no UTF-8 output takes, stay escaped."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, indent=2)
    return text


def _print_table(found: "Sequence[Summary]") -> None:
    from murmur.cli.columns import columns

    head = ["RECORD", "CONTEXT", "MESSAGES", "SIZE", "LAST TOUCHED", "TRUNCATED"]
    for line in columns([head, *map(_row, found)]):
        emit(line)


def _row(summary: "Summary") -> list[str]:
    touched = time.gmtime(summary.last_touched_ms // 1000)
    return [
        summary.place.store,
        summary.place.context_id,
        str(summary.messages),
        _size(summary.bytes),
        time.strftime("%Y-%m-%d %H:%M:%S", touched),
        f"{summary.truncated.dropped} dropped" if summary.truncated is not None else "-",
    ]


def _size(count: int) -> str:
    if count < 1024:
        return f"{count} B"
    size = float(count)
    for unit in _UNITS:
        size /= 1024
        if size < 1024 or unit == _UNITS[-1]:
            break
    return f"{size:.1f} {unit}"


def _messages(count: int) -> str:
    return f"{count} message" if count == 1 else f"{count} messages"


def _print_located(located: "Located", message: str, as_json: bool) -> None:
    if as_json:
        emit(_pretty({"message": message, **located.as_json()}))
        return
    if located.place is None:
        emit(f"{message}: unknown")
        return
    where = f"record {located.place.store}, context {located.place.context_id}"
    if located.truncated is None:
        emit(f"{message}: present in {where}, message {located.position}")
        return
    lost = located.truncated
    emit(
        f"{message}: truncated from {where} "
        f"({lost.dropped} dropped; oldest surviving is {lost.oldest_surviving_id})"
    )


def _print_summary(shown: "Shown") -> None:
    from murmur.core.diagnostics import printable

    emit(f"record:   {printable(shown.place.store)}")
    emit(f"context:  {printable(shown.place.context_id)}")
    emit(f"messages: {len(shown.messages)}")
    if shown.harness is not None:
        held = shown.harness
        said = f"{held.session_id} ({held.harness or 'unknown'}, {held.driver or 'unknown'})"
        emit(f"harness session: {printable(said)}")
    for position, message in enumerate(shown.messages, 1):
        emit(f"{position:>4}  {printable(message['role']):<9}  {printable(_first_line(message))}")


def _first_line(message: "Message") -> str:
    """The first line of a message's text; of a call or an image, what it is."""
    content = message.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        text = block.get("text")
        if block.get("type") == "text" and isinstance(text, str) and text.strip():
            return text.strip().splitlines()[0]
        if block.get("type") == "tool_call":
            return f"(calls {block.get('name')})"
        if block.get("type") == "image":
            return f"({block.get('media_type') or 'image'})"
    return ""
