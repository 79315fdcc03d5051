"""One task from its first attempt to its ending: what continues it, checks it, opens it again.

At a turn end, in this order: `lifecycle.keep_working` answers it, `lifecycle.done_check` judges
it, on-task-end hooks may reopen it. What a deadline interrupts then ends with its answer.
spec/sessions.md 12; spec/formations-and-newer-manifest.md A13.
"""

import dataclasses
from collections.abc import Callable
from typing import Final, Protocol

from murmur.core.tasks import StatusFrame, Task, TaskState, Trust
from murmur.manifest.session import DoneCheck, Lifecycle
from murmur.session.attempt import Attempt, Ending, budget_exhausted
from murmur.session.checking import Checked, RunCheck, feedback_text, run_check
from murmur.session.deadline import Overdue
from murmur.session.fence import fence
from murmur.session.history import Message, user_message
from murmur.trace.writer import TraceWriter

DONE_CHECK: Final = "lifecycle.done_check"
REOPEN_BUDGET: Final = "task reopen budget exhausted"
TURN_BUDGET: Final = "task turn budget exhausted"


@dataclasses.dataclass(frozen=True, slots=True)
class Reopen:
    """Another attempt is wanted: `by` a hook or the done check, for `reason`."""

    by: str
    reason: str


class AskHooks(Protocol):
    """Tells the on-task-end hooks how an attempt ended; what the first of them wants reopened."""

    def __call__(self, task: Task, attempt: Attempt, ending: Ending) -> Reopen | None: ...


@dataclasses.dataclass(frozen=True, slots=True)
class Rules:
    """What may continue a task, the same for every task of a session.

    `max_turns` None is no cap; `check` runs the done check's command.
    """

    lifecycle: Lifecycle
    max_turns: int | None
    overdue: Overdue
    check: RunCheck | None = None
    hooks: AskHooks | None = None


