"""The component: `murmur:tool/run` answered from the script."""

from murmur_guest.component import driver_result
from wit_world import exports
from wit_world.exports import run

from replay_driver.replay import answer


class Run(exports.Run):
    """The export; a fresh instance answers each call."""

    def run(self, input: run.ToolInput) -> run.ToolResult:
        """Answer one turn."""
        return driver_result(answer, input)
