"""The `murmur:hook/lifecycle` export, for a hook that answers some of the events.

    class Lifecycle(QuietHook):
        def on_shell(self, event): return deny("not today") if ... else NOTHING

An answer that is an error is raised: `raise failure("why")`.
"""

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import lifecycle

NOTHING = lifecycle.HookOutput_None_()


def deny(reason: str) -> lifecycle.HookOutput:
    """The refusal of a call, as a policy hook makes it."""
    return lifecycle.HookOutput_Deny(reason)


def failure(reason: str) -> Err[str]:
    """The `err` of a handler, to be raised."""
    return Err(reason)


class QuietHook(exports.Lifecycle):
    """Answers every event with nothing."""

    def on_stage(self, event: lifecycle.StageEvent) -> lifecycle.HookOutput:
        """Before the session, at staging."""
        return NOTHING

    def on_session_start(self, ctx: lifecycle.SessionContext) -> lifecycle.HookOutput:
        """Before the first task."""
        return NOTHING

    def on_task_start(self, event: lifecycle.TaskStartEvent) -> lifecycle.HookOutput:
        """Before a task's first turn."""
        return NOTHING

    def on_inference(self, event: lifecycle.InferenceEvent) -> lifecycle.HookOutput:
        """After each answer of the model."""
        return NOTHING

    def on_tool_call(self, event: lifecycle.ToolEvent) -> lifecycle.HookOutput:
        """Before a tool call (policy hooks) and after it."""
        return NOTHING

    def on_shell(self, event: lifecycle.ShellEvent) -> lifecycle.HookOutput:
        """Before a command (policy hooks) and after it."""
        return NOTHING

    def on_compaction(self, event: lifecycle.CompactionEvent) -> lifecycle.HookOutput:
        """When the context is nearly full."""
        return NOTHING

    def on_task_end(self, event: lifecycle.TaskEndEvent) -> lifecycle.HookOutput:
        """After each attempt at a task."""
        return NOTHING

    def on_session_end(self, event: lifecycle.SessionEndEvent) -> lifecycle.HookOutput:
        """After the last task."""
        return NOTHING
