"""Running a plan's steps in waves. spec/sessions.md 16.3.

What a step is dispatched to is somebody else's: here are order, conditions, retries and what a
failure does. Commands and capsules of one wave run at once, each in a thread of its own as long as
it runs; tools one after another, in the thread that schedules, since guests are called from that
one alone.
"""

import dataclasses
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final, Literal, Protocol

from murmur.session.plans.plan import Plan, Step
from murmur.session.plans.references import BadReference, Reference, holds, replaced

CANCELED: Final = "not run: the task was canceled"

Status = Literal["success", "failed", "skipped"]


@dataclasses.dataclass(frozen=True, slots=True)
class Done:
    """What one attempt at a step came to: `output` on success, `error` else."""

    output: str | None = None
    error: str | None = None
    state_effect: str | None = None
    resource_id: str | None = None

    @property
    def ok(self) -> bool:
        return self.error is None


@dataclasses.dataclass(frozen=True, slots=True)
class Settled:
    """How a step ended. `input` is a tool's, with its references replaced."""

    step: Step
    status: Status
    output: str | None = None
    error: str | None = None
    attempts: int = 0
    duration_ms: int = 0
    input: object = None
    state_effect: str | None = None
    resource_id: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class PlanResult:
    """A plan that is over: the settled steps in the order they settled, and what ended it."""

    settled: tuple[Settled, ...]
    failed_step: str | None = None
    reason: str | None = None
    canceled: bool = False

    @property
    def completed(self) -> bool:
        return self.failed_step is None and not self.canceled

    def count(self, status: Status) -> int:
        return sum(each.status == status for each in self.settled)


class Dispatch(Protocol):
    """Where steps go, and who is told of them.

    `refuses` is asked, in the scheduling thread, before the first attempt at a step.
    """

    def refuses(self, step: Step, given: object) -> str | None: ...
    def run(self, step: Step, given: object) -> Done: ...
    def started(self, step: Step) -> None: ...
    def settled(self, settled: Settled) -> None: ...


def run_plan(plan: Plan, dispatch: Dispatch, cancel: threading.Event) -> PlanResult:
    """Runs a checked plan until every step has settled, one stops it, or `cancel` is set."""
    return _Run(plan, dispatch, cancel).run()


class _Run:
    def __init__(self, plan: Plan, dispatch: Dispatch, cancel: threading.Event) -> None:
        self._dispatch = dispatch
        self._cancel = cancel
        self._waiting = {step.id: step for step in plan.steps}
        self._done: dict[str, Settled] = {}
        self._stopped: Settled | None = None

    def run(self) -> PlanResult:
        while self._waiting and self._stopped is None:
            if self._cancel.is_set():
                return self._canceled()
            self._wave()
        if self._cancel.is_set() and (self._waiting or self._stopped is not None):
            return self._canceled()
        settled, stopped = tuple(self._done.values()), self._stopped
        if stopped is None:
            return PlanResult(settled)
        return PlanResult(settled, stopped.step.id, stopped.error)

    def _wave(self) -> None:
        """One wave: conditions, dispatch, and its steps recorded in their order."""
        ready = [
            step
            for step in self._waiting.values()
            if all(name in self._done for name in step.depends_on)
        ]
        if not ready:
            first = next(iter(self._waiting.values()))
            self._settle(Settled(first, "failed", error="it is part of a circle of dependencies"))
            self._stopped = self._done[first.id]
            return
        wave: list[_Attempts] = []
        for step in ready:
            try:
                if not holds(step.condition, self._resolve):
                    self._settle(Settled(step, "skipped"))
                    continue
            except BadReference as bad:
                self._settle(Settled(step, "failed", error=str(bad)))
                self._stopped = self._stopped or self._done[step.id]
                break
            wave.append(_Attempts(step, self._dispatch, self._cancel))
        if self._stopped is not None:
            return
        for attempts in wave:
            attempts.prepare(self._resolve)
        for attempts in wave:
            attempts.start()
        for attempts in wave:
            attempts.finish()
        for attempts in wave:
            self._record(attempts)

    def _record(self, attempts: "_Attempts") -> None:
        settled = attempts.settled()
        failed = settled.status == "failed"
        if failed and settled.step.on_error == "skip":
            settled = dataclasses.replace(settled, status="skipped")
        self._settle(settled)
        if failed and settled.step.on_error == "fail" and self._stopped is None:
            self._stopped = settled

    def _settle(self, settled: Settled) -> None:
        del self._waiting[settled.step.id]
        self._done[settled.step.id] = settled
        self._dispatch.settled(settled)

    def _canceled(self) -> PlanResult:
        for step in list(self._waiting.values()):
            self._settle(Settled(step, "skipped", error=CANCELED))
        return PlanResult(tuple(self._done.values()), reason="the task was canceled", canceled=True)

    def _resolve(self, reference: Reference) -> str | None:
        settled = self._done.get(reference.step)
        if settled is None:
            raise BadReference(f"{reference} names a step that has not settled; depend on it")
        return settled.status if reference.field == "status" else settled.output


class _Attempts:
    """One step of a wave on its way: gate, attempts, result."""

    def __init__(self, step: Step, dispatch: Dispatch, cancel: threading.Event) -> None:
        self.step = step
        self._dispatch = dispatch
        self._cancel = cancel
        self._given: object = None
        self._done: Done | None = None
        self._fault: BaseException | None = None
        self._attempts = 0
        self._began = self._ended = 0.0
        self._thread: threading.Thread | None = None

    def prepare(self, resolve: Callable[[Reference], str | None]) -> None:
        """Replaces references and asks the gate; a refused step is not dispatched."""
        try:
            self._given = replaced(self.step.input, resolve)
        except BadReference as bad:
            self._done = Done(error=str(bad))
            return
        refused = self._dispatch.refuses(self.step, self._given)
        if refused is not None:
            self._done = Done(error=refused)

    def start(self) -> None:
        if self._done is not None:
            return
        self._dispatch.started(self.step)
        self._began = time.monotonic()
        if self.step.kind != "tool":
            self._thread = threading.Thread(
                target=self._work, name=f"murmur-step-{self.step.id}", daemon=True
            )
            self._thread.start()

    def finish(self) -> None:
        """Runs a tool, or waits for what runs beside. Raises what a step's dispatch raised."""
        if self._thread is not None:
            self._thread.join()
        elif self._done is None:
            self._work()
        if self._fault is not None:
            raise self._fault

    def _work(self) -> None:
        try:
            for _ in range(self.step.retries + 1):
                if self._attempts and self._cancel.is_set():
                    break
                self._attempts += 1
                self._done = self._dispatch.run(self.step, self._given)
                if self._done.ok:
                    break
        except BaseException as fault:
            self._fault = fault
        self._ended = time.monotonic()

    def settled(self) -> Settled:
        done = self._done
        assert done is not None
        shown: Mapping[str, object] = {"input": self._given} if self.step.kind == "tool" else {}
        return Settled(
            self.step,
            "success" if done.ok else "failed",
            output=done.output if done.ok else None,
            error=done.error,
            attempts=self._attempts,
            duration_ms=int((self._ended - self._began) * 1000) if self._attempts else 0,
            input=shown.get("input"),
            state_effect=done.state_effect,
            resource_id=done.resource_id,
        )
