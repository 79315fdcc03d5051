"""The component: `murmur:task` asks, and the call waits for the answer."""

from murmur_tooling.component import tool_result
from wit_world import exports
from wit_world.exports import run
from wit_world.imports import task

from input_tool.asking import ask


class Run(exports.Run):
    """The export; a fresh instance answers each call."""

    def run(self, input: run.ToolInput) -> run.ToolResult:
        """Ask. Traps where nobody can answer, or nobody does in time."""
        return tool_result(ask(input.data, task.request_input))
