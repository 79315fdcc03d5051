"""The component: `murmur:tool/run` answered by the provider."""

from functools import partial

from murmur_guest import http
from murmur_guest.component import driver_result
from wit_world import exports
from wit_world.exports import run

from deepseek_driver.driver import answer


class Run(exports.Run):
    """The export; a fresh instance answers each call."""

    def run(self, input: run.ToolInput) -> run.ToolResult:
        """Answer one turn."""
        return driver_result(partial(answer, post=http.post), input)
