"""Runs of a harness whose driver and process are scripted. spec/artifacts.md 13.2; door.md 11."""

import dataclasses
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from murmur.core.tasks import ArtifactFrame, Task, TaskState, TextFrame
from murmur.guest.calls import Attachment, ToolResult
from murmur.manifest.session import KeepWorking, Lifecycle
from murmur.sandbox.results import CommandResult
from murmur.session.attempt import KILLED, Attempt, Ending
from murmur.session.course import AskHooks, Reopen
from murmur.session.deadline import Notice
from murmur.session.harness.bridge import Answered, BridgeCall
from murmur.session.harness.contract import (
    CallAnswered,
    Called,
    Description,
    Event,
    ExitStatus,
    Interrupt,
    LaunchPlan,
    LaunchRequest,
    Note,
    SessionStarted,
    Text,
    TextDelta,
    TurnEnd,
    TurnFailed,
)
from murmur.session.harness.driver import CallFailed
from murmur.session.harness.inbox import Ended, Inbox
from murmur.session.harness.load import LoadedHarness
from murmur.session.harness.loop import HarnessLoop, HarnessSettings, Means
from murmur.session.harness.needs import HarnessGrants
from murmur.session.harness.sessions import HarnessSessions
from murmur.session.harness.version import Probed
from murmur.session.history import Keeping
from murmur.session.loop import AgentLoop
from murmur.session.tests.scripted import Rig, rig

PLAN = LaunchPlan((), (), (), b"", True, b"stop")
STARTED = SessionStarted("s-1", "subscription", None)
ENDED = CommandResult(0, b"", b"", 5)
KILLED_RESULT = CommandResult(137, b"", b"", 5, signal=9)

Script = Sequence[Event | Callable[["Process"], None]]


class Driver:
    """Parses a line as the number of an event; `exits` is what it says of an exit."""

    label = "local/driver@0.1.0"

    def __init__(self) -> None:
        self.artifact = SimpleNamespace(entry=SimpleNamespace(name="local/driver", version="0.1.0"))
        self.requests: list[LaunchRequest] = []
        self.statuses: list[ExitStatus] = []
        self.events: list[Event] = []
        self.exits: TurnEnd | TurnFailed = TurnFailed("other", "gone")

    def launch(self, request: LaunchRequest) -> LaunchPlan:
        self.requests.append(request)
        return PLAN

    def parse(self, lines: Sequence[str]) -> list[Event]:
        return [self.events[int(line)] for line in lines]

    def classify_exit(self, status: ExitStatus) -> TurnEnd | TurnFailed:
        self.statuses.append(status)
        return self.exits


class Process:
    """A harness that does what its script says, in a thread, as it would by itself."""

    stderr_tail = "its last words"

    def __init__(self, driver: Driver, inbox: Inbox, script: Script) -> None:
        self.inbox = inbox
        self.told: list[str] = []
        self.stopped = threading.Event()
        self.killed = threading.Event()
        self._driver = driver
        self._thread = threading.Thread(target=self._run, args=(script,), daemon=True)
        self._thread.start()

    def _run(self, script: Script) -> None:
        for step in script:
            if callable(step):
                step(self)
            else:
                self._driver.events.append(step)
                self.inbox.put_lines([str(len(self._driver.events) - 1).encode()])
        self.inbox.post(Ended(KILLED_RESULT if self.killed.is_set() else ENDED))

    def call(self, name: str, arguments: Mapping[str, Any]) -> Answered:
        answer: Future[Answered] = Future()
        self.inbox.post(BridgeCall(name, arguments, answer))
        return answer.result(10)

    def interrupt(self, method: Interrupt, message: bytes | None) -> bool:
        self.told.append(method)
        self.stopped.set()
        return method != "unsupported"

    def close_stdin(self) -> None:
        self.stopped.set()

    def kill(self) -> None:
        self.killed.set()

    def close(self) -> None:
        self.kill()
        self._thread.join(10)


def hangs(process: Process) -> None:
    """Does nothing until it is killed."""
    assert process.killed.wait(10)


def until_told(process: Process) -> None:
    assert process.stopped.wait(10)


@dataclasses.dataclass(frozen=True, slots=True)
class At:
    made: Rig
    driver: Driver
    processes: list[Process]

    def run(self) -> Ending:
        """A task of the door's, to its end."""
        self.made.submit()
        ending = self.made.runner.run(self.made.take())
        assert ending is not None
        return ending


