"""Plans: references, conditions, refusals, waves. spec/sessions.md 16."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from murmur.session.plans.plan import BadPlan, Step, check_plan, read_plan
from murmur.session.plans.references import BadReference, Reference, holds, replaced
from murmur.session.plans.schedule import CANCELED, Done, PlanResult, Settled, run_plan

VALUES = {"a.output": "x", "a.status": "success", "b.output": None, "b.status": "skipped"}


def _resolve(reference: Reference) -> str | None:
    return VALUES[f"{reference.step}.{reference.field}"]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("", True),
        ("   ", True),
        ("$a.status == 'success'", True),
        ('$a.status=="failed"', False),
        ("$a.output != 'x'", False),
        ("'b' > 'a' && 'a' < 'b'", True),
        ("'10' < '9'", True),
        ("$b.output == ''", True),
        ("'1'=='2' || '1'=='1' && '2'=='3'", False),
        ("'1'=='1' || '1'=='1' && '2'=='3'", True),
        ("' && || == ' == \" && || == \"", True),
    ],
)
def test_conditions_compare_texts_and_bind_as_documented(condition: str, expected: bool) -> None:
    assert holds(condition, _resolve) is expected


@pytest.mark.parametrize(
    "condition",
    ["$a.status", "'x'", "== 'x'", "'a' == 'b' == 'c'", "('a' == 'a')", "!'a' == 'a'", "a == 'a'",
     "'a' == 'a' &&", "|| 'a' == 'a'", "'a' = 'a'", "'open == 'a'", "'a' == 'a' 'b'"],
)  # fmt: skip
def test_anything_else_is_no_condition(condition: str) -> None:
    with pytest.raises(BadReference):
        holds(condition, _resolve)


def test_only_whole_strings_are_references_at_any_depth() -> None:
    given = {"p": ["$a.output", {"q": "$b.output"}], "r": "see $a.output", "s": "$5.99", "t": 3}
    assert replaced(given, _resolve) == {
        "p": ["x", {"q": None}],
        "r": "see $a.output",
        "s": "$5.99",
        "t": 3,
    }


def _plan(*steps: Mapping[str, Any]) -> Any:
    return read_plan({"id": "p", "steps": list(steps)})


@pytest.mark.parametrize(
    ("value", "fact"),
    [
        ({"id": 1, "steps": []}, "id"),
        ({"id": "p"}, "steps"),
        ({"id": "p", "steps": {}}, "steps"),
        ({"id": "p", "steps": ["x"]}, "steps[0]"),
        ({"id": "p", "steps": [{"id": "a", "tool": "t"}, {"tool": "t"}]}, "steps[1]"),
    ],
)
def test_a_plan_without_its_frame_is_none(value: Mapping[str, Any], fact: str) -> None:
    with pytest.raises(BadPlan, match=fact.replace("[", r"\[")) as refused:
        read_plan(value)
    assert refused.value.step == "plan"


@pytest.mark.parametrize(
    ("steps", "offending", "fact"),
    [
        ([{"id": "a", "tool": "t"}, {"id": "a", "tool": "t"}], "a", "two steps"),
        ([{"id": "a"}], "a", "exactly one"),
        ([{"id": "a", "tool": "t", "shell": "ls"}], "a", "exactly one"),
        ([{"id": "a", "tool": 3}], "a", "string"),
        ([{"id": "a", "tool": "u"}], "a", "'u'"),
        ([{"id": "a", "tool": "submit-plan"}], "a", "submit-plan"),
        ([{"id": "a", "tool": "switch-driver"}], "a", "switch-driver"),
        ([{"id": "a", "shell": "rm -rf ."}], "a", "capabilities.shell.allow"),
        ([{"id": "a", "shell": '""'}], "a", "empty"),
        ([{"id": "a", "capsule": "c"}], "a", "objective"),
        ([{"id": "a", "capsule": "c", "input": {"goal": "x"}}], "a", "objective"),
        ([{"id": "a", "tool": "t", "depends_on": ["z"]}], "a", "'z'"),
        ([{"id": "a", "tool": "t", "depends_on": "z"}], "a", "array"),
        ([{"id": "a", "tool": "t", "input": {"x": ["$z.output"]}}], "a", "z.output"),
        ([{"id": "a", "tool": "t", "if": "$z.status == 'success'"}], "a", "z.status"),
        ([{"id": "a", "tool": "t", "input": "$a.result"}], "a", "output and status"),
        ([{"id": "a", "tool": "t", "on_error": "ignore"}], "a", "fail, skip, continue"),
        ([{"id": "a", "tool": "t", "retries": -1}], "a", "retries"),
        ([{"id": "a", "tool": "t", "retries": True}], "a", "retries"),
        ([{"id": "a", "tool": "t", "if": 3}], "a", "if"),
        ([{"id": "ok", "tool": "t"}, {"id": "bad", "tool": "u"}], "bad", "'u'"),
    ],
)
def test_a_step_that_cannot_run_refuses_the_whole_plan(
    steps: list[Mapping[str, Any]], offending: str, fact: str
) -> None:
    with pytest.raises(BadPlan) as refused:
        check_plan(_plan(*steps), {"t", "submit-plan"}, {"ls"})
    assert refused.value.step == offending and fact in refused.value.reason


def test_what_may_run_is_not_refused() -> None:
    steps: list[dict[str, Any]] = [
        {"id": "a", "tool": "t", "retries": 2, "on_error": "skip"},
        {"id": "b", "shell": "ls -l", "depends_on": ["a"], "if": "$a.status == 'success'"},
        {"id": "c", "capsule": "x", "input": "do it"},
        {"id": "d", "capsule": "x", "input": {"objective": "do it"}, "depends_on": []},
    ]
    check_plan(_plan(*steps), {"t"}, {"ls"})
    check_plan(_plan(), set(), set())


class _Floor:
    """A dispatch that does what each step's name says."""

    def __init__(self, acts: Mapping[str, Callable[[object], Done]] | None = None) -> None:
        self.acts = acts or {}
        self.events: list[str] = []
        self.tries: dict[str, int] = {}

    def refuses(self, step: Step, given: object) -> str | None:
        return "refused at the gate" if step.target == "forbidden" else None

    def started(self, step: Step) -> None:
        self.events.append(f"start {step.id}")

    def settled(self, settled: Settled) -> None:
        self.events.append(f"{settled.status} {settled.step.id}")

    def run(self, step: Step, given: object) -> Done:
        self.tries[step.id] = self.tries.get(step.id, 0) + 1
        act = self.acts.get(step.id)
        return Done(output=f"{step.id} of {given}") if act is None else act(given)


