"""Scripts in a session that reaches something, and what they say."""

import socket
from collections.abc import Callable

from murmur.sandbox.results import CommandResult

from .conftest import Contained

PYTHON = "python3"

Online = Callable[..., Contained]
"""The fixture `online`: opens a session whose commands may reach a list."""


def python(session: Contained, *lines: str, timeout: float = 60.0) -> CommandResult:
    """Runs a script with `socket`, `errno` and `show` at hand, which prints an error's name."""
    head = (
        "import errno, os, socket, struct, sys, time",
        "def show(act):",
        "    try: print('ok', act())",
        "    except socket.gaierror as e: print('gai', e.args[0] == socket.EAI_AGAIN and 'AGAIN'"
        " or e.args[0] == socket.EAI_NONAME and 'NONAME' or e)",
        "    except OSError as e: print(errno.errorcode.get(e.errno, e))",
    )
    return session.run(PYTHON, "-c", "\n".join((*head, *lines)), timeout=timeout)


def said(done: CommandResult) -> list[str]:
    assert done.set_up_failure is None and done.exit_code == 0, (done, done.stderr)
    return done.stdout.decode().splitlines()


def echo(connection: socket.socket) -> None:
    while data := connection.recv(1 << 16):
        connection.sendall(data)