def harness(
    folder: Path,
    *scripts: Script,
    interrupt: Interrupt = "stdin-message",
    inactivity: float = 30,
    tools: Mapping[str, Any] | None = None,
    lifecycle: Lifecycle | None = None,
    hooks: AskHooks | None = None,
    max_turns: int | None = None,
) -> At:
    """A session whose harness does one script a run."""
    made = rig(folder, [], tools=tools, lifecycle=lifecycle or Lifecycle(), hooks=hooks)
    driver = Driver()
    processes: list[Process] = []
    left = iter(scripts)

    def start(argv: list[str], env: Mapping[str, str], plan: LaunchPlan, inbox: Inbox) -> Process:
        processes.append(Process(driver, inbox, next(left)))
        return processes[-1]

    description = Description("Stand-in", "x", (), (), interrupt, (), True, True)
    settings = HarnessSettings(
        loaded=LoadedHarness(cast(Any, driver), description, "/x", "y", (), HarnessGrants()),
        model=None,
        system="",
        driver_config=None,
        max_turns=max_turns,
        meter=cast(AgentLoop, made.runner.loop)._settings.meter,
        hooks=None,
        files=made.records,
        files_path=str(folder),
        env={},
        runtime_dir="/r",
        warn=lambda found: made.warned.append(found.code),
        notice=Notice(None, None),
        inactivity=inactivity,
    )
    means = Means(cast(Any, start), lambda: Probed("1.0.0", True, ""), None)
    sessions = HarnessSessions(Keeping(), "Stand-in", driver.label)
    loop = HarnessLoop(
        settings,
        means,
        sessions,
        cast(AgentLoop, made.runner.loop)._dispatcher,
        made.trace,
    )
    rules = dataclasses.replace(made.runner.rules, max_turns=max_turns)
    runner = dataclasses.replace(made.runner, loop=loop, elsewhere=sessions, rules=rules)
    return At(dataclasses.replace(made, runner=runner), driver, processes)


def test_silence_ends_a_run_with_e_run_035_and_a_call_of_a_tool_is_no_silence(
    tmp_path: Path,
) -> None:
    def works(artifact: str, data: str, attempt: Attempt) -> ToolResult:
        threading.Event().wait(0.4)
        return ToolResult("passed", data="done")

    def calls(process: Process) -> None:
        assert process.call("slow", {"x": 1}) == Answered("done", is_error=False)

    at = harness(tmp_path, [STARTED, calls, hangs], tools={"slow": works}, inactivity=0.3)
    ending = at.run()
    assert ending.error is not None and ending.error.code == "E-RUN-035"
    exit_line = at.made.event("harness_exit")
    assert (exit_line["cause"], exit_line["killed"], exit_line["signal"]) == (
        "inactivity", True, 9,
    )  # fmt: skip
    assert at.made.event("inference")["error_code"] == "harness_inactive"


@pytest.mark.parametrize(("interrupt", "delivered"), [("unsupported", False), ("signal-int", True)])
def test_what_does_not_stop_in_time_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupt: Interrupt, delivered: bool
) -> None:
    monkeypatch.setattr("murmur.session.harness.run.GRACE_SECONDS", 0.2)
    at = harness(tmp_path, [STARTED, Text("I work"), hangs], interrupt=interrupt)
    task = at.made.submit()
    threading.Timer(0.3, lambda: at.made.board.cancel(task.id)).start()
    ending = at.made.runner.run(at.made.take())
    assert ending is not None and (ending.status, ending.said) == ("canceled", KILLED)
    line = at.made.event("harness_interrupt")
    assert (line["method"], line["delivered"], line["grace_ms"]) == (
        interrupt, delivered, 200 if delivered else 0,
    )  # fmt: skip
    exit_line = at.made.event("harness_exit")
    assert (exit_line["cause"], exit_line["killed"]) == ("canceled", True)
    assert at.made.board.get(task.id).status_text == KILLED


def test_an_answer_that_nothing_announced_is_told_whole(tmp_path: Path) -> None:
    at = harness(tmp_path, [STARTED, until_told])
    at.driver.exits = TurnEnd("42")
    task = at.made.submit()
    watch = at.made.board.watch(task.id, lambda: None)
    stop = threading.Timer(0.2, lambda: at.processes[0].stopped.set())
    stop.start()
    ending = at.made.runner.run(at.made.take())
    assert ending is not None and ending.response == "42"
    frames = [event.frame for event in watch.take()]
    assert TextFrame("42", final=True) in frames
    (status,) = at.driver.statuses
    assert (status.code, status.stderr_tail, status.interrupted) == (0, "its last words", False)


