"""Tools, skills, commands, their way into the background, plans, and what is refused of them.

spec/sessions.md 11, 14, 16 and 26.
"""

import signal
from typing import Any, Final

from tests.endtoend.capsule import Running, shell_turn
from tests.endtoend.scenarios.scenario import (
    CALLED,
    Ended,
    Launch,
    Scenario,
    alone,
    at,
    ends_with,
    replay_with,
    session,
    task,
    tool,
    wait_for_tasks,
    writes,
)

DONE: Final = {"text": "done"}
SHELL: Final[dict[str, Any]] = {"capabilities": {"shell": {"allow": ["sh", "sleep", "touch"]}}}
AT_ONCE: Final = {"shell_grace_secs": 0}
SLEEPS: Final = {"task_acceptance": "queue", "after_task": "sleep"}
STYLE: Final = {"name": "local/style", "source": "style/", "runtime": "skill"}
REFUSED: Final = (at("tool_call", status="error"), "inference")


def submitted(*steps: dict[str, Any]) -> dict[str, Any]:
    return tool("submit-plan", id="release", steps=list(steps))


PLANNING: Final[dict[str, Any]] = {
    "capabilities": {**SHELL["capabilities"], "plan": {"submit": True}},
    "lifecycle": AT_ONCE,
}


def planned(*lines: Any, status: str = "ok") -> list[Any]:
    """A session that submits one plan."""
    return alone("inference", *lines, at("tool_call", status=status), "inference")


def step(kind: str, status: str) -> tuple[Any, Any]:
    return at("plan_step_start", kind=kind), at("plan_step", kind=kind, status=status)


def told_of_its_command(running: Running) -> None:
    wait_for_tasks(running, 2)
    running.process.send_signal(signal.SIGTERM)


def log_of_the_command(ended: Ended) -> None:
    completed = ended.line("shell_completed")
    assert (ended.records / completed["output_path"]).read_text() == "out\n"


def abandoned(ended: Ended) -> None:
    assert f"work_id: {ended.line('shell_abandoned')['work_id']}" in ended.stderr


