"""The component: `murmur:tool/run` carried out in the one folder it was given."""

from pathlib import Path

from murmur_tooling.component import tool_result
from wit_world import exports
from wit_world.exports import run

from code_coverage.localizing import localize


class Run(exports.Run):
    """The export; a fresh instance answers each call."""

    def run(self, input: run.ToolInput) -> run.ToolResult:
        """Rank what failing tests ran."""
        return tool_result(localize(input.data, Path(".")))
