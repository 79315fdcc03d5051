"""`mur control`: a running capsule's settings and secrets, over its control surface.

CLI reference, *mur control*. Each subcommand makes one request; neither the token nor a secret's
value appears in any output or error.
"""

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import click

from murmur.core.diagnostics import MurmurError, error, printable
from murmur.core.streams import complain, emit

if TYPE_CHECKING:
    from murmur.door.client import Answer

_NAME_COLUMN: Final = 22


@click.group("control")
def command() -> None:
    """Show or change what a running capsule's control: block lets a controller change."""


@command.command("show")
@click.argument("session", default="@1")
@click.option("--json", "as_json", is_flag=True, help="Print the surface's JSON as it answered.")
def show(session: str, as_json: bool) -> None:
    """List the declared settings and secrets."""
    answered = _ask(session, "GET", "/control")
    if as_json:
        emit(answered.text)
        return
    value = answered.value
    emit(f"session:  {printable(str(value.get('session_id', '')))}")
    emit("settings:")
    for each in _objects(value, "settings"):
        emit(_row(each, _shown(each.get("value"))))
    emit("secrets:")
    for each in _objects(value, "secrets"):
        emit(_row(each, "set" if each.get("set") is True else "not set"))


@command.command("set")
@click.argument("setting")
@click.argument("value")
@click.argument("session", default="@1")
def set_setting(setting: str, value: str, session: str) -> None:
    """Change a declared setting from the capsule's next inference call."""
    try:
        given = json.loads(value, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        given = value
    body = json.dumps({"value": given}).encode()
    path = f"/control/settings/{quote(setting, safe='')}"
    answered = _ask(session, "PUT", path, body, "application/json").value
    emit(f"setting:  {printable(str(answered.get('name', setting)))}")
    emit(f"previous: {_shown(answered.get('previous'))}")
    emit(f"value:    {_shown(answered.get('value'))}")
    applies = str(answered.get("applies_from", ""))
    emit(f"applies:  {printable(applies.replace('_', ' '))}")


def _no_constant(name: str) -> None:
    raise ValueError(name)


@command.command("secret")
@click.argument("name")
@click.argument("session", default="@1")
def secret(name: str, session: str) -> None:
    """Supply a declared secret's value, read from standard input."""
    # Before the value is read: a session that is not there need not be told one.
    surface = _Surface.of(session)
    value = _read_value(name)
    path = f"/control/secrets/{quote(name, safe='')}"
    answered = surface.ask("PUT", path, value, "application/octet-stream").value
    emit(f"secret: {printable(str(answered.get('name', name)))}")
    emit(f"set:    yes ({'replaced' if answered.get('replaced') is True else 'new'})")


@command.command("forget")
@click.argument("name")
@click.argument("session", default="@1")
def forget(name: str, session: str) -> None:
    """Drop a declared secret's value."""
    answered = _ask(session, "DELETE", f"/control/secrets/{quote(name, safe='')}").value
    emit(f"secret: {printable(str(answered.get('name', name)))}")
    emit(f"set:    {'yes' if answered.get('set') is True else 'no'}")


def _row(each: Mapping[str, Any], value: str) -> str:
    return f"  {printable(str(each.get('name', ''))).ljust(_NAME_COLUMN)} {printable(value)}"


def _shown(value: object) -> str:
    return printable(value if isinstance(value, str) else json.dumps(value))


def _objects(value: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = value.get(key)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


class _Answered:
    """What the surface answered with 200."""

    def __init__(self, text: str, value: Mapping[str, Any]) -> None:
        self.text = text
        self.value = value


class _Surface:
    """The control surface of one running session."""

    def __init__(self, session_id: str, host: str, port: int, token: str) -> None:
        self._session_id = session_id
        self._at = (host, port)
        self._token = token

    @classmethod
    def of(cls, address: str) -> "_Surface":
        """Raises E-RUN-028, E-RUN-022, E-RUN-056, E-RUN-023, or E-RUN-042 without a token."""
        from murmur.cli.reaching import reach, records_home
        from murmur.door.client import parse_address
        from murmur.running.record import read_control_token

        record, _ = reach(address)
        at = parse_address(record.url or "")
        assert at is not None, "a record with a door has an address that was read"
        try:
            token = read_control_token(records_home(), record.session_id)
        except OSError as failure:
            reason = f"its control token cannot be read: {failure.strerror}"
            raise error("E-RUN-042", session=record.session_id, reason=reason) from None
        if token is None:
            reason = "it has no control surface; its manifest declares no control: settings"
            raise error("E-RUN-042", session=record.session_id, reason=reason)
        return cls(record.session_id, *at, token)

    def ask(
        self, verb: str, path: str, body: bytes | None = None, media_type: str = ""
    ) -> _Answered:
        """Raises E-RUN-042 for a refusal, E-RUN-023 for no answer."""
        from murmur.cli.reaching import silent
        from murmur.door.client import DoorClient, DoorSilent

        headers = {"authorization": f"Bearer {self._token}"}
        if body is not None:
            headers["content-type"] = media_type
        client = DoorClient(*self._at)
        try:
            answer = client.request(verb, path, headers=headers, body=body)
        except DoorSilent as failure:
            raise silent(client.address, str(failure), self._session_id) from None
        if answer.status != 200:
            raise self._refused(verb, path, answer)
        text = answer.body.decode("utf-8", "replace")
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise silent(client.address, "it answered no JSON object", self._session_id)
        return _Answered(text, value)

    def _refused(self, verb: str, path: str, answer: "Answer") -> MurmurError:
        from murmur.door.client import said

        reason = f"{verb} {path} was answered HTTP {answer.status}"
        why = said(answer)
        if why:
            reason = f"{reason}: {why}"
        return error("E-RUN-042", session=self._session_id, reason=reason)


def _ask(
    session: str, verb: str, path: str, body: bytes | None = None, media_type: str = ""
) -> _Answered:
    return _Surface.of(session).ask(verb, path, body, media_type)


def _read_value(name: str) -> bytes:
    """Standard input less one line end; on a terminal it is asked for, unseen."""
    if sys.stdin is None or sys.stdin.closed:
        return b""
    if sys.stdin.isatty():
        with _echo_off(sys.stdin.fileno()):
            sys.stderr.write(f"value for {printable(name)}: ")
            sys.stderr.flush()
            value = os.fsencode(sys.stdin.readline())
        complain("")
    else:
        value = sys.stdin.buffer.read()
    if value.endswith(b"\r\n"):
        return value[:-2]
    return value.removesuffix(b"\n")


@contextlib.contextmanager
def _echo_off(terminal: int) -> Iterator[None]:
    """Turns echo off, and on again whichever way the block is left, signals included."""
    import termios

    before = termios.tcgetattr(terminal)
    silent = termios.tcgetattr(terminal)
    silent[3] &= ~termios.ECHO
    handled = (signal.SIGTERM, signal.SIGHUP)

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    previous = {number: signal.signal(number, leave) for number in handled}
    try:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, silent)
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
        for number, handler in previous.items():
            signal.signal(number, handler)