CALLS: Final = [
    Scenario(
        "a tool writes a file",
        [writes("a.txt", "x"), DONE],
        [Launch(events=alone(*CALLED), files=["a.txt"], result="done")],
    ),
    Scenario(
        "a tool that fails is an error result and the loop goes on",
        [tool("tool-editor", operation="read_file", path="none.txt"), DONE],
        [Launch(events=alone("inference", *REFUSED), result="done")],
    ),
    Scenario(
        "a tool that nobody declared",
        [tool("shovel"), DONE],
        [Launch(events=alone("inference", *REFUSED), result="done")],
    ),
    Scenario(
        "a call without its required fields is not made",
        [tool("tool-editor", path="a.txt"), DONE],
        [
            Launch(
                events=alone(
                    "inference", at("tool_input_refused", missing=["operation"]), *REFUSED
                ),
                result="done",
            )
        ],
    ),
    Scenario(
        "the calls of one message run in their order",
        [
            {
                "tool_calls": [
                    writes("a", "1")["tool_calls"][0],
                    shell_turn("sh", "cat a; : > b")["tool_calls"][0],
                    writes("c", "3")["tool_calls"][0],
                ]
            },
            DONE,
        ],
        [
            Launch(
                events=alone(
                    "inference",
                    at("tool_call", tool_name="tool-editor"),
                    at("tool_call", tool_name="sh"),
                    "shell",
                    at("tool_call", tool_name="tool-editor"),
                    "inference",
                ),
                files=["a", "b", "c"],
            )
        ],
        SHELL,
    ),
    Scenario(
        "a command that exits with a code is an ordinary answer",
        [shell_turn("sh", "exit 3"), DONE],
        [
            Launch(
                events=alone(
                    "inference", at("tool_call", status="ok"), at("shell", exit_code=3), "inference"
                )
            )
        ],
        SHELL,
    ),
    Scenario(
        "a command that is not allowed",
        [shell_turn("bash", "true"), DONE],
        [Launch(events=alone("inference", *REFUSED))],
        SHELL,
    ),
    Scenario(
        "what would write below a read-only path is refused",
        [shell_turn("touch", "kept/a"), writes("kept/b", "x"), DONE],
        [
            Launch(
                events=alone(
                    "inference",
                    at("protected_path_denied", call="shell", rule="kept"),
                    "inference",
                    at("protected_path_denied", call="tool", rule="kept"),
                    "inference",
                )
            )
        ],
        {"capabilities": {**SHELL["capabilities"], "filesystem": {"read_only": ["kept"]}}},
    ),
    Scenario(
        "a local skill is called by its name, fresh from its file",
        [],
        [
            Launch(
                events=alone(
                    "inference",
                    at("skill_call", status="ok", origin="operator", trust="trusted"),
                    "inference",
                ),
                changes={"artifacts": replay_with([tool("style"), DONE], STYLE)},
            )
        ],
    ),
    Scenario(
        "a command that the end of its session finds running is killed and reported",
        [shell_turn("sh", "sleep 61.3"), DONE],
        [
            Launch(
                events=session(
                    *task("inference", "shell_detached", "tool_call", "inference"),
                    "shell_abandoned",
                ),
                check=abandoned,
            )
        ],
        {**SHELL, "lifecycle": AT_ONCE},
    ),
    Scenario(
        "a command that ends in the background is told in a task of its own",
        [
            {"when": {"newest": "background command wrk_"}, "text": "noted"},
            shell_turn("sh", "sleep 0.3; echo out"),
            DONE,
        ],
        [
            Launch(
                events=session(
                    *task("inference", at("shell_detached", grace_ms=0), "tool_call", "inference"),
                    at("shell_completed", status="ok"),
                    at("task_start", source="detached_shell", origin="completion", lane="bg"),
                    "inference",
                    at("task_end", exit_status="ok"),
                ),
                drive=told_of_its_command,
                check=log_of_the_command,
            )
        ],
        {**SHELL, "lifecycle": {**AT_ONCE, **SLEEPS}},
    ),
    Scenario(
        "a command that fails in the background",
        [
            {"when": {"newest": "background command wrk_"}, "text": "noted"},
            shell_turn("sh", "sleep 0.3; echo out; exit 4"),
            DONE,
        ],
        [
            Launch(
                events=session(
                    *task("inference", "shell_detached", "tool_call", "inference"),
                    at("shell_completed", status="error", exit_code=4),
                    *task("inference"),
                ),
                drive=told_of_its_command,
                check=log_of_the_command,
            )
        ],
        {**SHELL, "lifecycle": {**AT_ONCE, **SLEEPS}},
    ),
    Scenario(
        "a plan of tools and commands, with a step whose condition does not hold",
        [
            submitted(
                {"id": "a", "shell": "touch a"},
                {
                    "id": "b",
                    "tool": "tool-editor",
                    "depends_on": ["a"],
                    "input": {"operation": "write_file", "dest_path": "b", "content": "x"},
                },
                {"id": "c", "shell": "touch c", "if": "$a.status == 'failed'", "depends_on": ["b"]},
            ),
            DONE,
        ],
        [
            Launch(
                events=planned(
                    "plan_start",
                    *step("shell", "success"),
                    *step("tool", "success"),
                    at("plan_step", step_id="c", status="skipped"),
                    at("plan_end", outcome="completed"),
                ),
                files=["a", "b"],
            )
        ],
        PLANNING,
    ),
    Scenario(
        "a plan that a failing step stops",
        [
            submitted(
                {"id": "a", "shell": "sh -c 'exit 3'"},
                {"id": "b", "shell": "touch b", "depends_on": ["a"]},
            ),
            DONE,
        ],
        [
            Launch(
                events=planned(
                    "plan_start",
                    *step("shell", "failed"),
                    at("plan_end", outcome="failed", failed_step="a"),
                    status="error",
                )
            )
        ],
        PLANNING,
    ),
    Scenario(
        "a plan goes on after a capsule that may not be spawned",
        [
            submitted(
                {"id": "child", "capsule": "local/w", "input": "go", "on_error": "continue"},
                {"id": "after", "shell": "touch a", "depends_on": ["child"]},
            ),
            DONE,
        ],
        [
            Launch(
                events=planned(
                    "plan_start",
                    at("plan_step_start", kind="capsule"),
                    at("delegation", outcome="refused"),
                    at("plan_step", kind="capsule", status="failed"),
                    *step("shell", "success"),
                    at("plan_end", outcome="completed"),
                ),
                files=["a"],
            )
        ],
        PLANNING,
    ),
    Scenario(
        "a plan that cannot run is refused whole",
        [
            submitted({"id": "a", "tool": "submit-plan"}),
            tool("submit-plan", id="p", steps=[7]),
            DONE,
        ],
        [
            Launch(
                events=alone(
                    "inference",
                    "plan_start",
                    at("plan_end", outcome="failed", failed_step="a"),
                    at("tool_call", status="error"),
                    "inference",
                    at("plan_end", outcome="failed", failed_step="plan", plan_id=""),
                    *REFUSED,
                )
            )
        ],
        PLANNING,
    ),
    Scenario(
        "a plan is cancelled with its task",
        [
            submitted(
                {"id": "a", "shell": "sleep 62.3"},
                {"id": "b", "shell": "touch b", "depends_on": ["a"]},
            ),
            DONE,
        ],
        [
            Launch(
                events=alone(
                    "inference",
                    "plan_start",
                    at("plan_step_start", kind="shell"),
                    at("plan_step", step_id="a", status="failed"),
                    at("plan_step", step_id="b", status="skipped"),
                    at("plan_end", outcome="canceled"),
                    "tool_call",
                    at("task_canceled", phase="plan"),
                    end="canceled",
                ),
                status="canceled",
                exit_status=1,
                code="E-RUN-040",
                drive=ends_with(signal.SIGTERM, "plan_step_start", settle=0.5),
            )
        ],
        PLANNING,
    ),
]
