"""The component: it watches tools and commands, and judges at the end of each attempt."""

import json

from murmur_hooking.component import NOTHING, QuietHook
from wit_world.imports import lifecycle

from verifier_hook.results import Watch, feedback, is_test_run

_WRITES = ("content", "contents", "new_string", "new_str", "patch", "diff", "dest_path")


class Lifecycle(QuietHook):
    """The export. One instance sees a whole session."""

    def __init__(self) -> None:
        self._watch = Watch()

    def on_task_start(self, event: lifecycle.TaskStartEvent) -> lifecycle.HookOutput:
        """A task begins with nothing known."""
        self._watch = Watch()
        return NOTHING

    def on_tool_call(self, event: lifecycle.ToolEvent) -> lifecycle.HookOutput:
        """A tool that wrote has edited."""
        if event.outcome is not None and event.outcome.status == "ok":
            try:
                given = json.loads(event.input)
            except ValueError:
                given = None
            if isinstance(given, dict) and any(key in given for key in _WRITES):
                self._watch.edited = True
        return NOTHING

    def on_shell(self, event: lifecycle.ShellEvent) -> lifecycle.HookOutput:
        """A test run tells; any other command may have edited."""
        if event.outcome is None:
            return NOTHING
        line = event.script if event.script is not None else " ".join(event.argv)
        if is_test_run(line):
            output = f"{event.outcome.stdout}\n{event.outcome.stderr}"
            self._watch.ran(output, event.outcome.exit_code)
        else:
            self._watch.edited = self._watch.edited or ">" in line or " -i" in line
        return NOTHING

    def on_task_end(self, event: lifecycle.TaskEndEvent) -> lifecycle.HookOutput:
        """An attempt that came to an answer is judged."""
        broken = self._watch.regressions() if event.exit_status == "ok" else []
        return lifecycle.HookOutput_ReopenTask(feedback(broken)) if broken else NOTHING
