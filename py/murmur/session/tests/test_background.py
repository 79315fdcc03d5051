"""Commands in the background, on real processes. spec/sessions.md 14.4 and 15.2."""

import dataclasses
import json
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from murmur.core.diagnostics import MurmurError, error
from murmur.core.safefs import open_root
from murmur.core.tasks import Acceptance, Origin, Task
from murmur.sandbox.plain import PlainCommand
from murmur.session.answers import Answer
from murmur.session.attempt import Attempt
from murmur.session.background import Background, Detached
from murmur.session.background_tool import BackgroundCommandTool
from murmur.session.board import Board
from murmur.session.command_output import CommandOutput
from murmur.session.tests.scripted import SESSION_START
from murmur.trace.reader import read_trace
from murmur.trace.writer import TraceWriter


@dataclasses.dataclass(frozen=True, slots=True)
class Yard:
    """A session's background on real processes."""

    folder: Path
    board: Board
    background: Background
    trace: TraceWriter
    task: Task
    limit: int = 1 << 20

    def start(self, script: str, work_id: str = "wrk_1", grace_ms: int | None = 0) -> Detached:
        output = CommandOutput(self.background._records, self.limit)
        process = subprocess.Popen(
            ["sh", "-c", script],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        detached = Detached(
            work_id=work_id,
            task_id=self.task.id,
            context_id=self.task.context_id,
            binary="/bin/sh",
            command=script,
            running=PlainCommand(process, output.take),
            output=output,
            began=time.monotonic(),
            started_at_ms=time.time_ns() // 1_000_000,
        )
        self.background.adopt(detached, 0, grace_ms)
        return detached

    def lines(self, kind: str) -> list[Mapping[str, Any]]:
        events = read_trace(self.folder / "trace.jsonl").events
        return [event for event in events if event["event_type"] == kind]

    def ask(self, operation: str, work_id: str = "wrk_1", **more: Any) -> Answer:
        tool = BackgroundCommandTool(self.background, "/records")
        attempt = cast(Attempt, SimpleNamespace(cancel=threading.Event()))
        return tool({"operation": operation, "work_id": work_id, **more}, attempt, 1)


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    (tmp_path / "logs").mkdir()
    records = open_root(tmp_path)
    trace = TraceWriter(records, "ses_1")
    trace.write("session_start", **SESSION_START)
    board = Board(Acceptance.QUEUE, 8)
    task = board.submit_local("go")
    assert board.take(0) is not None and board.start(task)
    background = Background("ses_1", records, str(tmp_path), trace)
    background.attach(board)
    background.between_tasks(False)
    yield Yard(tmp_path, board, background, trace, task)
    background.give_up()
    for detached in background._commands.values():
        detached.running.kill()
    background.join()
    trace.close()


def _ended(detached: Detached) -> None:
    assert detached.ended.wait(10)


def test_output_from_before_and_after_the_demotion_is_in_the_log_while_it_runs(yard: Yard) -> None:
    detached = yard.start("echo first; echo second >&2; sleep 30")
    end = time.monotonic() + 10
    log = yard.folder / detached.log
    while log.read_text() != "first\nsecond\n" and time.monotonic() < end:
        time.sleep(0.01)
    assert log.read_text() == "first\nsecond\n"
    assert detached.result is None
    (line,) = yard.lines("shell_detached")
    assert (line["work_id"], line["grace_ms"], line["task_id"]) == ("wrk_1", 0, yard.task.id)


def test_an_end_between_tasks_becomes_a_task_of_the_same_context(yard: Yard) -> None:
    detached = yard.start("printf 'se%s\\n' cret; exit 3")
    _ended(detached)
    assert yard.lines("shell_completed") == [], "its own task still runs"
    yard.board.finish(yard.task.id, _completed(), "done")
    yard.background.between_tasks(True)
    (line,) = yard.lines("shell_completed")
    assert (line["exit_code"], line["status"], line["output_bytes"]) == (3, "error", 7)
    task = yard.board.take(0)
    assert task is not None
    assert task.id == line["completion_task_id"]
    assert (task.origin, task.source) == (Origin.COMPLETION, "detached_shell")
    assert task.context_id == yard.task.context_id
    assert "exit code: 3" in task.text and "logs/wrk_1.log" in task.text
    assert "secret" not in task.text


def test_an_end_while_the_session_sleeps_is_told_at_once(yard: Yard) -> None:
    yard.board.finish(yard.task.id, _completed(), "done")
    yard.background.between_tasks(True)
    yard.start("sleep 0.2")
    task = yard.board.take(10)
    assert task is not None and task.source == "detached_shell"
    assert yard.lines("shell_completed")[0]["status"] == "ok"


def test_an_exit_that_the_agent_has_read_makes_no_task(yard: Yard) -> None:
    _ended(yard.start("echo out; exit 3"))
    answer = yard.ask("status")
    shown = json.loads(answer.text)
    assert (shown["state"], shown["exit_code"], shown["status"]) == ("ended", 3, "error")
    assert shown["output"] == "out\n" and shown["log"] == "/records/logs/wrk_1.log"
    yard.board.finish(yard.task.id, _completed(), "done")
    yard.background.between_tasks(True)
    (line,) = yard.lines("shell_completed")
    assert "completion_task_id" not in line
    assert yard.board.take(0) is None


def test_a_wait_ends_with_the_command_and_counts_as_read(yard: Yard) -> None:
    yard.background.between_tasks(True)
    yard.start("sleep 0.3; exit 1")
    shown = json.loads(yard.ask("wait").text)
    assert (shown["state"], shown["exit_code"]) == ("ended", 1)
    assert "completion_task_id" not in yard.lines("shell_completed")[0]


def test_a_wait_is_bounded_and_a_running_command_shows_no_output(yard: Yard) -> None:
    yard.start("echo secret; sleep 30")
    shown = json.loads(yard.ask("wait", wait_secs=0).text)
    assert shown["state"] == "running" and "output" not in shown and "exit_code" not in shown


def test_stop_ends_a_command_that_ignores_sigterm(yard: Yard) -> None:
    yard.start("trap '' TERM; while :; do sleep 0.1; done")
    time.sleep(0.3)
    shown = json.loads(yard.ask("stop").text)
    assert (shown["state"], shown["signal"]) == ("ended", 9)


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        ({"operation": "start", "work_id": "wrk_1"}, "status, wait, stop"),
        ({"operation": "status", "work_id": "wrk_9"}, "wrk_9"),
        ({"operation": "status", "work_id": 7}, "7"),
        ({"operation": "wait", "work_id": "wrk_1", "wait_secs": -1}, "600"),
        ({"operation": "wait", "work_id": "wrk_1", "wait_secs": "x"}, "600"),
        ({"operation": "wait", "work_id": "wrk_1", "wait_secs": True}, "600"),
    ],
)
def test_a_call_that_makes_no_sense_says_what_is_allowed(
    yard: Yard, arguments: Mapping[str, Any], fact: str
) -> None:
    answer = yard.ask(**arguments)
    assert answer.is_error and fact in answer.text


