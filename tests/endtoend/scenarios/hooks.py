"""Hooks: each arm of each handler, honoured and not, and what becomes of a fault.

spec/artifacts.md 15.2 to 15.4; spec/sessions.md 17.2 and 17.3. The hooks `probe-...` are
tests/probes/hook_probe.py under the contracts of CONTRACTS, and answer as their `config:` says.
"""

from collections.abc import Mapping
from typing import Any, Final

from tests.endtoend.capsule import shell_turn
from tests.endtoend.scenarios.calls import DONE, PLANNING, SHELL, submitted
from tests.endtoend.scenarios.endings import FAILED
from tests.endtoend.scenarios.scenario import (
    CALLED,
    Ended,
    Expected,
    Launch,
    Scenario,
    alone,
    at,
    driver,
    replay_with,
    task,
    writes,
)

# Artifact -> the contract in its manifest.
CONTRACTS: Final[Mapping[str, Mapping[str, str]]] = {
    "probe-listens": {},
    "probe-stages": {"binding": "on-stage", "commit_policy": "write-manifests"},
    "probe-seeds": {"binding": "on-task-start", "commit_policy": "seed-context"},
    "probe-denies": {"binding": "on-tool-call", "commit_policy": "deny"},
    "probe-denies-commands": {"binding": "on-shell", "commit_policy": "deny"},
    "probe-compacts": {"binding": "on-compaction", "commit_policy": "replace-context"},
    "probe-reopens": {"binding": "on-task-end", "commit_policy": "reopen-task"},
    "probe-aside": {"execution_mode": "async"},
}
BUDGET: Final = {"context": {"max_tokens": 12_000}}


def hook(name: str, **answers: Any) -> dict[str, Any]:
    """A probe's entry, with what it answers to the handlers: `on_stage` is `on-stage`."""
    said = {handler.replace("_", "-"): said for handler, said in answers.items()}
    return {"name": f"local/{name}", "version": "0.1.0", "runtime": "hook", "config": said}


def hooked(
    name: str,
    turns: list[dict[str, Any]],
    hooks: list[dict[str, Any]],
    launch: Launch,
    **manifest: Any,
) -> Scenario:
    """A capsule with hooks, launched once."""
    return Scenario(name, turns, [launch], {**manifest, "artifacts": replay_with(turns, *hooks)})


def fault(event: str, arm: str) -> Expected:
    return at("hook_dispatch_error", event=event, arm=arm)


def logged(name: str, text: str) -> Any:
    def check(ended: Ended) -> None:
        assert text in ended.log(f"hook-{name}.log"), ended.log(f"hook-{name}.log")

    return check


def described(ended: Ended) -> None:
    sent = ended.lines("inference")[0]["tools_sha"]
    assert "Speaks to the shell" in (ended.records / "blobs" / sent).read_text()


def seed(*texts: str) -> list[Any]:
    return ["seed-context", [["user", text] for text in texts]]


def seeded(outcome: str, **more: object) -> list[Expected]:
    return alone(at("context_seed", outcome=outcome, **more), "inference")


def rejected(reason: str) -> list[Expected]:
    return [
        "session_start",
        *task(at("context_seed", outcome="rejected", reason=reason), "inference"),
        fault("on-task-start", "seed-rejected"),
        at("session_end", exit_status="ok"),
    ]


def wide(words: int) -> str:
    return "word " * words


# About 1,000 tokens may be seeded: a tenth of what is left of the window.
SEEDED: Final = {**driver(max_tokens=2000), **BUDGET}
LONG: Final = "some words of an answer that goes on for long " * 900
COMPACTED: Final = {
    **driver(max_tokens=1000, compaction={"threshold": 0.5}),
    **BUDGET,
}
ONE: Final = [["replace-context", [["user", "all of it in one sentence"]]]]
MANIFEST: Final = (
    "name: sh\nversion: 0.0.0\nruntime: tool\nimplementation: native\n"
    "description: Speaks to the shell\n"
    'input_schema: {"type": "object", "properties": {"command": {"type": "string"}}}\n'
)


def long_call(path: str) -> dict[str, Any]:
    """A turn that fills the context and calls a tool."""
    return {"text": LONG, **writes(path, "x")}


