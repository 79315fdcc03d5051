"""The component: a file of its folder, or a request through the runtime's gate."""

from pathlib import Path

from murmur_guest.http import get
from murmur_tooling.component import tool_result
from wit_world import exports
from wit_world.exports import run

from registry_search.searching import search


class Run(exports.Run):
    """The export; a fresh instance answers each call."""

    def run(self, input: run.ToolInput) -> run.ToolResult:
        """Search once."""
        return tool_result(search(input.data, Path("."), get))
