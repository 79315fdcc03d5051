"""`murmur:process`: host programs of a WASM tool, each held to the rules of a shell command.

spec/artifacts.md 3. A program starts as a command does: in `shell.allow`, past the read-only check
and every policy hook, within the session's containment, scope and work-folder ceiling. A started
one outlives the call and dies with the session; only the tool that started it can use it.

The output of started programs is read by one thread, there while one of them runs: between two
calls of the tool nobody else has a reason to read, and a full pipe would stop the program.
"""

import dataclasses
import re
import select
import shlex
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from murmur.core.ids import new_id
from murmur.guest.questions import PROCESS_INTERFACE, Answer, Err, Ok, Question
from murmur.read_only.check import refusal_text
from murmur.sandbox.ceiling import CeilingReached
from murmur.sandbox.results import CommandResult, NotAllowed, SessionEnded, SetUpFailed
from murmur.sandbox.running import RunningCommand
from murmur.session.commands import Commands
from murmur.session.protection import Protection
from murmur.session.shell_text import ShellCommand

if TYPE_CHECKING:
    from murmur.sandbox.plain import PlainCommand

    Started: TypeAlias = RunningCommand | PlainCommand

MOST_LIVE: Final = 8
OUTPUT_BYTES: Final = 1 << 20
"""What a tool gets of each stream."""

_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,98}[a-z0-9])?")
_READ_BYTES: Final = 1 << 16
_TICK_SECONDS: Final = 0.1

Deny = Callable[[ShellCommand, int], str | None]
"""Why a policy hook refuses a command in a turn; None when none does."""


class _Refused(Exception):
    """A refusal by rule: `murmur:process/process.refusal`."""

    def __init__(self, rule: str, reason: str) -> None:
        super().__init__(reason)
        self.answer = Err({"rule": rule, "reason": reason})


@dataclasses.dataclass(slots=True)
class _Program:
    """A started program; `tool` is the artifact that may use it."""

    tool: str
    name: str | None
    running: "Started"

    @property
    def live(self) -> bool:
        return self.running.result is None


