"""The task loop and how a launch ends. spec/sessions.md 9 and 21; CLI reference, *Status*."""

import threading
import time
from pathlib import Path

import pytest

from murmur.core.tasks import Acceptance, TaskState
from murmur.guest.calls import GuestResult, ToolResult
from murmur.session.outcome import Outcome
from murmur.session.run import end_session, idle_seconds, run_tasks
from murmur.session.tests.scripted import Rig, rig, says, until_cancelled

DOWN = ToolResult("error", summary="down")


def _codes(outcome: Outcome) -> list[str]:
    return [found.code for found in outcome.errors]


def test_none_without_a_task_ends_at_once(tmp_path: Path) -> None:
    at = rig(tmp_path, [], acceptance=Acceptance.NONE)
    assert run_tasks(at.session(acceptance="none")) == Outcome("ok")


def test_none_runs_the_launchs_task_and_ends(tmp_path: Path) -> None:
    at = rig(tmp_path, [says("done")], acceptance=Acceptance.NONE)
    outcome = run_tasks(at.session(task="go", acceptance="none"))
    assert (outcome.status, outcome.exit_code) == ("ok", 0)
    start = at.event("task_start")
    assert (start["source"], start["origin"], start["trust"], start["lane"]) == (
        "task_md",
        "user",
        "trusted",
        "user",
    )


def test_a_failed_deciding_task_is_e_run_040_with_its_reason(tmp_path: Path) -> None:
    at = rig(tmp_path, [DOWN])
    outcome = run_tasks(at.session(task="go"))
    assert (outcome.status, outcome.exit_code) == ("failed", 1)
    assert _codes(outcome) == ["E-RUN-040"]
    assert "down" in outcome.errors[0].message


def test_queue_with_exit_ends_after_one_task_and_rejects_the_waiting(tmp_path: Path) -> None:
    at = rig(tmp_path, [says("one"), says("two")])
    first, second = at.submit(), at.submit()
    session = at.session()
    outcome = run_tasks(session)
    assert end_session(session, outcome) == Outcome("ok")
    assert at.board.get(first.id).state is TaskState.COMPLETED
    waiting = at.board.get(second.id)
    assert (waiting.state, waiting.status_text) == (
        TaskState.REJECTED,
        "task rejected: the session is closing",
    )
    assert at.kinds()[-2:] == ["task_rejected", "session_end"]
    rejected = at.event("task_rejected")
    assert (rejected["source"], rejected["cause"]) == ("a2a", "session_ended")


def test_the_launchs_task_comes_first_whatever_waits(tmp_path: Path) -> None:
    at = rig(tmp_path, [says("one")])
    at.submit("from the door")
    run_tasks(at.session(task="from the launch"))
    assert at.requests[0]["messages"][0]["content"][0]["text"] == "from the launch"


def test_a_door_task_that_fails_leaves_the_status_of_a_sleeping_session_alone(
    tmp_path: Path,
) -> None:
    session_box: list[threading.Event] = []

    def last(cancel: threading.Event) -> GuestResult:
        session_box[0].set()
        at.board.stop_accepting()
        return says("done")

    at = rig(tmp_path, [says("launch"), DOWN, last])
    at.submit()
    at.submit()
    session = at.session(task="go", after="sleep")
    session_box.append(session.stopping)
    assert run_tasks(session) == Outcome("ok")
    assert at.kinds().count("task_end") == 3


def test_the_first_deciding_failure_sets_the_status_for_good(tmp_path: Path) -> None:
    at = rig(tmp_path, [DOWN, says("fine")])
    at.submit()
    session = at.session(task="go", after="sleep")
    threading.Timer(0.3, session.stop).start()
    assert run_tasks(session).status == "failed"


def test_a_stop_while_waiting_is_ok(tmp_path: Path) -> None:
    at = rig(tmp_path, [])
    session = at.session(after="sleep")
    threading.Timer(0.05, session.stop).start()
    assert run_tasks(session) == Outcome("ok")