def test_a_cancel_names_what_it_leaves_running(yard: Yard) -> None:
    yard.start("sleep 30")
    report = yard.board.cancel(yard.task.id)
    (item,) = report.residue
    assert (item["kind"], item["work_id"]) == ("detached_shell", "wrk_1")
    assert yard.background.running_of(yard.task.id) == ["wrk_1"]


def test_a_stop_names_the_commands_of_tasks_that_are_over_too(yard: Yard) -> None:
    yard.start("sleep 30")
    yard.board.finish(yard.task.id, _completed(), "done")
    (item,) = yard.board.cancel_all().residue
    assert item["work_id"] == "wrk_1"
    yard.ask("stop")
    assert yard.board.cancel_all().residue == ()


def test_the_end_of_the_session_accounts_for_every_command_once(
    yard: Yard, capsys: pytest.CaptureFixture[str]
) -> None:
    told = yard.start("true", "wrk_1")
    _ended(told)
    yard.ask("status", "wrk_1")
    late = yard.start("echo x; exit 5", "wrk_2")
    _ended(late)
    yard.start("sleep 30", "wrk_3")
    yard.background.give_up()
    lines = {str(line["work_id"]): line for line in yard.lines("shell_abandoned")}
    assert sorted(lines) == ["wrk_2", "wrk_3"]
    assert (lines["wrk_2"]["exit_code"], lines["wrk_2"]["output_bytes"]) == (5, 2)
    assert "exit_code" not in lines["wrk_3"] and "output_path" not in lines["wrk_3"]
    said = capsys.readouterr().err
    assert said == (yard.folder / "logs" / "bootstrap.log").read_text()
    assert "2 background commands" in said and "wrk_1" not in said
    assert "exit_code: 5" in said and "still running after" in said
    yard.background.give_up()
    assert len(yard.lines("shell_abandoned")) == 2


