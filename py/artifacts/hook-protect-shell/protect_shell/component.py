"""The component: `on-shell`, asked before each command."""

import os

from murmur_hooking.component import NOTHING, QuietHook, deny
from murmur_hooking.settings import BadConfig
from wit_world.imports import lifecycle

from protect_shell.deciding import read_policy, refusal


class Lifecycle(QuietHook):
    """The export."""

    def on_shell(self, event: lifecycle.ShellEvent) -> lifecycle.HookOutput:
        """Decide about a command; one that has run is none of its business."""
        if event.outcome is not None:
            return NOTHING
        try:
            policy = read_policy(os.environ)
        except BadConfig as bad:
            return deny(f"hook-protect-shell cannot follow its settings: {bad}")
        reason = refusal(policy, event.argv, event.script, event.recipe)
        return NOTHING if reason is None else deny(reason)
