"""The runtime-provided tool `submit-plan`. spec/sessions.md 15.8 and 16.6."""

import itertools
import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from murmur.core.safefs import Root
from murmur.session.answers import Answer
from murmur.session.attempt import Attempt
from murmur.session.commands import Commands
from murmur.session.dispatch import Dispatcher
from murmur.session.hooks.gate import CallHooks
from murmur.session.notices import lose
from murmur.session.plans.plan import PLAN, BadPlan, Plan, check_plan, read_plan
from murmur.session.plans.schedule import PlanResult, Settled, run_plan
from murmur.session.plans.steps import StepRunner
from murmur.trace.writer import TraceWriter

# What of an output or an error the report shows; a reference gets all of it.
SHOWN_BYTES: Final = 16384
_PUBLIC: Final = 0o644


class SubmitPlan:
    """Runs a plan and answers with its report, an error result unless it completed.

    Each plan is kept as `plans/plan-<n>.json` in the runtime directory. The dispatcher, of which
    this is a part, comes by `attach`.
    """

    def __init__(
        self,
        runtime: Root,
        records: Root,
        commands: Commands | None,
        trace: TraceWriter,
        binaries: tuple[str, ...],
        version_of: Callable[[str], str | None] = lambda name: None,
        hooks: CallHooks | None = None,
    ) -> None:
        self._runtime = runtime
        self._records = records
        self._commands = commands
        self._trace = trace
        self._binaries = binaries
        self._version_of = version_of
        self._hooks = hooks
        self._numbers = itertools.count(1)
        self._dispatcher: Dispatcher | None = None

    def attach(self, dispatcher: Dispatcher) -> None:
        """Where steps go."""
        self._dispatcher = dispatcher

    def __call__(self, arguments: Mapping[str, object], attempt: Attempt, turn: int) -> Answer:
        began = time.monotonic()
        self._keep(arguments)
        try:
            plan = read_plan(arguments)
        except BadPlan as bad:
            return self._refused(Plan("", ()), bad, began)
        self._trace.write(
            "plan_start", plan_id=plan.id, step_count=len(plan.steps), steps=plan.declared()
        )
        assert self._dispatcher is not None
        try:
            check_plan(plan, self._dispatcher.gate.names, self._binaries)
        except BadPlan as bad:
            return self._refused(plan, bad, began)
        runner = StepRunner(
            plan_id=plan.id,
            attempt=attempt,
            turn=turn,
            dispatcher=self._dispatcher,
            commands=self._commands,
            trace=self._trace,
            version_of=self._version_of,
            hooks=self._hooks,
        )
        result = run_plan(plan, runner, attempt.cancel)
        if result.canceled:
            attempt.interrupted.phase = "plan"
        self._end(plan, result, began)
        return Answer(_report(plan.id, result), is_error=not result.completed)

    def _keep(self, arguments: Mapping[str, object]) -> None:
        name = f"runtime/plans/plan-{next(self._numbers)}.json"
        text = json.dumps(arguments, indent=2, ensure_ascii=False) + "\n"
        try:
            self._runtime.sub("runtime/plans", create=True, mode=0o755).close()
            self._runtime.write_atomic(name, text.encode("utf-8", "replace"), _PUBLIC)
        except OSError as failure:
            lose(self._records, name, failure)

    def _refused(self, plan: Plan, bad: BadPlan, began: float) -> Answer:
        """The report and the line of a plan of which nothing ran."""
        self._trace.write(
            "plan_end",
            plan_id=plan.id,
            outcome="failed",
            failed_step=bad.step,
            steps_total=len(plan.steps),
            steps_succeeded=0,
            steps_failed=0 if bad.step == PLAN and not plan.steps else 1,
            steps_skipped=0,
            duration_ms=_since(began),
            reason=bad.reason,
        )
        row = {"step_id": bad.step, "status": "failed", "output": None, "error": bad.reason}
        return Answer(_text(plan.id, False, bad.step, [row]), is_error=True)

    def _end(self, plan: Plan, result: PlanResult, began: float) -> None:
        outcome = "failed" if result.failed_step is not None else "completed"
        self._trace.write(
            "plan_end",
            plan_id=plan.id,
            outcome="canceled" if result.canceled else outcome,
            failed_step=result.failed_step,
            steps_total=len(plan.steps),
            steps_succeeded=result.count("success"),
            steps_failed=result.count("failed"),
            steps_skipped=result.count("skipped"),
            duration_ms=_since(began),
            reason=result.reason,
        )


def _since(began: float) -> int:
    return int((time.monotonic() - began) * 1000)


def _report(plan_id: str, result: PlanResult) -> str:
    rows = [_row(each) for each in result.settled]
    return _text(plan_id, result.completed, result.failed_step, rows)


def _row(settled: Settled) -> dict[str, object]:
    return {
        "step_id": settled.step.id,
        "status": settled.status,
        "output": _shown(settled.output),
        "error": _shown(settled.error),
    }


def _shown(text: str | None) -> str | None:
    if text is None:
        return None
    data = text.encode("utf-8", "replace")
    if len(data) <= SHOWN_BYTES:
        return text
    return f"{data[:SHOWN_BYTES].decode('utf-8', 'ignore')}\n[cut: {len(data)} bytes in all]"


def _text(
    plan_id: str, completed: bool, failed_step: str | None, rows: list[dict[str, Any]]
) -> str:
    report = {
        "plan_id": plan_id,
        "completed": completed,
        "failed_step": failed_step,
        "steps": rows,
    }
    return json.dumps(report, ensure_ascii=False)
