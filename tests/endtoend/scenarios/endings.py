"""How tasks and sessions end: statuses, causes, bounds. spec/sessions.md 9, 12, 13 and 20."""

import signal
from typing import Any, Final

from tests.endtoend.capsule import Running, shell_turn
from tests.endtoend.scenarios.calls import DONE, SHELL, SLEEPS
from tests.endtoend.scenarios.scenario import (
    CALLED,
    Ended,
    Expected,
    Launch,
    Scenario,
    alone,
    at,
    driver,
    ends_with,
    send,
    session,
    task,
    wait_for_tasks,
    writes,
)

LATE: Final = {"text": "late", "delay_ms": 60_000}
ANSWERS: Final = [{"text": word} for word in ("one", "two", "three")]
KEEP: Final = {"keep_working": {"message": "Go on.", "limit": 2}}
FAILED: Final[dict[str, Any]] = {"status": "failed", "exit_status": 1, "code": "E-RUN-040"}
CANCELED: Final[dict[str, Any]] = {"status": "canceled", "exit_status": 1, "code": "E-RUN-040"}


def kept_working(ended: Ended) -> None:
    assert ended.line("task_end")["keep_working"] == {"stopped_by": "limit"}
    told = [each["content"][0]["text"] for each in ended.messages() if each["role"] == "user"]
    assert told == ["go", "Go on.", "Go on."]


def stopped_by(what: str) -> Any:
    def check(ended: Ended) -> None:
        assert ended.line("task_end")["keep_working"] == {"stopped_by": what}

    return check


def check_passed_after_one_reopen(ended: Ended) -> None:
    reopened = ended.line("task_reopened")
    assert reopened["hook_name"] == "lifecycle.done_check" and "Exit code: 1" in reopened["reason"]
    assert ended.line("task_end")["reopen_count"] == 1


def reached_deadline(ended: Ended) -> None:
    start, fell = ended.line("session_start"), ended.line("deadline_reached")
    assert start["deadline"] == {"source": "own", "at": fell["at"], "secs": 8}


def two_tasks(running: Running) -> None:
    running.wait_for("task_start")
    send(running)


def two_tasks_and_the_end(running: Running) -> None:
    two_tasks(running)
    running.process.send_signal(signal.SIGTERM)


def one_after_another(running: Running) -> None:
    for number, origin in enumerate((None, "peer"), start=1):
        send(running, origin=origin)
        wait_for_tasks(running, number)
    running.process.send_signal(signal.SIGTERM)


def received(**more: object) -> list[Expected]:
    """A task that came to the door from somebody whom it does not know."""
    return [
        at("a2a_task_received", caller="public"),
        at("task_start", source="a2a", **more),
        "inference",
        at("task_end", exit_status="ok"),
    ]


def partial(ended: Ended) -> None:
    assert ended.result().startswith("half an") and "inference.max_tokens" in ended.result()
    assert "warning[W-RUN-001]" in ended.stderr


def checking(command: str, limit: int = 0, **more: Any) -> dict[str, Any]:
    return {**SHELL, "lifecycle": {"done_check": {"command": command, "limit": limit, **more}}}


