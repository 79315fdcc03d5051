"""Hooks around a task: the seed before its first turn, what its attempts gave, its reopening.

spec/artifacts.md 15.2; spec/sessions.md 12 and 17.2.
"""

import dataclasses
from collections.abc import Sequence

from murmur.core.safefs import Root
from murmur.core.tasks import Task
from murmur.inference.limits import ModelLimits
from murmur.manifest.session import Context
from murmur.session.attempt import Attempt, Ending
from murmur.session.course import Reopen
from murmur.session.history import History
from murmur.session.hooks import events
from murmur.session.hooks.dispatch import Committed, Hooks
from murmur.session.hooks.messages import Message, from_hook
from murmur.session.hooks.seeding import Seed, seed_ceiling, size_of, weigh_seed
from murmur.session.notices import keep
from murmur.trace.writer import TraceWriter


@dataclasses.dataclass(frozen=True, slots=True)
class TaskHooks:
    """The hooks as the task runner meets them. `seeds` is false where a harness holds the
    conversation, into which nothing can be put."""

    hooks: Hooks
    trace: TraceWriter
    records: Root
    context: Context
    limits: ModelLimits
    seeds: bool = True

    def begin(self, task: Task, history: History) -> None:
        """A task has started: `on-task-start`, and the seed that enters before all else.

        `history` holds the loaded messages alone.
        """
        self.hooks.scope.begin_task(task.id, task.context_id)
        budget, _ = self.limits.input_budget()
        ceiling = seed_ceiling(self.context.seed_budget, budget)
        proposal = self.hooks.first(
            "on-task-start",
            lambda: events.task_start_event(
                task,
                task.source,
                budget=ceiling,
                window=self.limits.context_window,
                prior=sum(map(size_of, history.messages)),
            ),
        )
        if proposal is not None:
            self._seed(task.id, history, proposal, ceiling, budgeted=budget is not None)

    def begin_attempt(self, task: Task, as_given: str, attempt: Attempt) -> None:
        """An attempt enters the loop; `as_given` holds the feedback of earlier ones."""
        self.hooks.scope.begin_attempt(task.text, as_given, attempt.cancel)

    def reopening(self, task: Task, attempt: Attempt, ending: Ending) -> Reopen | None:
        """`on-task-end`: whether a hook wants another attempt (`course.AskHooks`)."""
        self.hooks.scope.end_attempt(ending.result or "")
        found = self.hooks.first(
            "on-task-end", lambda: events.task_end_event(task.id, ending.status)
        )
        return None if found is None else Reopen(found.hook, found.value)

    def end(self) -> None:
        """The runtime is done with the task."""
        self.hooks.scope.end_task()

    def _seed(
        self, task_id: str, history: History, proposal: Committed, ceiling: int, *, budgeted: bool
    ) -> None:
        proposed = from_hook(proposal.value, ())
        seed = weigh_seed(
            proposed,
            ceiling=ceiling,
            budgeted=budgeted,
            margin=self.context.seed_overflow_margin,
            summarise=self._summarise,
        )
        if not self.seeds:
            seed = dataclasses.replace(seed, reason="unsupported_transport")
        entered = history.put_before(seed.messages, "seed-context") if seed.messages else []
        self._record(task_id, proposal.hook, seed, [str(each["id"]) for each in entered])

    def _record(self, task_id: str, hook: str, seed: Seed, ids: list[str]) -> None:
        self.trace.write_aside(
            "context_seed",
            task_id=task_id,
            hook_name=hook,
            tokens=seed.tokens,
            proposed_tokens=seed.proposed_tokens,
            budget_tokens=seed.budget_tokens,
            outcome=seed.outcome,
            reason=seed.reason,
            message_ids=ids,
        )
        why = f" ({seed.reason})" if seed.reason else ""
        keep(
            self.records,
            f"[seed] {hook}: {seed.outcome}{why}, {seed.tokens} of {seed.proposed_tokens} tokens, "
            f"{seed.budget_tokens} allowed",
        )
        if seed.outcome == "rejected":
            self.hooks.reject(hook, "on-task-start", "seed-rejected", f"its seed: {seed.reason}")

    def _summarise(self, messages: Sequence[Message]) -> Sequence[Message] | None:
        """The overflowing front, shortened by the compaction hooks; None when none does it."""
        size = sum(map(size_of, messages))
        said = self.hooks.compact(lambda: events.compaction_event(messages, size, 1.0, None, None))
        if said.failure is not None or said.replacement is None:
            return None
        return from_hook(said.replacement.value, messages) or None
