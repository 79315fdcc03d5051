"""A launched session's hooks, wired: one object that start, loop, dispatcher and end share."""

import dataclasses
import functools
from collections.abc import Callable

from murmur.conversation.record import Record
from murmur.guest.client import Guests
from murmur.inference.driver import DriverClient
from murmur.inference.gateway import Gateway
from murmur.inference.spend import SpendMeter
from murmur.session.commands import Commands
from murmur.session.history import Message
from murmur.session.hooks import events
from murmur.session.hooks.calls import HookCalls
from murmur.session.hooks.contracts import staged_hooks
from murmur.session.hooks.dispatch import Hooks
from murmur.session.hooks.faults import Faults
from murmur.session.hooks.gate import CallHooks
from murmur.session.hooks.imports import Imports, ReadRecord
from murmur.session.hooks.inference import HookInference
from murmur.session.hooks.scope import Scope
from murmur.session.hooks.tasks import TaskHooks
from murmur.session.hooks.turns import TurnHooks
from murmur.session.stage import Staged
from murmur.trace.writer import TraceWriter


@dataclasses.dataclass(frozen=True, slots=True)
class FrameHooks:
    """The hooks around a session, an agent's or a script capsule's."""

    hooks: Hooks
    calls: HookCalls
    trace: TraceWriter

    def begin(self, staged: Staged) -> None:
        """`on-session-start`, before the first task."""
        capsule = staged.capsule
        model = (capsule.inference.model or "") if capsule.inference is not None else ""
        self.hooks.observe(
            "on-session-start",
            lambda: events.session_context(
                capsule.name,
                capsule.version,
                staged.session_id,
                model,
                capsule.capabilities.categories,
            ),
        )

    def end(self, duration_ms: int, exit_status: str) -> None:
        """`on-session-end`, and the async hooks' last 15 s."""
        totals = self.trace.session_counts.session_end()
        self.hooks.observe(
            "on-session-end", lambda: events.session_end_event(totals, duration_ms, exit_status)
        )
        self.hooks.drain()

    def close(self) -> None:
        """Writes every fault's line and calls no hook any more."""
        self.hooks.flush(self.trace)
        self.calls.close()


@dataclasses.dataclass(frozen=True, slots=True)
class SessionHooks(FrameHooks):
    """The hooks as each part of an agent's session meets them."""

    turns: TurnHooks
    tasks: TaskHooks
    gate: CallHooks


def open_frame_hooks(
    staged: Staged, guests: Guests, gateway: Gateway, trace: TraceWriter
) -> FrameHooks:
    """Wires the hooks of a script capsule: no task, no model, no conversation."""
    declared = staged_hooks(staged.artifacts)
    calls = HookCalls(staged, declared, guests, gateway)
    scope = Scope()
    faults = Faults(staged.directories.records_root)
    hooks = Hooks(declared, calls.call, Imports(scope, None, None), scope, faults)
    return FrameHooks(hooks, calls, trace)


def open_session_hooks(
    staged: Staged,
    guests: Guests,
    gateway: Gateway,
    client: DriverClient | None,
    commands: Commands | None,
    trace: TraceWriter,
    meter: SpendMeter,
    compacted: Callable[[], None],
) -> SessionHooks:
    """Wires the hooks of a session that is being launched; without a `client` they ask no model.

    `compacted` is told of each context that was replaced.
    """
    capsule, limits = staged.capsule, staged.limits
    inference = capsule.inference
    assert inference is not None
    records = staged.directories.records_root
    declared = staged_hooks(staged.artifacts)
    calls = HookCalls(staged, declared, guests, gateway)
    scope = Scope()
    asking = None
    if client is not None:
        asking = HookInference(
            capsule=capsule,
            client=client,
            trace=trace,
            output_cap=limits.max_output_tokens,
            compaction_cap=inference.compaction.max_tokens or limits.max_output_tokens,
            meter=meter,
        )
    hooks = Hooks(
        declared, calls.call, Imports(scope, asking, _reader(staged)), scope, Faults(records)
    )
    return SessionHooks(
        hooks=hooks,
        calls=calls,
        trace=trace,
        turns=TurnHooks(
            hooks=hooks,
            trace=trace,
            records=records,
            compaction=inference.compaction,
            compaction_prompt=staged.prompt.compaction,
            input_budget=limits.input_budget()[0],
            refused=asking.refused if asking is not None else {},
            compacted=compacted,
        ),
        tasks=TaskHooks(
            hooks=hooks,
            trace=trace,
            records=records,
            context=capsule.context,
            limits=limits,
            seeds=inference.transport == "http",
        ),
        gate=CallHooks(
            hooks,
            trace,
            staged.directories.work_root,
            commands.path_of if commands is not None else str,
        ),
    )


def _reader(staged: Staged) -> ReadRecord | None:
    """How the conversation's record is read; None for a capsule that keeps none."""
    context = staged.capsule.context
    if context.record != "on":
        return None
    store = context.record_store or staged.capsule.name
    return functools.partial(_read_record, staged, store)


def _read_record(staged: Staged, store: str, context_id: str) -> list[Message]:
    contents = Record(staged.prepared.launch.home, store, context_id).load()
    return [dict(message) for message in contents.messages]
