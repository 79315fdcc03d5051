"""The component: it watches tools and commands, and judges at the end of each attempt."""

import json

from murmur_hooking.component import NOTHING, QuietHook
from wit_world.imports import lifecycle

from verifier_hook.results import Watch, feedback, is_test_run

_WRITES = ("content", "contents", "new_string", "new_str", "patch", "diff", "dest_path")


# The component lasts as long as the session; the object that answers is made for each call.
_watch = Watch()


class Lifecycle(QuietHook):
    """The export."""

    def on_task_start(self, event: lifecycle.TaskStartEvent) -> lifecycle.HookOutput:
        """A task begins with nothing known."""
        _watch.begin()
        return NOTHING

    def on_tool_call(self, event: lifecycle.ToolEvent) -> lifecycle.HookOutput:
        """A tool that wrote has edited."""
        if event.outcome is not None and event.outcome.status == "ok":
            try:
                given = json.loads(event.input)
            except ValueError:
                given = None
            if isinstance(given, dict) and any(key in given for key in _WRITES):
                _watch.edited = True
        return NOTHING

    def on_shell(self, event: lifecycle.ShellEvent) -> lifecycle.HookOutput:
        """A test run tells; any other command may have edited."""
        if event.outcome is None:
            return NOTHING
        line = event.script if event.script is not None else " ".join(event.argv)
        if is_test_run(line):
            output = f"{event.outcome.stdout}\n{event.outcome.stderr}"
            _watch.ran(output, event.outcome.exit_code)
        else:
            _watch.edited = _watch.edited or ">" in line or " -i" in line
        return NOTHING

    def on_task_end(self, event: lifecycle.TaskEndEvent) -> lifecycle.HookOutput:
        """An attempt that came to an answer is judged."""
        broken = _watch.regressions() if event.exit_status == "ok" else []
        return lifecycle.HookOutput_ReopenTask(feedback(broken)) if broken else NOTHING
