"""The component: `on-tool-call`, asked before each call of a tool."""

import os

from murmur_hooking.component import NOTHING, QuietHook, deny
from murmur_hooking.settings import BadConfig
from wit_world.imports import lifecycle

from protect_tool.deciding import read_policy, refusal


class Lifecycle(QuietHook):
    """The export."""

    def on_tool_call(self, event: lifecycle.ToolEvent) -> lifecycle.HookOutput:
        """Decide about a call; one that was made is none of its business."""
        if event.outcome is not None:
            return NOTHING
        try:
            policy = read_policy(os.environ)
        except BadConfig as bad:
            return deny(f"hook-protect-tool cannot follow its settings: {bad}")
        reason = refusal(policy, event.tool_name, event.input)
        return NOTHING if reason is None else deny(reason)