def _run(floor: _Floor, *steps: Mapping[str, Any], cancel: bool = False) -> PlanResult:
    event = threading.Event()
    if cancel:
        event.set()
    return run_plan(_plan(*steps), floor, event)


def _statuses(result: PlanResult) -> dict[str, str]:
    return {each.step.id: each.status for each in result.settled}


FAILS = {"a": lambda given: Done(error="broken")}


def test_an_empty_plan_completes_at_once() -> None:
    assert _run(_Floor()).completed


def test_waves_follow_dependencies_and_outputs_reach_the_next_step() -> None:
    floor = _Floor()
    result = _run(
        floor,
        {"id": "c", "tool": "t", "depends_on": ["a", "b"], "input": "$b.output"},
        {"id": "a", "tool": "t", "input": 1},
        {"id": "b", "tool": "t", "input": 2},
    )
    assert result.completed
    assert floor.events == [
        "start a", "start b", "success a", "success b", "start c", "success c",
    ]  # fmt: skip
    assert result.settled[-1].output == "c of b of 2"


def test_commands_of_a_wave_run_at_once_and_tools_one_after_another() -> None:
    both = threading.Barrier(2, timeout=5)
    running: list[str] = []
    overlap: list[int] = []

    def meet(given: object) -> Done:
        both.wait()
        return Done(output="met")

    def alone(given: object) -> Done:
        running.append("x")
        overlap.append(len(running))
        time.sleep(0.02)
        running.pop()
        return Done(output="")

    floor = _Floor({"s1": meet, "s2": meet, "t1": alone, "t2": alone})
    result = _run(
        floor,
        {"id": "s1", "shell": "x"},
        {"id": "t1", "tool": "t"},
        {"id": "s2", "shell": "x"},
        {"id": "t2", "tool": "t"},
    )
    assert result.completed and overlap == [1, 1]
    assert floor.events[-4:] == ["success s1", "success t1", "success s2", "success t2"]