def test_a_stop_while_a_task_runs_is_canceled(tmp_path: Path) -> None:
    at = rig(tmp_path, [until_cancelled])
    at.submit()
    waiting = at.submit()
    session = at.session(task="go", after="sleep")
    threading.Timer(0.1, session.stop).start()
    outcome = run_tasks(session)
    assert (outcome.status, outcome.exit_code, _codes(outcome)) == ("canceled", 1, ["E-RUN-040"])
    assert at.board.get(waiting.id).state is TaskState.CANCELED
    phases = [event["phase"] for event in at.events() if event["event_type"] == "task_canceled"]
    assert sorted(phases) == ["inference", "queued", "queued"]
    assert at.kinds().count("task_start") == 1


def test_a_stop_before_the_launchs_task_began_is_canceled_too(tmp_path: Path) -> None:
    at = rig(tmp_path, [])
    session = at.session(task="go")
    session.stop()
    assert run_tasks(session).status == "canceled"
    assert at.kinds() == ["task_canceled"]
    assert at.event("task_canceled")["phase"] == "queued"


def test_nobody_came_so_the_loop_runs_once_with_an_empty_task(tmp_path: Path) -> None:
    at = rig(tmp_path, [says("hello?")])
    session = at.session(environ={"MURMUR_A2A_TIMEOUT_SECS": "0"})
    assert run_tasks(session) == Outcome("ok")
    assert at.kinds() == ["inference"]
    assert at.result == "hello?"


def test_an_idle_run_that_fails_fails_the_launch(tmp_path: Path) -> None:
    at = rig(tmp_path, [DOWN])
    outcome = run_tasks(at.session(environ={"MURMUR_A2A_TIMEOUT_SECS": "0"}))
    assert (outcome.status, _codes(outcome)) == ("failed", ["E-RUN-040"])


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, 30.0),
        ("", 30.0),
        ("soon", 30.0),
        ("nan", 30.0),
        ("-1", 30.0),
        ("0.5", 0.5),
        ("7", 7.0),
        ("inf", threading.TIMEOUT_MAX),
        ("1e300", threading.TIMEOUT_MAX),
    ],
)
def test_the_idle_wait_is_the_variables_or_thirty_seconds(
    value: str | None, seconds: float
) -> None:
    environ = {} if value is None else {"MURMUR_A2A_TIMEOUT_SECS": value}
    assert idle_seconds(environ) == seconds


def _lost_trace(tmp_path: Path) -> tuple[Rig, Outcome]:
    def lose(cancel: threading.Event) -> GuestResult:
        at.trace.close()
        return says("done")

    at = rig(tmp_path, [lose])
    session = at.session(task="go")
    return at, end_session(session, run_tasks(session))


def test_a_lost_trace_ends_the_session_with_e_run_007_and_the_teardown_goes_on(
    tmp_path: Path,
) -> None:
    at, outcome = _lost_trace(tmp_path)
    assert (outcome.status, _codes(outcome)) == ("failed", ["E-RUN-007"])
    assert all(task.state.ended for task in at.board.tasks())


def test_a_session_end_that_cannot_be_written_is_a_failure(tmp_path: Path) -> None:
    at = rig(tmp_path, [])
    at.trace.close()
    outcome = end_session(at.session(), Outcome("ok"))
    assert (outcome.status, _codes(outcome)) == ("failed", ["E-RUN-007"])


def test_a_fault_between_tasks_is_an_outcome_too(tmp_path: Path) -> None:
    at = rig(tmp_path, [])

    def broken(timeout: float | None = None) -> None:
        raise RuntimeError("no board")

    at.board.take = broken  # type: ignore[method-assign]
    outcome = run_tasks(at.session())
    assert (outcome.status, _codes(outcome)) == ("failed", ["E-RUN-007"])
    assert "no board" in outcome.errors[0].message


def test_session_end_sums_what_the_tasks_counted(tmp_path: Path) -> None:
    at = rig(tmp_path, [says("one")])
    session = at.session(task="go")
    end_session(session, run_tasks(session))
    task, end = at.event("task_end"), at.event("session_end")
    assert end["total_turns"] == task["turns"] == 1
    assert end["total_input_tokens"] == task["input_tokens"] > 0
    assert end["exit_status"] == "ok"


def test_many_tasks_leave_no_descriptor_behind(tmp_path: Path) -> None:
    at = rig(tmp_path, [says("x")] * 30)
    for _ in range(3):
        at.submit()
        at.runner.run(at.take())
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        at.submit()
        at.runner.run(at.take())
    time.sleep(0)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