class Course:
    """Runs one task's attempts. `run_attempt` runs turns until one ends without a call;
    `rewrite` replaces task.md; `on_failed` records a failed attempt that another follows."""

    def __init__(
        self,
        rules: Rules,
        trace: TraceWriter,
        task: Task,
        attempt: Attempt,
        *,
        run_attempt: Callable[[Attempt], Ending],
        rewrite: Callable[[str], None],
        on_failed: Callable[[Ending], None],
    ) -> None:
        self._rules = rules
        self._trace = trace
        self._task = task
        self._attempt = attempt
        self._run_attempt = run_attempt
        self._rewrite = rewrite
        self._on_failed = on_failed
        self._answer: Ending | None = None
        self._kept = self._checks = self._by_check = self._by_hooks = 0
        self._reopened: list[str] = []
        self.stopped_by: str | None = None

    @property
    def reopens(self) -> int:
        """How often the task was opened again, by whomever."""
        return len(self._reopened)

    def run(self) -> Ending:
        """The task's ending, once nothing continues it."""
        try:
            while True:
                ending = self._work()
                reopen, ending = self._reopening(ending)
                if reopen is None:
                    return ending
                self._begin_again(reopen)
        finally:
            self._rules.overdue.kept = None

    @property
    def _turns_left(self) -> int | None:
        return self._attempt.turns.left(self._rules.max_turns)

    def _work(self) -> Ending:
        """One attempt, with every turn end that is answered instead of ending it."""
        while True:
            ending = self._run_attempt(self._attempt)
            if ending.status != "ok":
                return self._broken_off(ending)
            if self._rules.lifecycle.keep_working or self._rules.lifecycle.done_check:
                self._answer = ending
                self._rules.overdue.kept = self._task.id
            if not self._keeps_working():
                return self._late(ending)

    def _keeps_working(self) -> bool:
        """Answers a turn end with the declared message, while there is room for it."""
        rule = self._rules.lifecycle.keep_working
        if rule is None:
            return False
        if self._rules.overdue:
            self.stopped_by = "deadline"
        elif self._attempt.cancel.is_set():
            pass  # by its caller; the task says so itself
        elif self._kept >= rule.limit:
            self.stopped_by = "limit"
        elif self._turns_left == 0:
            self.stopped_by = "max_turns"
        elif not self._attempt.continuable():
            self.stopped_by = "no_session"
        else:
            self._kept += 1
            self._trace.write(
                "task_kept_working",
                task_id=self._task.id,
                number=self._kept,
                turns_remaining=self._turns_left,
            )
            self._attempt.history.add(user_message(rule.message))
            return True
        return False

    def _broken_off(self, ending: Ending) -> Ending:
        """An attempt that came to no turn end; further work on a task with an answer may stop."""
        answer = self._answer
        if answer is None:
            return ending
        if ending.status == "canceled" and self._rules.overdue:
            if self._rules.lifecycle.keep_working is not None:
                self.stopped_by = "deadline"
            return self._late(answer)
        if self._kept and self.stopped_by is None:
            if ending.status == "max_turns_reached":
                self.stopped_by = "max_turns"
                return answer
            if ending.status == "spend_ceiling_reached":
                self.stopped_by = "spend_ceiling"
        return ending

    def _late(self, ending: Ending) -> Ending:
        """The ending of a task that the deadline stopped at its answer."""
        if self._answer is None or not self._rules.overdue:
            return ending
        return dataclasses.replace(ending, status="deadline_reached")

    def _reopening(self, ending: Ending) -> tuple[Reopen | None, Ending]:
        """What opens the task again, or nothing and how it ends."""
        check = self._rules.lifecycle.done_check
        if check is not None and ending.status == "ok" and not self._attempt.cancel.is_set():
            found = self._check(check)
            room = self._by_check < check.limit and self._turns_left != 0
            if found.failed and room and not self._attempt.cancel.is_set():
                self._by_check += 1
                return Reopen(DONE_CHECK, feedback_text(check.command, found)), ending
            ending = self._late(ending)
        return self._asking_hooks(ending)

    def _asking_hooks(self, ending: Ending) -> tuple[Reopen | None, Ending]:
        if self._rules.hooks is None:
            return None, ending
        reopen = self._rules.hooks(self._task, self._attempt, ending)
        if reopen is None or self._attempt.cancel.is_set():
            return None, ending
        if self._by_hooks >= self._rules.lifecycle.max_task_reopens:
            return None, budget_exhausted(REOPEN_BUDGET)
        if self._turns_left == 0:
            return None, budget_exhausted(TURN_BUDGET)
        self._by_hooks += 1
        # The deadline takes an attempt that a hook asked for as it takes a first one.
        self._answer, self._rules.overdue.kept = None, None
        if ending.cause is not None:
            self._on_failed(ending)
        return reopen, ending

    def _check(self, check: DoneCheck) -> Checked:
        self._checks += 1
        found = run_check(self._rules.check, check, self._attempt.cancel)
        self._trace.write(
            "done_check",
            task_id=self._task.id,
            number=self._checks,
            command=check.command,
            outcome=found.outcome,
            exit_code=found.exit_code,
            resource_limit=found.resource_limit,
            duration_ms=found.duration_ms,
        )
        return found

    def _begin_again(self, reopen: Reopen) -> None:
        """The next attempt: the same conversation and the feedback. spec/sessions.md 12."""
        number = self.reopens + 1
        by = reopen.by if reopen.by == DONE_CHECK else f"hook {reopen.by}"
        text = f"Reopen {number} — from {by}\n\n{reopen.reason}"
        self._reopened.append(text)
        continued = self._attempt.continuable()
        self._trace.write(
            "task_reopened",
            task_id=self._task.id,
            hook_name=reopen.by,
            reason=reopen.reason,
            reopen_number=number,
            attempt_context="continued" if continued else "restarted",
            turns_remaining=self._turns_left,
        )
        self._attempt.frame(
            StatusFrame(
                TaskState.WORKING,
                f"reopened by {by}",
                reopen={"number": number, "hookName": reopen.by, "reason": reopen.reason},
            )
        )
        sections = "\n\n".join(f"## {each}" for each in self._reopened)
        whole = f"{self._task.text}\n\n# Reopen feedback\n\n{sections}\n"
        self._rewrite(whole)
        self._attempt.history.add(task_message(self._task, text if continued else whole))


def task_message(task: Task, text: str) -> Message:
    """A text of a task as the model reads it: fenced, where nobody vouches for the task."""
    if task.trust is not Trust.UNTRUSTED:
        return user_message(text)
    source = f"task:{task.origin}"
    return user_message(fence(source, text), source)