@pytest.mark.parametrize(
    ("on_error", "completed", "statuses"),
    [
        ("fail", False, {"a": "failed"}),
        ("skip", True, {"a": "skipped", "b": "success"}),
        ("continue", True, {"a": "failed", "b": "success"}),
    ],
)
def test_a_failure_does_what_on_error_says(
    on_error: str, completed: bool, statuses: Mapping[str, str]
) -> None:
    result = _run(
        _Floor(FAILS),
        {"id": "a", "tool": "t", "on_error": on_error},
        {"id": "b", "tool": "t", "depends_on": ["a"]},
    )
    assert result.completed is completed
    assert result.failed_step == (None if completed else "a")
    assert _statuses(result) == statuses
    assert result.settled[0].error == "broken"


def test_the_rest_of_a_wave_is_recorded_when_one_of_it_stops_the_plan() -> None:
    result = _run(_Floor(FAILS), {"id": "a", "tool": "t"}, {"id": "b", "shell": "x"})
    assert _statuses(result) == {"a": "failed", "b": "success"}


def test_retries_are_made_until_one_succeeds_or_none_is_left() -> None:
    left = iter([Done(error="1"), Done(error="2"), Done(output="third")])
    floor = _Floor({"a": lambda given: next(left), "b": lambda given: Done(error="no")})
    result = _run(
        floor,
        {"id": "a", "tool": "t", "retries": 5},
        {"id": "b", "tool": "t", "retries": 2, "on_error": "continue"},
    )
    assert [(each.attempts, each.status) for each in result.settled] == [
        (3, "success"), (3, "failed"),
    ]  # fmt: skip


def test_a_false_condition_skips_a_step_and_those_behind_it_still_run() -> None:
    floor = _Floor()
    result = _run(
        floor,
        {"id": "a", "tool": "t", "if": "'x' == 'y'"},
        {"id": "b", "tool": "t", "depends_on": ["a"], "if": "$a.status == 'skipped'"},
    )
    assert _statuses(result) == {"a": "skipped", "b": "success"}
    assert result.completed and floor.events == ["skipped a", "start b", "success b"]


def test_a_condition_that_cannot_be_read_fails_the_step_and_stops_the_plan() -> None:
    result = _run(_Floor(), {"id": "a", "tool": "t", "if": "yes", "on_error": "continue"},
                  {"id": "b", "tool": "t", "depends_on": ["a"]})  # fmt: skip
    assert result.failed_step == "a" and _statuses(result) == {"a": "failed"}


def test_a_reference_to_a_step_that_has_not_settled_fails_the_step() -> None:
    result = _run(_Floor(), {"id": "a", "tool": "t", "input": "$b.output"},
                  {"id": "b", "tool": "t"})  # fmt: skip
    assert result.failed_step == "a" and "depend on it" in str(result.reason)


def test_a_circle_fails_its_first_step() -> None:
    result = _run(
        _Floor(),
        {"id": "x", "tool": "t"},
        {"id": "a", "tool": "t", "depends_on": ["b"]},
        {"id": "b", "tool": "t", "depends_on": ["a"]},
    )
    assert result.failed_step == "a" and "circle" in str(result.reason)
    assert _statuses(result) == {"x": "success", "a": "failed"}


def test_a_step_that_the_gate_refuses_is_never_dispatched_and_the_others_run() -> None:
    floor = _Floor()
    result = _run(
        floor, {"id": "a", "tool": "forbidden", "on_error": "continue"}, {"id": "b", "tool": "t"}
    )
    assert floor.events == ["start b", "failed a", "success b"]
    assert (result.settled[0].attempts, result.settled[0].error) == (0, "refused at the gate")


def test_a_cancel_settles_every_step() -> None:
    result = _run(_Floor(), {"id": "a", "tool": "t"}, {"id": "b", "shell": "x"}, cancel=True)
    assert result.canceled and not result.completed
    assert [(each.status, each.error) for each in result.settled] == [("skipped", CANCELED)] * 2


def test_a_cancel_during_a_wave_dispatches_no_further_step() -> None:
    event = threading.Event()

    def cancelled(given: object) -> Done:
        event.set()
        return Done(error="stopped")

    floor = _Floor({"a": cancelled})
    plan = _plan({"id": "a", "tool": "t", "retries": 3}, {"id": "b", "tool": "t",
                                                          "depends_on": ["a"]})  # fmt: skip
    result = run_plan(plan, floor, event)
    assert result.canceled and floor.tries == {"a": 1}
    assert _statuses(result) == {"a": "failed", "b": "skipped"}


def test_a_fault_of_the_runtime_is_raised_once_the_wave_is_over() -> None:
    def fault(given: object) -> Done:
        raise RuntimeError("ours")

    with pytest.raises(RuntimeError, match="ours"):
        _run(_Floor({"a": fault}), {"id": "a", "shell": "x"})