ENDINGS: Final = [
    Scenario(
        "a task that a provider fails",
        [{"error": "no"}],
        [
            Launch(
                events=alone(
                    at("inference", decision="error"),
                    at("task_failed", cause="driver_error"),
                    end="failed",
                ),
                result="error: no",
                **FAILED,
            )
        ],
        driver(retry={"max_retries": 0}),
    ),
    Scenario(
        "an answer that ends as no answer may",
        [{"text": "one", "stop_reason": "tool_call"}],
        [
            Launch(
                events=alone(
                    "inference", at("task_failed", cause="malformed_response"), end="failed"
                ),
                **FAILED,
            )
        ],
    ),
    Scenario(
        "a task that uses all its turns",
        [writes("a", "x"), writes("b", "x"), DONE],
        [
            Launch(
                events=alone(
                    "inference", "tool_call", "inference", "tool_call", end="max_turns_reached"
                ),
                status="max_turns_reached",
                exit_status=1,
                code="E-RUN-040",
                files=["a", "b"],
                result="error: the loop exceeded 2 turns (inference.max_turns)",
            )
        ],
        driver(max_turns=2),
    ),
    Scenario(
        "a task that its session's tokens do not suffice for",
        [writes("a", "x"), DONE],
        [
            Launch(
                events=alone(
                    "inference",
                    "tool_call",
                    at("spend_ceiling_reached", limit="session"),
                    end="spend_ceiling_reached",
                ),
                status="spend_ceiling_reached",
                exit_status=1,
                code="E-RUN-040",
                files=["a"],
            )
        ],
        driver(max_session_tokens=2500, max_tokens=1000),
    ),
    Scenario(
        "an answer that its cap cuts is the answer",
        [{"text": "half an", "stop_reason": "max_tokens"}],
        [Launch(events=alone(at("inference", decision="text")), check=partial)],
    ),
    Scenario(
        "a first SIGTERM cancels the task in the middle of its call",
        [LATE],
        [
            Launch(
                events=alone(at("task_canceled", phase="inference"), end="canceled"),
                drive=ends_with(signal.SIGTERM, "task_start"),
                **CANCELED,
            )
        ],
    ),
    Scenario(
        "a first SIGTERM moves the task's command away and kills it",
        [shell_turn("sleep", "63.3"), DONE],
        [
            Launch(
                events=session(
                    *task(
                        "inference",
                        "shell_detached",
                        "tool_call",
                        at("task_canceled", phase="shell"),
                        end="canceled",
                    ),
                    "shell_abandoned",
                    end="canceled",
                ),
                drive=ends_with(signal.SIGTERM, "inference", settle=0.7),
                **CANCELED,
            )
        ],
        SHELL,
    ),
    Scenario(
        "a SIGTERM that finds no task ends the session well",
        [DONE],
        [
            Launch(
                events=session(),
                task=None,
                drive=lambda running: running.process.send_signal(signal.SIGTERM),
            )
        ],
        {"lifecycle": SLEEPS},
    ),
    Scenario(
        "tasks come one after another",
        [DONE],
        [
            Launch(
                events=session(
                    *received(origin="event", lane="bg", trust="untrusted"),
                    *received(origin="peer", lane="peer", trust="untrusted"),
                ),
                task=None,
                drive=one_after_another,
            )
        ],
        {"lifecycle": SLEEPS, "exports": {"peer_tasks": {"accept": True}}},
    ),
    Scenario(
        "a task that still waits when the session ends by itself is rejected",
        [{"text": "one", "delay_ms": 2000}],
        [
            Launch(
                events=session(
                    at("task_start", source="task_md"),
                    "inference",
                    at("task_end", exit_status="ok"),
                    at("task_rejected", cause="session_ended", source="a2a"),
                ),
                drive=two_tasks,
                result="one",
            )
        ],
        {"lifecycle": {"task_acceptance": "queue", "after_task": "exit"}},
    ),
    Scenario(
        "a task that waits is cancelled with the one that runs",
        [LATE],
        [
            Launch(
                events=session(
                    "task_start",
                    at("task_canceled", phase="queued"),
                    at("task_canceled", phase="inference"),
                    at("task_end", exit_status="canceled"),
                    end="canceled",
                ),
                drive=two_tasks_and_the_end,
                **CANCELED,
            )
        ],
        {"lifecycle": SLEEPS},
    ),
    Scenario(
        "keep_working answers a turn end until its limit",
        ANSWERS,
        [
            Launch(
                ("--context", "ctx_1"),
                alone(
                    "inference", "task_kept_working", "inference", "task_kept_working", "inference"
                ),
                result="three",
                check=kept_working,
            )
        ],
        {"lifecycle": KEEP},
    ),
    Scenario(
        "keep_working ends with the turns",
        ANSWERS,
        [
            Launch(
                events=alone("inference", "task_kept_working", "inference"),
                result="two",
                check=stopped_by("max_turns"),
            )
        ],
        {**driver(max_turns=2), "lifecycle": KEEP},
    ),
    Scenario(
        "a failing done_check opens the task again",
        [{"text": "one"}, shell_turn("sh", ": > done"), {"text": "two"}],
        [
            Launch(
                events=alone(
                    "inference",
                    at("done_check", outcome="failed", exit_code=1),
                    at("task_reopened", attempt_context="continued", reopen_number=1),
                    "inference",
                    "tool_call",
                    "shell",
                    "inference",
                    at("done_check", outcome="passed"),
                ),
                files=["done"],
                result="two",
                check=check_passed_after_one_reopen,
            )
        ],
        checking("sh -c 'test -e done'", 1),
    ),
    Scenario(
        "a done_check that never ends is killed",
        [{"text": "one"}],
        [Launch(events=alone("inference", at("done_check", outcome="timed_out")), result="one")],
        checking("sleep 60", timeout_secs=1),
    ),
    Scenario(
        "a done_check is stopped with its task",
        [{"text": "one"}],
        [
            Launch(
                events=alone(
                    "inference",
                    at("done_check", outcome="stopped"),
                    "task_canceled",
                    end="canceled",
                ),
                drive=ends_with(signal.SIGTERM, "inference", settle=0.7),
                **CANCELED,
            )
        ],
        checking("sleep 64.3"),
    ),
    Scenario(
        "the deadline cancels the task",
        [LATE],
        [
            Launch(
                ("--deadline", "8"),
                session(
                    "task_start",
                    at("deadline_reached", source="own"),
                    at("task_canceled", phase="inference"),
                    at("task_end", exit_status="deadline_reached"),
                    end="deadline_reached",
                ),
                "deadline_reached",
                1,
                "E-RUN-053",
                check=reached_deadline,
            )
        ],
    ),
    Scenario(
        "lifecycle flags override the manifest",
        ANSWERS,
        [Launch(("--lifecycle-task-acceptance", "none"), session(), task=None)],
    ),
    Scenario(
        "a done_check whose program is not there",
        [{"text": "one"}],
        [Launch(events=alone("inference", at("done_check", outcome="not_started")), result="one")],
        {
            "capabilities": {"shell": {"allow": ["no-such-program"]}},
            "lifecycle": {"done_check": {"command": "no-such-program", "limit": 0}},
        },
    ),
    Scenario(
        "a session that takes one task takes no second",
        [writes("a", "x"), DONE],
        [Launch(events=alone(*CALLED), files=["a"])],
        {"lifecycle": {"task_acceptance": "single"}},
    ),
]