def compacted(ended: Ended) -> None:
    line = ended.line("compaction")
    turn = [each for each in ended.lines("inference") if each["turn"] == line["turn"]]
    assert line["tokens_before"] == turn[-1]["input_tokens"]
    # The answer that filled it is no part of the request that crossed the threshold.
    assert line["tokens_after"] < line["tokens_before"] + 100
    inserted = [each.get("inserted_by") for each in ended.messages()]
    assert inserted.count("replace-context") == 1


RESUMED: Final = [{"text": "one"}]


def resumed_short(ended: Ended) -> None:
    """The model was sent the summary and the task, in the record of the whole conversation."""
    assert len(ended.line("inference")["message_ids"]) == 2
    texts = [each["content"][0]["text"] for each in ended.messages()]
    assert texts == ["go", "one", "all of it in one sentence", "go", "one"]


HOOKS: Final = [
    hooked(
        "a hook describes a tool at staging",
        [shell_turn("sh", "true"), DONE],
        [hook("probe-stages", on_stage=[["write-manifests", [["sh", MANIFEST]]]])],
        Launch(events=alone("inference", "tool_call", "shell", "inference"), check=described),
        **{**SHELL, "trace": {"capture": "content"}},
    ),
    hooked(
        "a hook that fails at staging is logged and no more",
        [DONE],
        [hook("probe-stages", on_stage=[["err", "not today"]])],
        Launch(check=logged("probe-stages", "not today")),
    ),
    hooked(
        "a policy hook denies a tool once, and lets the next call pass",
        [writes("a", "x"), writes("b", "x"), DONE],
        [hook("probe-denies", on_tool_call=[["deny", "not that"]])],
        Launch(
            events=alone(
                "inference",
                at("call_denied", event="on-tool-call", hook_name="probe-denies"),
                *CALLED[:1],
                "tool_call",
                "inference",
            ),
            files=["b"],
        ),
    ),
    hooked(
        "a policy hook that fails, traps or answers with another arm refuses the call",
        [writes("a", "x"), writes("b", "x"), writes("c", "x"), DONE],
        [
            hook(
                "probe-denies",
                on_tool_call=[["err", "cannot say"], ["artifact", "{}"], ["deny", " "]],
            )
        ],
        Launch(
            events=[
                "session_start",
                *task(*("inference", "call_denied") * 3, "inference"),
                fault("on-tool-call", "artifact"),
                at("session_end", exit_status="ok"),
            ]
        ),
    ),
    hooked(
        "a policy hook denies a command, a plan's like any other",
        [
            shell_turn("sh", "touch a"),
            submitted({"id": "a", "shell": "touch b", "on_error": "continue"}),
            DONE,
        ],
        [hook("probe-denies-commands", on_shell=[["deny", "no"], ["deny", "no"]])],
        Launch(
            events=alone(
                "inference",
                at("call_denied", event="on-shell"),
                "inference",
                "plan_start",
                at("call_denied", event="on-shell"),
                at("plan_step", status="failed"),
                at("plan_end", outcome="completed"),
                "tool_call",
                "inference",
            )
        ),
        **PLANNING,
    ),
    hooked(
        "hooks hear of a plan's steps as of any call",
        [submitted({"id": "a", "shell": "touch a"}, {"id": "b", "tool": "session-status"}), DONE],
        [hook("probe-listens", on_shell=[["err", "a command"]], on_tool_call=[["err", "a tool"]])],
        Launch(
            events=alone(
                "inference",
                "plan_start",
                "plan_step_start",
                "plan_step_start",
                "plan_step",
                "plan_step",
                "plan_end",
                "tool_call",
                "inference",
            ),
            files=["a"],
            check=lambda ended: (
                logged("probe-listens", "a command")(ended),
                logged("probe-listens", "a tool")(ended),
            ),
        ),
        **PLANNING,
    ),
    hooked(
        "what a hook seeds stands before the task",
        [DONE],
        [hook("probe-seeds", on_task_start=[seed("the port is 4711")])],
        Launch(events=seeded("seeded")),
        **SEEDED,
    ),
    hooked(
        "a seed that is a little too wide loses its oldest messages",
        [DONE],
        [hook("probe-seeds", on_task_start=[seed(wide(100), wide(960))])],
        Launch(events=seeded("trimmed")),
        **SEEDED,
    ),
    hooked(
        "a seed that is much too wide is summarised in front",
        [DONE],
        [
            hook("probe-seeds", on_task_start=[seed(wide(700), wide(700), wide(700))]),
            hook("probe-compacts", on_compaction=ONE),
        ],
        Launch(events=seeded("compacted")),
        **SEEDED,
    ),
    hooked(
        "a seed with a message beyond the budget is rejected",
        [DONE],
        [hook("probe-seeds", on_task_start=[seed(wide(2000))])],
        Launch(events=rejected("message_over_budget")),
        **SEEDED,
    ),
    hooked(
        "a seed far beyond the budget is rejected",
        [DONE],
        [hook("probe-seeds", on_task_start=[seed(*[wide(900)] * 6)])],
        Launch(events=rejected("overflow_over_limit")),
        **SEEDED,
    ),
    hooked(
        "a seed without a budget is rejected",
        [DONE],
        [hook("probe-seeds", on_task_start=[seed("x")])],
        Launch(events=rejected("no_budget")),
        **driver(model="unlisted", max_tokens=1000),
    ),
    hooked(
        "a context over its threshold is replaced by what the hook makes of it",
        [long_call("a"), {"when": {"newest": "a"}, "text": "done"}],
        [hook("probe-compacts", on_compaction=ONE)],
        Launch(
            ("--context", "ctx_1"),
            alone(
                "inference",
                "compaction",
                "tool_call",
                "inference",
                at("compaction_declined", reason="no_hook_replacement"),
            ),
            files=["a"],
            result="done",
            check=compacted,
        ),
        **COMPACTED,
    ),
    hooked(
        "a replacement with an answer to no call is declined",
        [writes("a", "x"), {"text": LONG}],
        [hook("probe-compacts", on_compaction=[["replace-context", "last", 1]])],
        Launch(
            events=alone(
                "inference",
                "tool_call",
                "inference",
                at("compaction_declined", reason="unresolved_tool_call"),
            ),
            files=["a"],
        ),
        **COMPACTED,
    ),
    hooked(
        "a compaction that fails ends task and session",
        [{"text": LONG}],
        [hook("probe-compacts", on_compaction=[["err", "no room"]])],
        Launch(
            events=alone("inference", at("task_failed", cause="compaction_hook"), end="failed"),
            result="error: the compaction hook probe-compacts failed: no room",
            **FAILED,
        ),
        **COMPACTED,
    ),
    Scenario(
        "a resumed conversation is compacted before its task, over its threshold or not",
        RESUMED,
        [
            Launch(("--context", "ctx_1")),
            Launch(
                ("--resume", "--resume-mode", "compact"),
                alone("compaction", "inference"),
                check=resumed_short,
            ),
        ],
        {"artifacts": replay_with(RESUMED, hook("probe-compacts", on_compaction=ONE))},
    ),
    hooked(
        "a hook opens the task again, once",
        [{"text": "one"}, {"text": "two"}],
        [hook("probe-reopens", on_task_end=[["reopen-task", "not yet"]])],
        Launch(
            events=alone(
                "inference",
                at("task_reopened", hook_name="probe-reopens", attempt_context="continued"),
                "inference",
            ),
            result="two",
        ),
    ),
    hooked(
        "a hook that opens the task again and again fails it",
        [{"text": "one"}, {"text": "two"}],
        [hook("probe-reopens", on_task_end=[["reopen-task", "not yet"]] * 2)],
        Launch(
            events=alone(
                "inference",
                "task_reopened",
                "inference",
                at("task_failed", cause="reopen_budget_exhausted"),
                end="reopen_budget_exhausted",
                status="failed",
            ),
            **FAILED,
        ),
    ),
    hooked(
        "what an async hook fails at is in the trace when the session ends",
        [DONE],
        [hook("probe-aside", on_task_start=[["err", "no"]], on_session_end=[["trap"]])],
        Launch(
            events=[
                "session_start",
                *task("inference"),
                fault("on-task-start", "error"),
                fault("on-session-end", "error"),
                at("session_end", exit_status="ok"),
            ],
            check=logged("probe-aside", "no"),
        ),
    ),
    hooked(
        "a listening hook that fails is logged and the session goes on",
        [DONE],
        [hook("probe-listens", on_session_start=[["err", "at first"]], on_inference=[["trap"]])],
        Launch(result="done", check=logged("probe-listens", "at first")),
    ),
]
