"""What is said about commands in the background: to the agent, and to the operator at the end.

spec/sessions.md 14.4; spec/containment.md 21 for the line about a limit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from murmur.session.background import Detached


def limit_line(key: str) -> str:
    """The line that says which limit the kernel enforced, and what helps."""
    return (
        f"resource_limit: {key}\nThe command met this limit. Let it need less, or ask the operator "
        f"to raise capabilities.resources.{key}."
    )


def detached_text(work_id: str, log: str) -> str:
    """What the turn reads of a command that was moved to the background."""
    return (
        f"The command still runs, in the background now, as {work_id}.\n"
        f"Its output goes to {log}.\n"
        f"Ask background-command about it (status, wait, stop). If its end has not been read by "
        f"the end of this task, a task of its own will tell of it, as long as the session lives."
    )


def completion_text(detached: "Detached", records_path: str) -> str:
    """The text of the task that tells how a command ended: code and log, never its output."""
    result = detached.result
    assert result is not None
    lines = [
        f"The background command {detached.work_id} has ended.",
        "",
        f"command: {detached.command}",
        f"exit code: {result.exit_code}",
        f"duration: {result.duration_ms} ms",
        _log_line(detached, records_path),
    ]
    if result.set_up_failure is not None:
        lines.append(f"wait_error: {result.set_up_failure}")
    if result.resource_limit is not None:
        lines.append(limit_line(result.resource_limit))
    return "\n".join(lines)


def _log_line(detached: "Detached", records_path: str) -> str:
    line = f"output: {records_path}/{detached.log} ({detached.output.written} bytes)"
    lost = detached.output.lost
    return line if lost is None else f"{line}, not all of it: {lost}"


def abandoned_report(session_id: str, left: Sequence["Detached"], records_path: str) -> str:
    """The one report about commands whose end reached nobody, one paragraph each."""
    count = "1 background command" if len(left) == 1 else f"{len(left)} background commands"
    parts = [
        f"[capsule-runtime] {count} ended with the session.",
        f"Session {session_id} is over, and nobody was told how the commands below ended. One that "
        f"still runs is killed now.",
    ]
    parts += [_abandoned(each, records_path) for each in left]
    parts.append(
        "A session with lifecycle.task_acceptance: queue and lifecycle.after_task: sleep outlives "
        "its task, and is told instead."
    )
    return "\n\n".join(parts)


def _abandoned(each: "Detached", records_path: str) -> str:
    result = each.result
    lines = [f"work_id: {each.work_id}", f"binary: {each.binary}", f"command: {each.command}"]
    if result is None:
        lines.append(f"state: still running after {each.elapsed_ms} ms")
        lines.append(f"result: none; {_log_line(each, records_path)}")
        return "\n".join(lines)
    lines.append(f"state: ended after {result.duration_ms} ms, before a task could tell of it")
    lines.append(f"status: {'ok' if each.ok else 'error'}")
    lines.append(f"exit_code: {result.exit_code}")
    if result.resource_limit is not None:
        lines.append(f"resource_limit: {result.resource_limit}")
    if result.set_up_failure is not None:
        lines.append(f"wait_error: {result.set_up_failure}")
    lines.append(_log_line(each, records_path))
    return "\n".join(lines)
