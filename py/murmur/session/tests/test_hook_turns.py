"""Hooks within a turn, in the loop itself: compaction, artifacts, seeds. spec/sessions.md 17."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from murmur.core.tasks import ArtifactFrame
from murmur.guest.calls import ToolResult
from murmur.inference.limits import NO_MODEL, ModelLimits
from murmur.manifest.inference import Compaction
from murmur.manifest.session import Context
from murmur.session.hooks.answers import Fault, Output
from murmur.session.hooks.dispatch import Hooks
from murmur.session.hooks.tasks import TaskHooks
from murmur.session.hooks.turns import TurnHooks
from murmur.session.loop import AgentLoop
from murmur.session.run import run_tasks
from murmur.session.tests.hooked import Script, hook, hooks_of, log_of
from murmur.session.tests.scripted import Rig, call, calls, rig, says
from murmur.trace.reader import read_trace

SHORT = Output("replace-context", [{"role": "user", "content": "what matters"}])
LIMITS = ModelLimits(100, "manifest", 1100, "manifest", None, "none")


def _look(artifact: str, data: str, attempt: Any) -> ToolResult:
    return ToolResult("passed", data="looked")


def _rig(folder: Path, script: Script, budget: int | None = 10, **more: Any) -> tuple[Rig, Hooks]:
    """A session with a tool `look` that calls it once and answers, and one hook of every event."""
    made = rig(folder, [calls(call("look", x=1)), says("done")], tools={"look": _look}, **more)
    policy = "seed-context" if ("h", "on-task-start") in script.said else "replace-context"
    hooks = hooks_of(script, [hook(policy=policy)], made.records)
    turns = TurnHooks(
        hooks=hooks,
        trace=made.trace,
        records=made.records,
        compaction=Compaction(threshold=0.5, dump_summaries=True),
        compaction_prompt="be brief",
        input_budget=budget,
    )
    assert isinstance(made.runner.loop, AgentLoop)
    made.runner.loop._hooks = turns
    return made, hooks


def test_a_replacement_is_what_the_model_reads_next(tmp_path: Path) -> None:
    seen: list[Mapping[str, Any]] = []

    def compact(event: Mapping[str, Any], answering: Any) -> Output:
        seen.append(event)
        return SHORT if len(seen) == 1 else Output()

    script = Script().on("h", "on-compaction", compact)
    made, _ = _rig(tmp_path, script)
    made.submit()
    ending = made.runner.run(made.take())
    assert ending is not None and ending.status == "ok"
    roles = [message["role"] for message in made.requests[1]["messages"]]
    assert roles == ["user", "assistant", "tool"]
    assert made.requests[1]["messages"][0]["content"] == [{"type": "text", "text": "what matters"}]
    event = seen[0]
    assert event["system-prompt"] == "be brief" and event["model"] is None
    assert event["threshold"] == event["session-tokens"] / 10 > 0.5
    line = made.event("compaction")
    inference = next(each for each in made.events() if each["event_type"] == "inference")
    assert line["tokens_before"] == inference["input_tokens"] and line["turn"] == 0
    assert made.event("compaction_declined")["reason"] == "no_hook_replacement"
    summaries = (tmp_path / "out" / "compaction-summaries.jsonl").read_text()
    assert '"summary":"what matters"' in summaries


def test_below_the_threshold_and_without_a_budget_nobody_is_asked(tmp_path: Path) -> None:
    for number, budget in enumerate((None, 10_000_000)):
        folder = tmp_path / str(number)
        folder.mkdir()
        script = Script()
        made, _ = _rig(folder, script, budget)
        made.submit()
        made.runner.run(made.take())
        assert script.names("on-compaction") == []


@pytest.mark.parametrize(
    "replacement",
    [
        [],
        [{"role": "tool", "content": "lost its wrapper"}],
        [
            {
                "role": "assistant",
                "content": '[{"type":"tool_call","id":"c9","name":"look","input":{}}]',
            }
        ],
    ],
)
def test_a_replacement_that_leaves_calls_open_is_discarded(
    tmp_path: Path, replacement: list[dict[str, str]]
) -> None:
    script = Script().on("h", "on-compaction", Output("replace-context", replacement))
    made, _ = _rig(tmp_path, script)
    made.submit("the task")
    made.runner.run(made.take())
    declined = [each for each in made.events() if each["event_type"] == "compaction_declined"]
    assert {each["reason"] for each in declined} == {"unresolved_tool_call"}
    assert "the task" in str(made.requests[1]["messages"][0])


def test_a_hook_that_cannot_compact_fails_the_task(tmp_path: Path) -> None:
    script = Script().on("h", "on-compaction", Fault("no model"))
    made, _ = _rig(tmp_path, script)
    made.submit()
    ending = made.runner.run(made.take())
    assert ending is not None and ending.cause == "compaction_hook"
    assert made.result == "error: the compaction hook h failed: no model"
    assert len(made.requests) == 1


def test_an_artifact_is_a_frame_when_it_is_a_json_object(tmp_path: Path) -> None:
    given = iter(["{}", "[1]"])
    script = Script().on("h", "on-inference", lambda *_: Output("artifact", next(given)))
    made, hooks = _rig(tmp_path, script, None)
    task = made.submit()
    watch = made.board.watch(task.id, lambda: None)
    made.runner.run(made.take())
    frames = [event.frame for event in watch.take() if isinstance(event.frame, ArtifactFrame)]
    assert [(frame.tool_name, frame.content) for frame in frames if frame.tool_call_id is None] == [
        ("h", "{}")
    ]
    assert "it is no JSON object" in log_of(tmp_path)
    hooks.drain()
    hooks.flush(made.trace)
    assert made.event("hook_dispatch_error")["arm"] == "artifact"


def _seeding(made: Rig, hooks: Hooks, limits: ModelLimits = LIMITS, *, seeds: bool = True) -> None:
    tasks = TaskHooks(hooks, made.trace, made.records, Context(), limits, seeds)
    object.__setattr__(made.runner, "hooks", tasks)


def test_a_seed_stands_before_the_task(tmp_path: Path) -> None:
    seed = [{"role": "user", "content": "earlier", "source-id": "s1"}]
    script = Script().on("h", "on-task-start", Output("seed-context", seed))
    made, hooks = _rig(tmp_path, script, None)
    _seeding(made, hooks)
    made.submit("the task")
    made.runner.run(made.take())
    first, second, *_ = made.requests[0]["messages"]
    assert first["content"] == [{"type": "text", "text": "earlier"}]
    assert "the task" in str(second) and "source_id" not in first
    (event,) = [event for name, heard, event in script.heard if heard == "on-task-start"]
    assert (event["budget-tokens"], event["context-window"], event["prior-tokens"]) == (
        100,
        1100,
        0,
    )
    line = made.event("context_seed")
    assert line["outcome"] == "seeded" and len(line["message_ids"]) == 1
    kinds = [str(each["event_type"]) for each in read_trace(tmp_path / "trace.jsonl").events]
    assert kinds.index("task_start") < kinds.index("context_seed") < kinds.index("inference")


def test_a_rejected_seed_fails_nothing_and_is_a_fault(tmp_path: Path) -> None:
    seed = [{"role": "user", "content": "earlier"}]
    script = Script().on("h", "on-task-start", Output("seed-context", seed))
    made, hooks = _rig(tmp_path, script, None)
    _seeding(made, hooks, ModelLimits(100, "manifest", None, "none", None, "none"))
    made.submit()
    ending = made.runner.run(made.take())
    assert ending is not None and ending.status == "ok"
    assert made.event("context_seed")["reason"] == "no_budget"
    hooks.drain()
    hooks.flush(made.trace)
    assert made.event("hook_dispatch_error")["arm"] == "seed-rejected"


def test_nothing_is_put_into_a_conversation_that_a_harness_holds(tmp_path: Path) -> None:
    seed = [{"role": "user", "content": "earlier"}]
    script = Script().on("h", "on-task-start", Output("seed-context", seed))
    made, hooks = _rig(tmp_path, script, None)
    _seeding(made, hooks, NO_MODEL, seeds=False)
    made.submit()
    made.runner.run(made.take())
    line = made.event("context_seed")
    assert (line["outcome"], line["reason"]) == ("rejected", "unsupported_transport")
    assert len(made.requests[0]["messages"]) == 1


def test_what_hooks_may_read_of_a_task_is_there_while_it_runs(tmp_path: Path) -> None:
    script = Script()
    made, hooks = _rig(tmp_path, script, None)
    _seeding(made, hooks)
    moments: list[Any] = []

    def look(event: Mapping[str, Any], answering: Any) -> Output:
        moments.append(hooks.scope.now)
        return Output()

    script.on("h", "on-inference", look).on("h", "on-task-end", look)
    made.submit("the task")
    rules = made.runner.rules
    object.__setattr__(rules, "hooks", made.runner.hooks.reopening if made.runner.hooks else None)
    made.runner.run(made.take())
    *running, ended = moments
    assert {(each.original, each.output) for each in running} == {("the task", None)}
    assert [each.turn for each in running] == [0, 1]
    assert ended.output == "done" and hooks.scope.now.task_id is None


def test_a_compaction_that_fails_ends_a_session_that_would_sleep(tmp_path: Path) -> None:
    script = Script().on("h", "on-compaction", Fault("no model"))
    made, _ = _rig(tmp_path, script)
    made.submit()
    outcome = run_tasks(made.session(acceptance="queue", after="sleep"))
    assert outcome.status == "failed"
    assert "no model" in str(outcome.errors[0].message)
