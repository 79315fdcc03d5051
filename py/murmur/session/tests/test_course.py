"""What continues a task, checks it and opens it again. spec/sessions.md 12 and 13."""

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from murmur.core.tasks import StatusFrame, Task, TaskState
from murmur.guest.calls import GuestResult, ToolResult
from murmur.manifest.session import DoneCheck, KeepWorking, Lifecycle
from murmur.sandbox.results import CommandResult, NotAllowed
from murmur.session.attempt import Attempt, Ending
from murmur.session.course import Reopen
from murmur.session.deadline import Deadline, Notice, UntilDeadline, earliest_deadline
from murmur.session.run import run_tasks
from murmur.session.tests.scripted import Answer, Rig, call, calls, rig, says, until_cancelled

KEEP = Lifecycle(keep_working=KeepWorking("Go on.", 2))
CHECK = Lifecycle(done_check=DoneCheck("bash check.sh", 1))


def echo(artifact: str, data: str, attempt: Attempt) -> GuestResult:
    return ToolResult("passed", data=data)


def run(at: Rig) -> Ending:
    at.submit()
    ending = at.runner.run(at.take())
    assert ending is not None
    return ending


def user_texts(at: Rig, request: int) -> list[str]:
    messages = at.requests[request]["messages"]
    return [each["content"][0]["text"] for each in messages if each["role"] == "user"]


def test_a_turn_end_is_answered_with_the_message_until_the_limit(tmp_path: Path) -> None:
    at = rig(tmp_path, [says("one"), says("two"), says("three")], lifecycle=KEEP)
    ending = run(at)
    assert (ending.status, ending.result) == ("ok", "three")
    assert user_texts(at, 2)[1:] == ["Go on.", "Go on."]
    kept = [event for event in at.events() if event["event_type"] == "task_kept_working"]
    assert [(event["number"], event["turns_remaining"]) for event in kept] == [(1, None), (2, None)]
    end = at.event("task_end")
    assert (end["keep_working"], end["turns"], end["reopen_count"]) == (
        {"stopped_by": "limit"},
        3,
        0,
    )


def test_no_turn_left_stops_keeping_at_the_turn_end(tmp_path: Path) -> None:
    at = rig(tmp_path, [says("one"), says("two")], lifecycle=KEEP, max_turns=2)
    assert run(at).result == "two"
    assert at.event("task_end")["keep_working"] == {"stopped_by": "max_turns"}


def test_turns_that_run_out_while_kept_working_leave_the_last_answer(tmp_path: Path) -> None:
    answers = [says("one"), calls(call("t", x=1))]
    at = rig(tmp_path, answers, lifecycle=KEEP, max_turns=2, tools={"t": echo})
    ending = run(at)
    assert (ending.status, ending.result) == ("ok", "one")
    assert at.event("task_end")["keep_working"] == {"stopped_by": "max_turns"}


def test_a_failure_while_kept_working_fails_the_task(tmp_path: Path) -> None:
    at = rig(tmp_path, [says("one"), ToolResult("failed", summary="no")], lifecycle=KEEP)
    assert run(at).status == "failed"
    assert "keep_working" not in at.event("task_end")


def ended(code: int, **more: Any) -> CommandResult:
    return CommandResult(code, b"out ", b"err", 5, **more)


class Checks:
    """A check that ends as told, one run after another."""

    def __init__(self, results: Sequence[CommandResult | Exception]) -> None:
        self._left = iter(results)
        self.calls: list[tuple[list[str], float]] = []

    def __call__(self, argv: list[str], timeout: float, cancel: threading.Event) -> CommandResult:
        self.calls.append((argv, timeout))
        result = next(self._left)
        if isinstance(result, Exception):
            raise result
        return result


@pytest.mark.parametrize(
    ("result", "outcome", "code"),
    [
        (ended(0), "passed", 0),
        (ended(0, resource_limit="cpu_seconds"), "failed", 0),
        (ended(-1, cancelled=True), "stopped", None),
        (ended(-1, set_up_failure="no"), "not_started", None),
        (NotAllowed("bash"), "not_started", None),
    ],
)
def test_a_check_is_recorded_by_how_it_ended(
    tmp_path: Path, result: CommandResult | Exception, outcome: str, code: int | None
) -> None:
    never_again = Lifecycle(done_check=DoneCheck("bash 'check it'", 0, 7))
    checks = Checks([result])
    at = rig(tmp_path, [says("one")], lifecycle=never_again, check=checks)
    assert run(at).status == "ok"
    event = at.event("done_check")
    assert (event["outcome"], event.get("exit_code"), event["number"]) == (outcome, code, 1)
    assert checks.calls == [(["bash", "check it"], 7)]


