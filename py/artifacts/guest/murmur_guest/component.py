"""The `murmur:tool/run` export of a driver, around a plain function.

class Run(exports.Run):
    def run(self, input): return driver_result(answer, input)
"""

import os
from collections.abc import Callable, Mapping

from wit_world.exports import run
from wit_world.imports import events

from murmur_guest.exchange import Answer, DriverError, Progress, Request, failure, read_request

AnswerFunction = Callable[[Request, Mapping[str, str], Progress], Answer]


class HostProgress:
    """Progress handed on to the runtime."""

    def text(self, chunk: str) -> None:
        """A piece of the answer."""
        events.emit_chunk(chunk)

    def thinking(self, chunk: str) -> None:
        """A piece of the reasoning."""
        events.emit_thinking_chunk(chunk)

    def tool_call_started(self, call_id: str, name: str) -> None:
        """A call whose input is still to come."""
        events.tool_call_started(call_id, name)

    def tool_call_input_bytes(self, call_id: str, size: int) -> None:
        """UTF-8 size of the call's input JSON so far."""
        events.tool_call_input_bytes(call_id, size)


def driver_result(answer: AnswerFunction, given: run.ToolInput) -> run.ToolResult:
    """One driver call; the status is `error` exactly when the stop reason is."""
    try:
        reply = answer(read_request(given.data), os.environ, HostProgress())
    except DriverError as problem:
        reply = failure(str(problem))
    failed = reply.stop_reason == "error"
    metadata = [("continuation_id", reply.continuation_id)] if reply.continuation_id else []
    return run.ToolResult(
        status=run.Status.ERROR if failed else run.Status.PASSED,
        summary=reply.error if failed else None,
        data=reply.to_json(),
        data_path=None,
        truncated=False,
        metadata=metadata,
        attachments=[],
    )
