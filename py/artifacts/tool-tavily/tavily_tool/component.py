"""The component: a search through the gateway that holds the key."""

import os

from murmur_guest.http import post
from murmur_tooling.component import tool_result
from wit_world import exports
from wit_world.exports import run

from tavily_tool.searching import search


class Run(exports.Run):
    """The export; a fresh instance answers each call."""

    def run(self, input: run.ToolInput) -> run.ToolResult:
        """Search once."""
        return tool_result(search(input.data, os.environ, post))