def test_streamed_text_ends_with_an_empty_final_and_a_result_is_a_frame(tmp_path: Path) -> None:
    script: Script = [
        STARTED,
        TextDelta("I l"),
        TextDelta("ook"),
        Text("I look"),
        Called("c1", "built-in", '{"a": 1}'),
        CallAnswered("c1", "found", False),
        CallAnswered("c9", "of nothing", False),
        Text("done"),
        TurnEnd("done"),
        until_told,
    ]
    at = harness(tmp_path, script)
    task = at.made.submit()
    watch = at.made.board.watch(task.id, lambda: None)
    ending = at.made.runner.run(at.made.take())
    assert ending is not None and ending.response == "done"
    frames = [event.frame for event in watch.take()]
    texts = [(frame.text, frame.final) for frame in frames if isinstance(frame, TextFrame)]
    assert texts == [("I l", False), ("ook", False), ("", True), ("done", True)]
    (artifact,) = [frame for frame in frames if isinstance(frame, ArtifactFrame)]
    assert (artifact.tool_name, artifact.content, artifact.fence_source) == (
        "built-in", "found", None,
    )  # fmt: skip
    assert "c9" in at.made.event("harness_note")["text"]
    assert at.made.event("tool_call")["input"] == {"a": 1}


def test_images_of_a_result_come_through_the_bridge(tmp_path: Path) -> None:
    png = b"\x89PNG\r\n\x1a\n" + b"pixels"
    (tmp_path / "shot.png").write_bytes(png)
    seen: list[Answered] = []

    def shoots(artifact: str, data: str, attempt: Attempt) -> ToolResult:
        return ToolResult(
            "passed", data="a picture", attachments=(Attachment("image/png", "shot.png"),)
        )

    def calls(process: Process) -> None:
        seen.append(process.call("camera", {"x": 1}))

    at = harness(tmp_path, [STARTED, calls, TurnEnd("ok"), until_told], tools={"camera": shoots})
    at.run()
    (answered,) = seen
    assert [(each.media_type, each.data) for each in answered.images] == [("image/png", png)]
    content = answered.value()["content"]
    assert content[1]["mimeType"] == "image/png" and content[0]["text"] == "a picture"


def test_a_question_that_nobody_answers_in_time_ends_the_task(tmp_path: Path) -> None:
    def asks(artifact: str, data: str, attempt: Attempt) -> ToolResult:
        attempt.interrupted.timed_out = True
        return ToolResult("failed", summary="input-timeout")

    def calls(process: Process) -> None:
        assert process.call("asker", {"x": 1}).is_error

    at = harness(tmp_path, [STARTED, Text("I ask"), calls, hangs], tools={"asker": asks})
    ending = at.run()
    assert (ending.said, ending.cause) == ("input-timeout", "input_timeout")
    assert at.made.event("harness_exit")["killed"]


def test_a_harness_that_stops_when_it_is_told_is_not_said_to_be_killed(tmp_path: Path) -> None:
    def stops(process: Process) -> None:
        until_told(process)
        threading.Event().wait(0.2)

    failed = TurnFailed("canceled", "told to")
    at = harness(tmp_path, [STARTED, until_told, failed, stops])
    task = at.made.submit()
    threading.Timer(0.2, lambda: at.made.board.cancel(task.id)).start()
    ending = at.made.runner.run(at.made.take())
    assert ending is not None and ending.said == "task canceled"
    assert not at.made.event("harness_exit")["killed"]


def test_a_driver_that_refuses_a_launch_starts_nothing_and_is_quoted(tmp_path: Path) -> None:
    at = harness(tmp_path)

    def refuses(request: LaunchRequest) -> LaunchPlan:
        raise CallFailed("launch", "no such model: m-9")

    at.driver.launch = refuses  # type: ignore[method-assign]
    ending = at.run()
    assert ending.error is not None and "launch call failed: no such model: m-9" in ending.reason
    assert not at.processes and "harness_start" not in at.made.kinds()
    assert at.made.event("inference")["error_code"] == "driver_failed"


def test_kept_at_work_the_task_goes_on_in_its_session(tmp_path: Path) -> None:
    run: Script = [STARTED, Text("x"), TurnEnd("x"), until_told]
    lifecycle = Lifecycle(keep_working=KeepWorking("go on", 1))
    at = harness(tmp_path, run, run, lifecycle=lifecycle)
    at.run()
    first, second = at.driver.requests
    assert (first.session_mode, second.session_mode, second.session_id) == ("new", "resume", "s-1")
    assert second.task == "go on"
    assert at.made.event("task_end")["keep_working"] == {"stopped_by": "limit"}


