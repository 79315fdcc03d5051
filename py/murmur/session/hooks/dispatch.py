"""Calling the hooks of an event, in manifest order, and taking what they may commit.

spec/artifacts.md 15.2 to 15.4. Blocking hooks are called in the caller's thread, async ones have a
queue each. A fault is written down and ends nothing, but for a compaction's.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from murmur.guest.questions import Answering
from murmur.session.hooks.answers import Fault, HookAnswer, Output
from murmur.session.hooks.contracts import Handler, StagedHook
from murmur.session.hooks.faults import DRAIN, Faults
from murmur.session.hooks.imports import Imports
from murmur.session.hooks.queues import HookQueue, drain_all
from murmur.session.hooks.scope import Moment, Scope
from murmur.trace.writer import TraceWriter

_DECISION_POINTS: Final = ("on-tool-call", "on-shell")


class CallHook(Protocol):
    """Calls one handler and waits; None where the hook has none of that name. Never raises."""

    def __call__(
        self, hook: StagedHook, handler: Handler, event: Mapping[str, Any], answering: Answering
    ) -> HookAnswer | None: ...


@dataclasses.dataclass(frozen=True, slots=True)
class Committed:
    """What one hook returned and the runtime does: the payload of an honoured arm."""

    hook: str
    value: Any


@dataclasses.dataclass(frozen=True, slots=True)
class Denial:
    """A policy hook's refusal of a call. `text` is what the model reads."""

    hook: str
    reason: str

    @property
    def text(self) -> str:
        return (
            f"the hook {self.hook} refused this call, which was not made: {self.reason}\n"
            "Making it again unchanged is refused again."
        )


@dataclasses.dataclass(frozen=True, slots=True)
class CompactionAnswer:
    """What the compaction hooks said: `failure` ahead of `replacement`; both None is no answer."""

    replacement: Committed | None
    failure: Committed | None


class Hooks:
    """A session's hooks. Without any, every method answers at once."""

    def __init__(
        self,
        hooks: Sequence[StagedHook],
        call: CallHook,
        imports: Imports,
        scope: Scope,
        faults: Faults,
    ) -> None:
        self._hooks = tuple(hooks)
        self._call = call
        self._imports = imports
        self._faults = faults
        self.scope = scope
        self._queues = {
            hook.name: HookQueue(hook.name, hook.on_overflow)
            for hook in self._hooks
            if hook.is_async
        }

    def hear(self, handler: Handler) -> bool:
        """Whether any hook is dispatched for the event: an event that none hears is not made."""
        return any(hook.hears(handler) for hook in self._hooks)

    def observe(self, handler: Handler, event: Callable[[], Mapping[str, Any]]) -> list[Committed]:
        """Dispatches the event to every hook that hears it; what may be committed, in order."""
        committed, _ = self._dispatch(handler, event)
        return committed

    def first(self, handler: Handler, event: Callable[[], Mapping[str, Any]]) -> Committed | None:
        """As `observe`; the first commitment alone counts."""
        return next(iter(self.observe(handler, event)), None)

    def compact(self, event: Callable[[], Mapping[str, Any]]) -> CompactionAnswer:
        """Dispatches `on-compaction`: the first replacement, but any `err` wins over it."""
        committed, faults = self._dispatch("on-compaction", event)
        return CompactionAnswer(next(iter(committed), None), next(iter(faults), None))

    def decides(self, handler: Handler) -> bool:
        """Whether some policy hook must be asked before such a call."""
        return any(self._policies(handler))

    def refusal(self, handler: Handler, event: Mapping[str, Any]) -> Denial | None:
        """Asks the policy hooks of a decision point; the first that does not say `none` refuses.

        A hook that cannot decide refuses too.
        """
        for hook in self._policies(handler):
            answer = self._ask(hook, handler, event)
            if isinstance(answer, Output) and answer.silent:
                continue
            return Denial(hook.name, self._why(hook, handler, answer))
        return None

    def reject(self, hook: str, handler: Handler, arm: str, reason: str) -> None:
        """What a hook committed cannot be done: a fault of that arm."""
        self._faults.fault(hook, handler, arm, reason)

    def drain(self) -> None:
        """Waits for the async hooks, 15 s for all of them together; nothing is told any more."""
        left = drain_all(self._queues.values())
        for name, queue in self._queues.items():
            if queue.dropped:
                self._faults.note(name, DRAIN, f"{queue.dropped} events were dropped in all")
            if name in left:
                text = f"{left[name]} events were abandoned: the time to finish ran out"
                self._faults.fault(name, DRAIN, "timeout", text)

    def flush(self, trace: TraceWriter) -> None:
        """Writes the faults' lines, just before `session_end`."""
        self._faults.flush(trace)

    def _policies(self, handler: Handler) -> list[StagedHook]:
        return [hook for hook in self._hooks if hook.contract.is_policy and hook.hears(handler)]

    def _dispatch(
        self, handler: Handler, event: Callable[[], Mapping[str, Any]]
    ) -> tuple[list[Committed], list[Committed]]:
        """What blocking hooks committed, and the reasons of those that faulted."""
        hearing = [hook for hook in self._hooks if hook.hears(handler)]
        if not hearing:
            return [], []
        facts = event()
        committed: list[Committed] = []
        faults: list[Committed] = []
        for hook in hearing:
            if hook.is_async:
                self._enqueue(hook, handler, facts)
                continue
            answer = self._ask(hook, handler, facts)
            if isinstance(answer, Fault):
                self._faults.note(hook.name, handler, answer.reason)
                faults.append(Committed(hook.name, answer.reason))
            elif answer is None or answer.silent:
                continue
            elif hook.honours(handler, answer.arm) and handler not in _DECISION_POINTS:
                committed.append(Committed(hook.name, answer.value))
            else:
                self._unhonoured(hook, handler, answer)
        return committed, faults

    def _enqueue(self, hook: StagedHook, handler: Handler, facts: Mapping[str, Any]) -> None:
        moment = self.scope.now

        def job() -> None:
            answer = self._ask(hook, handler, facts, lambda: moment)
            if isinstance(answer, Fault):
                self._faults.fault(hook.name, handler, "error", answer.reason)

        if not self._queues[hook.name].put(job):
            text = "its queue is full, and the event is dropped"
            self._faults.fault(hook.name, handler, "queue-overflow", text)

    def _ask(
        self,
        hook: StagedHook,
        handler: Handler,
        event: Mapping[str, Any],
        moment: Callable[[], Moment] | None = None,
    ) -> HookAnswer | None:
        return self._call(hook, handler, event, self._imports.answering(hook, handler, moment))

    def _why(self, hook: StagedHook, handler: Handler, answer: HookAnswer | None) -> str:
        if answer is None:
            answer = Fault(f"it has no {handler}")
        if isinstance(answer, Fault):
            self._faults.note(hook.name, handler, answer.reason)
            return f"it could not decide about it ({answer.reason})"
        if answer.arm != "deny":
            self._unhonoured(hook, handler, answer)
            return f"it could not decide about it (it answered {answer.arm})"
        return str(answer.value).strip() or "it gave no reason"

    def _unhonoured(self, hook: StagedHook, handler: Handler, answer: Output) -> None:
        text = (
            f"its {answer.arm} is not honoured here (commit_policy {hook.contract.commit_policy})"
        )
        self._faults.fault(hook.name, handler, answer.arm, text)
