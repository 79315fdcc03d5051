"""The component: `murmur:tool/run` carried out in the durable store."""

import os

from murmur_tooling.component import tool_result
from murmur_tooling.state import granted_state
from wit_world import exports
from wit_world.exports import run

from corpus_tool.corpus import keep


class Run(exports.Run):
    """The export; a fresh instance answers each call."""

    def run(self, input: run.ToolInput) -> run.ToolResult:
        """Carry out one operation."""
        return tool_result(keep(input.data, granted_state, os.environ))
