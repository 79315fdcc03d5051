"""`mur trace steps` against the trees that the CLI reference prints."""

from pathlib import Path

from murmur.trace.steps import steps
from murmur.trace.tests import recording as rec

TASK = rec.line(
    "task_start",
    task_id="tsk_11112222333344445555666677778888",
    context_id="ctx_11112222333344445555666677778888",
    source="task_md",
    origin="user",
    trust="trusted",
    lane="user",
)
ROW = "task tsk_11112222…  ctx_11112222…  (task_md, user/trusted, lane user)"


def printed(tmp_path: Path, *events: dict[str, object], verbose: bool = False) -> list[str]:
    path = rec.record(tmp_path / "trace.jsonl", [rec.start(), *events])
    return list(steps(path, verbose=verbose))


def test_calls_stand_under_their_turn_and_turns_under_their_task(tmp_path: Path) -> None:
    seed = rec.line("context_seed", hook_name="memory-hook", outcome="trimmed", tokens=1204)
    assert printed(
        tmp_path,
        TASK,
        seed | {"parent": 1},
        rec.turn(1, "tool_call", tool_name="bash", parent=1),
        rec.call(1, "bash", {"deep": [{"x": "ls -la"}]}, duration_ms=120, parent=3),
        rec.command(0, parent=3),
        rec.turn(2, "end_turn", parent=1),
        verbose=True,
    ) == [
        f"Session {rec.SESSION}  (1 task, 2 turns)",
        "",
        ROW,
        "  context_seed memory-hook  trimmed  1,204 tokens",
        "  turn 1  tool_call  bash",
        '    tool_call  bash  120ms  ✓  "ls -la"',
        "    shell      /usr/bin/bash  exit 0  50ms",
        "  turn 2  end_turn",
    ]


def test_refusals_stand_under_their_turn(tmp_path: Path) -> None:
    denied = rec.line(
        "call_denied",
        event="on-shell",
        target="/usr/bin/bash",
        hook_name="branch-policy",
        reason="no",
        parent=2,
    )
    lacking = rec.line("tool_input_refused", tool_name="w", missing=["content"], parent=2)
    failed = rec.call(0, "w", {}, status="error", duration_ms=0, parent=2)
    rows = printed(tmp_path, TASK, rec.turn(0, "tool_call", parent=1), denied, lacking, failed)
    assert rows[4:] == [
        "    call_denied on-shell  /usr/bin/bash  denied by branch-policy",
        "    tool_input_refused w  missing content",
        "    tool_call  w  0ms  ✗",
    ]


def test_a_failed_call_is_told_on_its_turn_and_counts_as_none(tmp_path: Path) -> None:
    failed = rec.turn(0, "error", error_code="credential_rejected", provider_status=401, parent=1)
    ended = rec.line("task_failed", cause="credential_rejected", reason="r" * 130, parent=1)
    assert printed(tmp_path, TASK, failed, ended) == [
        f"Session {rec.SESSION}  (1 task, 0 turns)",
        "",
        ROW,
        "  turn 0  error  credential_rejected  HTTP 401",
        f"  task_failed credential_rejected  {'r' * 120}…",
    ]


def test_retries_stand_ahead_of_the_call_that_names_its_attempts(tmp_path: Path) -> None:
    retry = rec.line(
        "inference_retry", attempt=1, max_attempts=4, provider_status=429, wait_ms=1000, parent=1
    )
    rows = printed(tmp_path, TASK, retry, rec.turn(0, "end_turn", attempts=2, parent=1))
    assert rows[3:] == [
        "  inference_retry  attempt 1 of 4  HTTP 429  wait 1.0s",
        "  turn 0  end_turn  attempts 2",
    ]


def test_what_belongs_to_no_task_stands_at_the_margin(tmp_path: Path) -> None:
    rows = printed(
        tmp_path,
        TASK,
        rec.turn(0, "end_turn", parent=1),
        rec.line("task_end", task_id="tsk_11112222333344445555666677778888", parent=1),
        rec.line("task_rejected", cause="session_ended", task_id="tsk_33334444" + "0" * 24),
        rec.line("artifact_pulled", name="p", version="0.1.0", origin="runtime", trust="untrusted"),
    )
    assert rows[-2:] == [
        "task_rejected session_ended  tsk_33334444…",
        "artifact_pulled p@0.1.0 (runtime/untrusted)",
    ]


def test_a_line_whose_parent_is_not_in_the_file_is_placed_by_its_task(tmp_path: Path) -> None:
    orphan = rec.call(0, "bash", {}, parent=99)
    assert printed(tmp_path, TASK, orphan)[3] == "  tool_call  bash  100ms  ✓"


def test_a_plan_is_a_subtree_of_its_own(tmp_path: Path) -> None:
    plan = {"plan_id": "release"}
    step = {"step_id": "ship", "kind": "capsule"}
    rows = printed(
        tmp_path,
        rec.line("plan_start", step_count=1, steps=[], **plan),
        rec.line("plan_step_start", depends_on=["build"], parent=1, **plan, **step),
        rec.line(
            "plan_step", status="failed", attempts=1, duration_ms=900, parent=1, **plan, **step
        ),
        rec.line("plan_end", outcome="failed", failed_step="ship", parent=1, **plan),
    )
    assert rows[2:] == [
        "plan_start release  1 step",
        "  plan_step_start ship  capsule  after build",
        "  plan_step  ship  capsule  failed  900ms",
        "  plan_end   failed  failed at ship",
    ]


def test_a_trace_without_ids_is_a_row_a_turn(tmp_path: Path) -> None:
    events = [
        rec.start(),
        rec.turn(1, "tool_call", tool_name="bash"),
        rec.call(1, "bash", {}),
        rec.turn(2, "end_turn"),
    ]
    path = rec.record(tmp_path / "trace.jsonl", events, ids=False)
    assert list(steps(path, verbose=False)) == [
        f"Session {rec.SESSION}  (2 turns)",
        "",
        "  1  tool_call    bash        100ms",
        "  2  end_turn     —           —",
    ]
