"""The rules by which a tool's program is refused, and their order. spec/artifacts.md 3."""

import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from murmur.core.diagnostics import error
from murmur.guest.questions import PROCESS_INTERFACE, Answer, Err, Ok, Question
from murmur.read_only.check import Write
from murmur.sandbox.ceiling import CeilingReached
from murmur.sandbox.results import CommandResult, SessionEnded, SetUpFailed
from murmur.session.commands import Commands
from murmur.session.processes import Processes
from murmur.session.protection import Protection
from murmur.session.shell_text import ShellCommand


class Program:
    """A started program that has ended already, or that never does."""

    def __init__(self, result: CommandResult | None) -> None:
        self.result = result

    def wait(self, *_: object) -> CommandResult | None:
        return self.result

    def stop(self) -> CommandResult:
        self.result = CommandResult(143, b"", b"", 1, signal=15)
        return self.result


def ended(code: int = 0, **more: Any) -> Program:
    return Program(CommandResult(code, more.pop("stdout", b""), b"", 1, **more))


def commands(start: Callable[..., Program]) -> Commands:
    made = SimpleNamespace(
        policy=SimpleNamespace(binaries={"cat": "/usr/bin/cat"}),
        session=SimpleNamespace(start=start),
        environment=dict,
    )
    return cast(Commands, made)


def asked(
    processes: Processes, function: str, *arguments: object, tool: str = "local/tool"
) -> Answer:
    question = Question(PROCESS_INTERFACE, function, arguments, time.monotonic() + 5)
    return processes.of(tool, turn=3)(question)


def rule(answer: Answer) -> str:
    assert isinstance(answer, Err) and isinstance(answer.value, dict), answer
    return str(answer.value["rule"])


def fails(failure: Exception) -> Callable[..., Program]:
    def start(*_: object, **__: object) -> Program:
        raise failure

    return start


PROTECTED = cast(
    Protection,
    SimpleNamespace(write_of_command=lambda binary, argv: Write("tests/x", "tests", "operand")),
)


def test_allowlist_then_read_only_then_hooks_then_the_rest() -> None:
    heard: list[tuple[Sequence[str], int]] = []

    def deny(command: ShellCommand, turn: int) -> str | None:
        heard.append((command.argv, turn))
        return "hook says no"

    protected = Processes(commands(fails(SessionEnded())), PROTECTED, deny)
    assert rule(asked(protected, "run", "rm", [], None)) == "capabilities.shell.allow"
    assert rule(asked(protected, "run", "cat", [], None)) == "capabilities.filesystem.read_only"
    assert heard == []
    denied = Processes(commands(fails(SessionEnded())), None, deny)
    answer = asked(denied, "start", "cat", ["a b"], "Not A Name")
    assert rule(answer) == "on-shell" and heard == [(["cat", "a b"], 3)]
    free = Processes(commands(fails(SessionEnded())), None, None)
    assert rule(asked(free, "start", "cat", [], "Not A Name")) == "name"
    assert rule(asked(free, "run", "cat", [], None)) == "session-ended"


def test_a_full_work_folder_is_refused_by_that_rule() -> None:
    reached = CeilingReached(error("E-RUN-013", observed=2, allowed=1))
    processes = Processes(commands(fails(reached)), None, None)
    answer = asked(processes, "run", "cat", [], None)
    assert rule(answer) == "capabilities.resources.max_workdir_bytes"


def test_a_set_up_that_fails_is_failed_and_no_refusal() -> None:
    processes = Processes(commands(fails(SetUpFailed("exec: no"))), None, None)
    answer = asked(processes, "run", "cat", [], None)
    assert isinstance(answer, Err) and "exec: no" in str(answer.value)


@pytest.mark.parametrize(
    ("code", "killed_by", "exit_code", "signal"),
    [(0, None, 0, None), (3, None, 3, None), (129, None, 129, None), (137, 9, None, 9)],
)
def test_a_program_has_ended_by_a_code_or_by_a_signal(
    code: int, killed_by: int | None, exit_code: int | None, signal: int | None
) -> None:
    processes = Processes(commands(lambda *_, **__: ended(code, signal=killed_by)), None, None)
    answer = asked(processes, "run", "cat", [], None)
    assert isinstance(answer, Ok)
    assert (answer.value["exit-code"], answer.value["signal"]) == (exit_code, signal)


def test_long_output_is_cut_and_says_so() -> None:
    long = ended(stdout=b"x" * (2 << 20))
    answer = asked(Processes(commands(lambda *_, **__: long), None, None), "run", "cat", [], None)
    assert isinstance(answer, Ok)
    assert (len(answer.value["stdout"]), answer.value["truncated"]) == (1 << 20, True)


def test_a_handle_is_of_use_to_the_tool_that_got_it_alone() -> None:
    processes = Processes(commands(lambda *_, **__: Program(None)), None, None)
    started = asked(processes, "start", "cat", [], None)
    assert isinstance(started, Ok) and started.value.startswith("prc_")
    assert asked(processes, "status", started.value) == Ok(None)
    other = asked(processes, "status", started.value, tool="local/other")
    assert isinstance(other, Err) and "no handle" in str(other.value)
    stopped = asked(processes, "stop", started.value)
    assert isinstance(stopped, Ok) and stopped.value["signal"] == 15
    assert isinstance(asked(processes, "status", started.value), Err)


def test_eight_live_programs_are_all_a_session_has_and_an_ended_one_makes_room() -> None:
    processes = Processes(commands(lambda *_, **__: Program(None)), None, None)
    started = [asked(processes, "start", "cat", [], None) for _ in range(8)]
    assert all(isinstance(each, Ok) for each in started)
    assert rule(asked(processes, "run", "cat", [], None)) == "session-process-cap"
    asked(processes, "stop", started[0].value)
    assert isinstance(asked(processes, "start", "cat", [], None), Ok)


def test_without_a_network_of_their_own_no_port_is_reached() -> None:
    processes = Processes(commands(lambda *_, **__: Program(None)), None, None)
    started = asked(processes, "start", "cat", [], None)
    assert rule(asked(processes, "connect", started.value, 80)) == "connect"