def test_a_failing_check_opens_the_task_again_within_its_limit(tmp_path: Path) -> None:
    checks = Checks([ended(3), ended(-1, timed_out=True)])
    at = rig(tmp_path, [says("one"), says("two")], lifecycle=CHECK, check=checks)
    task = at.submit()
    watch = at.board.watch(task.id, lambda: None)
    ending = at.runner.run(at.take())
    assert ending is not None and (ending.status, ending.result) == ("ok", "two")
    feedback = user_texts(at, 1)[1]
    assert feedback.startswith("<untrusted-content source=task:event>\nReopen 1 — from lifecycle")
    for fact in ("Command: bash check.sh", "Exit code: 3", "out err"):
        assert fact in feedback
    reopened = at.event("task_reopened")
    assert (reopened["hook_name"], reopened["reopen_number"], reopened["attempt_context"]) == (
        "lifecycle.done_check",
        1,
        "continued",
    )
    outcomes = [each["outcome"] for each in at.events() if each["event_type"] == "done_check"]
    assert outcomes == ["failed", "timed_out"]
    assert at.event("task_end")["reopen_count"] == 1
    frames = [each.frame for each in watch.take()]
    told = [each for each in frames if isinstance(each, StatusFrame) and each.reopen]
    assert [each.state for each in told] == [TaskState.WORKING]


def test_task_md_holds_the_feedback_of_every_reopen(tmp_path: Path) -> None:
    seen: list[str] = []

    def look(cancel: threading.Event) -> GuestResult:
        seen.append((tmp_path / "runtime" / "task.md").read_text())
        return says("again")

    answers: list[Answer] = [says("one"), look, look]
    twice = Lifecycle(done_check=DoneCheck("sh", 2))
    checks = Checks([ended(1), ended(2), ended(0)])
    run(rig(tmp_path, answers, lifecycle=twice, check=checks))
    assert seen[0].startswith("go\n\n# Reopen feedback\n\n## Reopen 1")
    assert seen[1].count("## Reopen") == 2 and "Exit code: 2" in seen[1]


class Hooks:
    """On-task-end hooks that want as many reopens as told."""

    def __init__(self, wanted: int) -> None:
        self.left = wanted
        self.saw: list[str] = []

    def __call__(self, task: Task, attempt: Attempt, ending: Ending) -> Reopen | None:
        self.saw.append(ending.status)
        self.left -= 1
        return Reopen("judge", "not yet") if self.left >= 0 else None


def test_a_hook_may_open_a_failed_task_again(tmp_path: Path) -> None:
    hooks = Hooks(1)
    at = rig(tmp_path, [ToolResult("failed", summary="no"), says("two")], hooks=hooks)
    assert run(at).result == "two"
    assert hooks.saw == ["failed", "ok"]
    kinds = at.kinds()
    assert kinds.index("task_failed") < kinds.index("task_reopened") < kinds.index("task_end")
    assert "Reopen 1 — from hook judge" in user_texts(at, 1)[1]


@pytest.mark.parametrize(
    ("max_turns", "reopens", "said"),
    [(None, 1, "task reopen budget exhausted"), (1, 0, "task turn budget exhausted")],
)
def test_a_reopen_without_room_ends_the_task(
    tmp_path: Path, max_turns: int | None, reopens: int, said: str
) -> None:
    at = rig(tmp_path, [says("one"), says("two")], hooks=Hooks(5), max_turns=max_turns)
    ending = run(at)
    assert (ending.status, ending.said) == ("reopen_budget_exhausted", said)
    assert at.event("task_end")["exit_status"] == "reopen_budget_exhausted"
    assert at.event("task_end")["reopen_count"] == reopens
    assert at.event("task_failed")["cause"] == "reopen_budget_exhausted"
    assert at.result == f"error: {said}"


def test_checks_and_hooks_have_budgets_of_their_own(tmp_path: Path) -> None:
    answers = [says(str(number)) for number in range(3)]
    checks = Checks([ended(1), ended(0), ended(0)])
    at = rig(tmp_path, answers, lifecycle=CHECK, check=checks, hooks=Hooks(1))
    assert run(at).status == "ok"
    reopened = [each for each in at.events() if each["event_type"] == "task_reopened"]
    assert [(each["hook_name"], each["reopen_number"]) for each in reopened] == [
        ("lifecycle.done_check", 1),
        ("judge", 2),
    ]


def soon(seconds: float = 60) -> Deadline:
    found = earliest_deadline(int(seconds), None, time.monotonic())
    assert found is not None
    return found


def under_deadline(at: Rig, **more: Any) -> tuple[str, str]:
    """Runs the launch's own task, the deadline falling as soon as a guest waits for its cancel."""
    session = at.session(task="go", acceptance="single", **more)
    at.fall.append(session.reach_deadline)
    outcome = run_tasks(session)
    return outcome.status, outcome.errors[0].code


def falls(at: list[Rig]) -> Answer:
    def wait(cancel: threading.Event) -> GuestResult:
        at[0].fall[0]()
        return until_cancelled(cancel)

    return wait


def test_the_deadline_cancels_a_task_and_ends_the_launch(tmp_path: Path) -> None:
    held: list[Rig] = []
    held.append(rig(tmp_path, [falls(held)], deadline=soon()))
    (at,) = held
    assert under_deadline(at) == ("deadline_reached", "E-RUN-053")
    kinds = at.kinds()
    assert kinds.index("deadline_reached") < kinds.index("task_canceled") < kinds.index("task_end")
    assert at.event("task_end")["exit_status"] == "deadline_reached"
    assert at.event("deadline_reached")["source"] == "own"
    (task,) = at.board.tasks()
    assert task.state is TaskState.CANCELED


