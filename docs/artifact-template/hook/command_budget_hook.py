"""Refuses further commands once a session has started enough of them."""

import os

from murmur_hooking.component import NOTHING, QuietHook, deny
from murmur_hooking.settings import read_config
from wit_world.imports import lifecycle

# A hook is one component for the whole session; the object that answers is made for each call.
_started: list[str] = []


class Lifecycle(QuietHook):
    """What the runtime calls; the other events are answered by nothing."""

    def on_shell(self, event: lifecycle.ShellEvent) -> lifecycle.HookOutput:
        """Asked before a command, and told after it, when there is an outcome."""
        if event.outcome is not None:
            return NOTHING
        most = read_config(os.environ, ("most",)).get("most", 20)
        if not isinstance(most, int) or len(_started) >= most:
            return deny(f"the session's budget of commands ({most}) is spent: say what you know")
        _started.append(event.binary)
        return NOTHING