@pytest.mark.parametrize("named", [True, False], ids=["continued", "restarted"])
def test_a_reopened_attempt_goes_on_where_there_is_a_session_to_go_on_with(
    tmp_path: Path, named: bool
) -> None:
    def reopens(task: Task, attempt: Attempt, ending: Ending) -> Reopen | None:
        return Reopen("judge", "once more") if ending.status == "failed" else None

    first: Script = [STARTED] if named else []
    failed: Script = [*first, TurnFailed("other", "no"), until_told]
    at = harness(tmp_path, failed, [Text("x"), TurnEnd("x"), until_told], hooks=reopens)
    at.run()
    reopened = at.made.event("task_reopened")["attempt_context"]
    assert reopened == ("continued" if named else "restarted")
    second = at.driver.requests[1]
    assert second.session_mode == ("resume" if named else "new")
    assert "Reopen 1 — from hook judge" in second.task
    assert ("# Reopen feedback" in second.task) is not named


def test_a_tool_that_is_asked_for_while_the_task_is_canceled_is_not_called(
    tmp_path: Path,
) -> None:
    called: list[str] = []
    answers: list[Answered] = []

    def works(artifact: str, data: str, attempt: Attempt) -> ToolResult:
        called.append(data)
        return ToolResult("passed", data="done")

    def calls(process: Process) -> None:
        until_told(process)
        answers.append(process.call("tool", {"x": 1}))

    at = harness(tmp_path, [STARTED, calls], tools={"tool": works})
    task = at.made.submit()
    threading.Timer(0.2, lambda: at.made.board.cancel(task.id)).start()
    ending = at.made.runner.run(at.made.take())
    assert ending is not None and ending.status == "canceled"
    assert answers == [Answered("the task was canceled", is_error=True)] and called == []


def test_a_turn_that_nobody_could_keep_fails_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("murmur.session.harness.turns._LARGEST_TURN", 1000)
    at = harness(tmp_path, [STARTED, *[TextDelta("x" * 100)] * 9, hangs])
    ending = at.run()
    assert ending.error is not None and ending.error.code == "E-RUN-034"
    exit_line = at.made.event("harness_exit")
    assert (exit_line["cause"], exit_line["killed"]) == ("driver_error", True)


def test_files_that_cannot_be_written_start_no_harness(tmp_path: Path) -> None:
    at = harness(tmp_path)

    def plans(request: LaunchRequest) -> LaunchPlan:
        return dataclasses.replace(PLAN, files=(("same", "1"), ("same", "2")))

    at.driver.launch = plans  # type: ignore[method-assign]
    ending = at.run()
    assert ending.error is not None and ending.error.code == "E-RUN-033"
    assert "files cannot be written" in ending.error.message
    assert not at.processes and not list(tmp_path.rglob("same"))


def test_calls_that_are_never_told_of_are_kept_as_lines_and_not_in_memory(
    tmp_path: Path,
) -> None:
    def works(artifact: str, data: str, attempt: Attempt) -> ToolResult:
        return ToolResult("passed", data="done")

    def calls(process: Process) -> None:
        for number in range(70):
            assert process.call("quick", {"x": number}).text == "done"
        lines = [each for each in at.made.events() if each["event_type"] == "tool_call"]
        assert len(lines) == 6

    at = harness(tmp_path, [STARTED, calls, TurnEnd("ok"), until_told], tools={"quick": works})
    at.run()
    lines = [each for each in at.made.events() if each["event_type"] == "tool_call"]
    assert [line["input"] for line in lines] == [{"x": number} for number in range(70)]


def test_a_driver_that_answers_an_exit_with_something_else_is_e_run_034(tmp_path: Path) -> None:
    at = harness(tmp_path, [STARTED, Note("bye")])

    def refuses(status: ExitStatus) -> TurnEnd:
        raise CallFailed("classify-exit", "it answered neither turn-end nor turn-failed")

    at.driver.classify_exit = refuses  # type: ignore[method-assign]
    ending = at.run()
    assert ending.error is not None and ending.error.code == "E-RUN-034"
    assert at.made.event("harness_exit")["cause"] == "driver_error"
    assert ending.state is TaskState.FAILED
