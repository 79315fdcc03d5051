"""The component: every event but `on-stage`, which no async hook hears."""

from murmur_hooking.component import NOTHING, QuietHook
from wit_world.imports import lifecycle

from debug_hook.lines import FILE, line


def _write(event: str, record: object) -> lifecycle.HookOutput:
    with open(FILE, "a", encoding="utf-8") as out:
        out.write(line(event, record))
    return NOTHING


class Lifecycle(QuietHook):
    """The export."""

    def on_session_start(self, ctx: lifecycle.SessionContext) -> lifecycle.HookOutput:
        return _write("session-start", ctx)

    def on_task_start(self, event: lifecycle.TaskStartEvent) -> lifecycle.HookOutput:
        return _write("task-start", event)

    def on_inference(self, event: lifecycle.InferenceEvent) -> lifecycle.HookOutput:
        return _write("inference", event)

    def on_tool_call(self, event: lifecycle.ToolEvent) -> lifecycle.HookOutput:
        return _write("tool-call", event)

    def on_shell(self, event: lifecycle.ShellEvent) -> lifecycle.HookOutput:
        return _write("shell", event)

    def on_compaction(self, event: lifecycle.CompactionEvent) -> lifecycle.HookOutput:
        return _write("compaction", event)

    def on_task_end(self, event: lifecycle.TaskEndEvent) -> lifecycle.HookOutput:
        return _write("task-end", event)

    def on_session_end(self, event: lifecycle.SessionEndEvent) -> lifecycle.HookOutput:
        return _write("session-end", event)