def test_a_fault_in_waiting_is_told_as_one(yard: Yard) -> None:
    detached = yard.start("sleep 30")

    def broken(timeout: float | None = None) -> None:
        raise OSError("the pipe is gone")

    detached.running.wait = broken  # type: ignore[method-assign]
    _ended(detached)
    shown = json.loads(yard.ask("status").text)
    assert (shown["exit_code"], shown["status"]) == (-1, "error")
    assert "the pipe is gone" in shown["wait_error"]
    assert yard.lines("shell_completed")[0]["status"] == "error"


def test_a_log_beyond_its_bound_is_cut_and_says_so(yard: Yard) -> None:
    small = dataclasses.replace(yard, limit=100)
    detached = small.start("head -c 5000 /dev/zero | tr '\\0' x; echo end")
    _ended(detached)
    assert (yard.folder / detached.log).stat().st_size == 100
    shown = json.loads(yard.ask("status").text)
    assert shown["log_bytes"] == 100 and "workdir_max_bytes" in shown["log_lost"]
    assert shown["output"].endswith("end\n")


def test_a_log_that_cannot_be_made_costs_the_log_alone(yard: Yard) -> None:
    (yard.folder / "logs" / "wrk_1.log").mkdir()
    detached = yard.start("echo x; exit 4")
    _ended(detached)
    shown = json.loads(yard.ask("status").text)
    assert (shown["exit_code"], shown["log_bytes"], shown["output"]) == (4, 0, "x\n")


def test_a_demotion_that_cannot_be_recorded_is_announced_and_goes_on(
    yard: Yard, capsys: pytest.CaptureFixture[str]
) -> None:
    yard.trace.close()
    detached = yard.start("exit 6")
    _ended(detached)
    assert "wrk_1" in capsys.readouterr().err
    assert json.loads(yard.ask("status").text)["exit_code"] == 6


def test_a_demotion_whose_own_line_is_lost_has_one_that_says_so(
    yard: Yard, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write = TraceWriter.write_aside

    def failing(self: TraceWriter, kind: str, **fields: Any) -> MurmurError | None:
        if kind == "shell_detached":
            return error("E-RUN-007", reason="the disk is full")
        return write(self, kind, **fields)

    monkeypatch.setattr(TraceWriter, "write_aside", failing)
    detached = yard.start("exit 6")
    (line,) = yard.lines("shell_detach_unrecorded")
    assert line["work_id"] == "wrk_1" and "the disk is full" in line["reason"]
    assert "no later resume will report it as lost" in capsys.readouterr().err
    _ended(detached)


def _completed() -> Any:
    from murmur.core.tasks import TaskState

    return TaskState.COMPLETED
