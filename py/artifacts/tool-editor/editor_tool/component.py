"""The component: `murmur:tool/run` carried out in the one folder it was given."""

from pathlib import Path

from wit_world import exports
from wit_world.exports import run

from editor_tool.editor import edit


class Run(exports.Run):
    """The export; a fresh instance answers each call."""

    def run(self, input: run.ToolInput) -> run.ToolResult:
        """Carry out one operation."""
        outcome = edit(input.data, Path("."))
        return run.ToolResult(
            status=run.Status[outcome.status.upper()],
            summary=outcome.summary,
            data=outcome.data,
            data_path=None,
            truncated=outcome.truncated,
            metadata=list(outcome.metadata),
            attachments=[],
        )
