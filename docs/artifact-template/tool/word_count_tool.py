"""Counts the words and lines of a text file."""

import json

from wit_world import exports
from wit_world.exports import run


class Run(exports.Run):
    """What the runtime calls; each call gets a fresh copy of the component."""

    def run(self, input: run.ToolInput) -> run.ToolResult:
        """Answer one call. The working directory is the folder that the tool was granted."""
        path = json.loads(input.data or "{}").get("path")
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        except (OSError, TypeError, UnicodeDecodeError) as problem:
            return answer(run.Status.FAILED, f"{path}: {problem}")
        return answer(run.Status.PASSED, f"{len(text.split())} words, {text.count(chr(10))} lines")


def answer(status: run.Status, text: str) -> run.ToolResult:
    """A result that says `text` to the model and is known to have changed nothing."""
    return run.ToolResult(
        status=status,
        summary=None,
        data=text,
        data_path=None,
        truncated=False,
        metadata=[("state_effect", "read")],
        attachments=[],
    )
