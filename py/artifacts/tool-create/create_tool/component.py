"""The component: a new artifact in the one folder it was given."""

from pathlib import Path

from murmur_tooling.component import tool_result
from wit_world import exports
from wit_world.exports import run

from create_tool.creating import create


class Run(exports.Run):
    """The export; a fresh instance answers each call."""

    def run(self, input: run.ToolInput) -> run.ToolResult:
        """Make one artifact."""
        return tool_result(create(input.data, Path(".")))
