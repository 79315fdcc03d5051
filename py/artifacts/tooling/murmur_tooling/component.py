"""An outcome as the component's export returns it."""

from wit_world.exports import run

from murmur_tooling.outcome import Outcome


def tool_result(outcome: Outcome) -> run.ToolResult:
    """The record of `murmur:tool/run`."""
    return run.ToolResult(
        status=run.Status[outcome.status.upper()],
        summary=outcome.summary,
        data=outcome.data,
        data_path=outcome.data_path,
        truncated=outcome.truncated,
        metadata=list(outcome.metadata),
        attachments=[],
    )