class Processes:
    """The programs of a session's tools. Thread-safe."""

    def __init__(
        self, commands: Commands | None, protection: Protection | None, deny: Deny | None
    ) -> None:
        """`commands` None is a capsule that can start none; `deny` None one without hooks."""
        self._commands = commands
        self._protection = protection
        self._deny = deny
        self._lock = threading.Lock()
        self._programs: dict[str, _Program] = {}
        self._reader: threading.Thread | None = None

    def of(self, tool: str, turn: int) -> "ToolProcesses":
        """What answers one call of `tool`."""
        return ToolProcesses(self, tool, turn)

    def start(
        self, tool: str, turn: int, argv: list[str], name: str | None, given: bytes | None
    ) -> "Started":
        """Starts a program past every check. Raises _Refused, SetUpFailed."""
        if self._commands is None or argv[0] not in self._commands.policy.binaries:
            raise _Refused(
                "capabilities.shell.allow", f"'{argv[0]}' is not allowed, or not on PATH"
            )
        write = self._protection.write_of_command(argv[0], argv) if self._protection else None
        if write is not None:
            raise _Refused("capabilities.filesystem.read_only", refusal_text(argv[0], write))
        line = shlex.join(argv)
        denial = self._deny and self._deny(ShellCommand(argv[0], argv, line, line), turn)
        if denial:
            raise _Refused("on-shell", denial)
        if name is not None:
            self._check_name(name)
        with self._lock:
            live = sum(each.live for each in self._programs.values())
        if live >= MOST_LIVE:
            raise _Refused(
                "session-process-cap", f"{MOST_LIVE} programs run, which is all a session may have"
            )
        try:
            return self._commands.session.start(argv, self._commands.environment({}), given=given)
        except CeilingReached as reached:
            rule = "capabilities.resources.max_workdir_bytes"
            raise _Refused(rule, str(reached)) from None
        except NotAllowed:
            raise _Refused("capabilities.shell.allow", f"'{argv[0]}' is not allowed") from None
        except SessionEnded as ended:
            raise _Refused("session-ended", ended.detail) from None

    def _check_name(self, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise _Refused("name", f"'{name}' is none of lower-case letters, digits and hyphens")
        with self._lock:
            if any(each.name == name and each.live for each in self._programs.values()):
                raise _Refused("name", f"a program named '{name}' runs already")

    def keep(self, tool: str, name: str | None, running: "Started") -> str:
        """The handle of a started program, whose output is read from now on."""
        handle = new_id("prc")
        with self._lock:
            self._programs[handle] = _Program(tool, name, running)
            if self._reader is None:
                self._reader = threading.Thread(
                    target=self._read, name="murmur-processes", daemon=True
                )
                self._reader.start()
        return handle

    def find(self, tool: str, handle: str) -> "Started | None":
        """The program of a handle that this tool got."""
        with self._lock:
            program = self._programs.get(handle)
        return program.running if program is not None and program.tool == tool else None

    def forget(self, handle: str) -> None:
        with self._lock:
            self._programs.pop(handle, None)

    def connect(self, port: int, seconds: float) -> socket.socket:
        """A connection to a loopback port in the session's network. Raises _Refused, OSError."""
        assert self._commands is not None
        reach = getattr(self._commands.session, "connect", None)
        if reach is None:
            raise _Refused("connect", "commands have no network of their own here")
        connected: socket.socket = reach(port, seconds)
        return connected

    def _read(self) -> None:
        while True:
            with self._lock:
                started = [each.running for each in self._programs.values() if each.live]
                live = [each for each in started if isinstance(each, RunningCommand)]
                if not live:
                    self._reader = None
                    return
            poll = select.poll()
            for running in live:
                for descriptor in running.descriptors():
                    poll.register(descriptor, select.POLLIN)
            poll.poll(_TICK_SECONDS * 1000)
            for running in live:
                running.pump(0)


class ToolProcesses:
    """Answers the interface during one call of one tool; its connections end with the call."""

    def __init__(self, programs: Processes, tool: str, turn: int) -> None:
        self._programs = programs
        self._tool = tool
        self._turn = turn
        self._connections: dict[int, socket.socket] = {}
        self._numbers = 0
        self._answers: Mapping[str, Callable[..., Answer]] = {
            "run": self._run,
            "start": self._start,
            "status": self._status,
            "stop": self._stop,
            "connect": self._connect,
            "[method]connection.read": self._read,
            "[method]connection.write": self._write,
        }

    def __call__(self, question: Question) -> Answer:
        try:
            return self._answers[question.function](question, *question.arguments)
        except _Refused as refused:
            return refused.answer
        except SetUpFailed as failure:
            return Err(failure.result().set_up_failure)
        except ValueError as bad:
            return Err(str(bad))

    def dropped(self, facts: Mapping[str, Any]) -> None:
        """The tool let go of a connection."""
        if facts.get("interface") == PROCESS_INTERFACE:
            wire = self._connections.pop(int(facts["number"]), None)
            if wire is not None:
                wire.close()

    def close(self) -> None:
        """Ends what the call left open."""
        for wire in self._connections.values():
            wire.close()
        self._connections.clear()

    def _run(
        self, question: Question, program: str, args: list[str], stdin: bytes | None
    ) -> Answer:
        running = self._programs.start(self._tool, self._turn, [program, *args], None, stdin)
        left = max(0.0, question.deadline - time.monotonic())
        result = running.wait(left, question.cancel) or running.stop()
        return _ended(result)

    def _start(self, question: Question, program: str, args: list[str], name: str | None) -> Answer:
        running = self._programs.start(self._tool, self._turn, [program, *args], name, None)
        return Ok(self._programs.keep(self._tool, name, running))

    def _status(self, question: Question, handle: str) -> Answer:
        result = self._known(handle).result
        return Ok(None) if result is None else _ended(result)

    def _stop(self, question: Question, handle: str) -> Answer:
        running = self._known(handle)
        result = running.result or running.stop()
        self._programs.forget(handle)
        return _ended(result)

    def _known(self, handle: str) -> "Started":
        running = self._programs.find(self._tool, handle)
        if running is None:
            raise ValueError(f"'{handle}' is no handle of a program that this tool started")
        return running

    def _connect(self, question: Question, handle: str, port: int) -> Answer:
        if self._known(handle).result is not None:
            raise _Refused("connect", "the program has ended")
        seconds = max(0.001, question.deadline - time.monotonic())
        try:
            wire = self._programs.connect(port, seconds)
        except OSError as failure:
            raise _Refused("connect", f"port {port}: {failure.strerror or failure}") from None
        self._numbers += 1
        self._connections[self._numbers] = wire
        return Ok(self._numbers)

    def _read(self, question: Question, number: int, most: int) -> Answer:
        return self._moved(question, number, lambda wire: wire.recv(min(most, _READ_BYTES)))

    def _write(self, question: Question, number: int, data: bytes) -> Answer:
        return self._moved(question, number, lambda wire: wire.send(data))

    def _moved(
        self, question: Question, number: int, move: Callable[[socket.socket], Any]
    ) -> Answer:
        wire = self._connections[number]
        wire.settimeout(max(0.001, question.deadline - time.monotonic()))
        try:
            return Ok(move(wire))
        except OSError as failure:
            return Err(str(failure.strerror or failure))


def _ended(result: CommandResult | None) -> Answer:
    """`finished`: the code that the program ended with, or the signal that ended it."""
    if result is None:
        return Err("the program could not be ended")
    if result.set_up_failure is not None:
        return Err(result.set_up_failure)
    signal = result.signal
    cut = max(len(result.stdout), len(result.stderr)) > OUTPUT_BYTES
    return Ok(
        {
            "exit-code": result.exit_code if signal is None else None,
            "signal": signal,
            "stdout": result.stdout[:OUTPUT_BYTES],
            "stderr": result.stderr[:OUTPUT_BYTES],
            "truncated": cut or result.discarded_bytes > 0,
        }
    )