def test_a_task_kept_working_ends_completed_with_its_last_answer(tmp_path: Path) -> None:
    held: list[Rig] = []
    held.append(rig(tmp_path, [says("one"), falls(held)], lifecycle=KEEP, deadline=soon()))
    (at,) = held
    assert under_deadline(at) == ("deadline_reached", "E-RUN-053")
    (task,) = at.board.tasks()
    assert (task.state, task.response) == (TaskState.COMPLETED, "one")
    end = at.event("task_end")
    assert (end["exit_status"], end["keep_working"]) == (
        "deadline_reached",
        {"stopped_by": "deadline"},
    )
    assert "task_canceled" not in at.kinds() and at.result == "one"


def test_a_task_that_its_check_reopened_ends_completed(tmp_path: Path) -> None:
    held: list[Rig] = []
    checks = Checks([ended(1)])
    held.append(
        rig(tmp_path, [says("one"), falls(held)], lifecycle=CHECK, check=checks, deadline=soon())
    )
    (at,) = held
    assert under_deadline(at) == ("deadline_reached", "E-RUN-053")
    assert at.board.tasks()[0].response == "one"


def test_a_deadline_that_falls_while_the_check_runs_stops_it(tmp_path: Path) -> None:
    held: list[Rig] = []

    def check(argv: list[str], timeout: float, cancel: threading.Event) -> CommandResult:
        held[0].fall[0]()
        assert cancel.wait(10)
        return ended(-1, cancelled=True)

    held.append(rig(tmp_path, [says("one")], lifecycle=CHECK, check=check, deadline=soon()))
    (at,) = held
    assert under_deadline(at) == ("deadline_reached", "E-RUN-053")
    assert at.event("done_check")["outcome"] == "stopped"
    assert at.event("task_end")["exit_status"] == "deadline_reached"
    assert at.board.tasks()[0].state is TaskState.COMPLETED


def test_a_user_s_cancel_of_a_kept_task_is_a_cancel(tmp_path: Path) -> None:
    def cancel_it(cancel: threading.Event) -> GuestResult:
        at.board.cancel(at.board.tasks()[0].id)
        return until_cancelled(cancel)

    at = rig(tmp_path, [says("one"), cancel_it], lifecycle=KEEP)
    assert run(at).status == "canceled"
    assert at.event("task_end")["exit_status"] == "canceled"


def test_a_session_that_ended_by_itself_has_no_deadline_any_more(tmp_path: Path) -> None:
    at = rig(tmp_path, [says("one")], deadline=soon())
    session = at.session(task="go", acceptance="single")
    assert run_tasks(session).status == "ok"
    session.reach_deadline()
    assert "deadline_reached" not in at.kinds()


def test_the_earliest_deadline_binds() -> None:
    now, wall = time.monotonic(), time.time()
    own = earliest_deadline(50, int((wall + 100) * 1000), now)
    assert own is not None and own.source == "own" and own.record()["secs"] == 50
    inherited = earliest_deadline(50, int((wall + 10) * 1000), now)
    assert inherited is not None and inherited.source == "inherited"
    assert 9 < inherited.left(now) < 11 and "secs" not in inherited.record()
    assert earliest_deadline(None, None, now) is None


def test_the_wait_before_a_retry_knows_how_long_the_session_has() -> None:
    near = Deadline("own", time.monotonic() + 10, time.time() + 10, 10)
    assert 9 < (UntilDeadline(near).remaining() or 0) <= 10
    assert UntilDeadline(None).remaining() is None


def test_the_notice_is_given_once_when_it_is_due() -> None:
    def due_in(seconds: float, span: float) -> Deadline:
        return Deadline("own", time.monotonic() + seconds, time.time() + seconds, span)

    assert Notice(None, None).take() is None
    assert Notice(due_in(11, 100), None).take() is None
    default = Notice(due_in(9, 100), None)
    said = default.take()
    assert said is not None and "9 seconds" in said and default.take() is None
    assert Notice(due_in(299, 100_000), None).take() is not None
    assert Notice(due_in(301, 100_000), None).take() is None
    assert Notice(due_in(50, 100), 60).take() is not None
    assert Notice(due_in(1, 100), 0).take() is None


def test_the_notice_stands_outside_the_fence_of_a_tool_result(tmp_path: Path) -> None:
    near = Deadline("own", time.monotonic() + 1, time.time() + 1, 100)
    answers = [calls(call("t", x=1)), calls(call("t", x=2)), says("done")]
    at = rig(tmp_path, answers, tools={"t": echo}, deadline=near)
    run(at)
    first, second = (each for each in at.requests[2]["messages"] if each["role"] == "tool")
    assert len(first["content"]) == 2 and "session ends in" in first["content"][1]["text"]
    assert first["content"][0]["text"].endswith("</untrusted-content>")
    assert len(second["content"]) == 1
