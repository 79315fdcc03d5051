"""The component: the host's git by `murmur:process`, held to the rules of a command."""

import os
from collections.abc import Sequence

from componentize_py_types import Err
from murmur_tooling.component import tool_result
from murmur_tooling.members import ToolError
from wit_world import exports
from wit_world.exports import run
from wit_world.imports import process

from git_tool.calls import carry_out
from git_tool.program import Finished


class Run(exports.Run):
    """The export; a fresh instance answers each call."""

    def run(self, input: run.ToolInput) -> run.ToolResult:
        """Carry out one operation."""
        return tool_result(carry_out(input.data, os.environ, _run_git))


def _run_git(arguments: Sequence[str], given: bytes | None) -> Finished:
    try:
        ended = process.run("git", list(arguments), given)
    except Err as refused:
        raise _refusal(refused.value) from None
    code = ended.exit_code if ended.exit_code is not None else 128 + (ended.signal or 0)
    stdout, stderr = (text.decode("utf-8", "replace") for text in (ended.stdout, ended.stderr))
    return Finished(code, stdout, stderr, ended.truncated)


def _refusal(failure: process.Failure) -> ToolError:
    if isinstance(failure, process.Failure_Failed):
        return ToolError("git_failed", f"git could not be run: {failure.value}")
    if failure.value.rule == "capabilities.shell.allow":
        return ToolError(
            "git_not_allowed",
            f"{failure.value.reason}: the operator lists git in capabilities.shell.allow, and the "
            "host has it on PATH",
        )
    return ToolError("refused", f"{failure.value.rule}: {failure.value.reason}")
