"""The events that hooks are handed, under the names of `murmur:hook/lifecycle`.

spec/artifacts.md 4. Counts are in tokens, sizes in bytes, times in milliseconds.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from murmur.core.tasks import Task
from murmur.inference.driver import Answered
from murmur.inference.payload import TurnRequest
from murmur.inference.reply import Turn
from murmur.session.hooks.messages import to_hook
from murmur.session.shell_text import ShellCommand

Event = dict[str, Any]

COMMAND_CHARACTERS: Final = 200


def stage_event(shell_allow: Sequence[str]) -> Event:
    return {"shell-allow": list(shell_allow)}


def session_context(
    name: str, version: str, session_id: str, model: str, capabilities: Sequence[str]
) -> Event:
    return {
        "capsule-name": name,
        "capsule-version": version,
        "session-id": session_id,
        "model": model,
        "capabilities": list(capabilities),
    }


def task_start_event(
    task: Task, source: str, *, budget: int, window: int | None, prior: int
) -> Event:
    """`budget` is the seed's ceiling, 0 where there is none; `prior` what loaded history takes."""
    return {
        "task-id": task.id,
        "context-id": task.context_id,
        "source": source,
        "input-bytes": len(task.text.encode("utf-8", "replace")),
        "budget-tokens": budget,
        "context-window": window or 0,
        "prior-tokens": prior,
    }


def task_end_event(task_id: str, exit_status: str) -> Event:
    return {"task-id": task_id, "exit-status": exit_status}


def inference_event(turn: int, request: TurnRequest, answered: Answered, result: Turn) -> Event:
    """`prompt` and `tools` are the JSON text of what was sent, `output` the driver's response."""
    return {
        "turn": turn,
        "input-tokens": answered.input_tokens,
        "output-tokens": answered.output_tokens or 0,
        "decision": result.decision,
        "tool-name": result.tool_calls[0].name if result.tool_calls else None,
        "prompt": request.messages_text(),
        "output": result.raw,
        "tools": compact(list(request.tools)),
    }


def harness_event(
    turn: int, tokens: tuple[int, int], decision: str, tool_name: str | None, content: object
) -> Event:
    """A turn that a harness made: what it was sent, and of which tools, the harness alone knows."""
    return {
        "turn": turn,
        "input-tokens": tokens[0],
        "output-tokens": tokens[1],
        "decision": decision,
        "tool-name": tool_name,
        "prompt": None,
        "output": compact(content),
        "tools": None,
    }


def tool_event(turn: int, name: str, given: Mapping[str, Any]) -> Event:
    """A tool call about to be made; `with_outcome` makes it one that was."""
    text = compact(given)
    return {
        "turn": turn,
        "tool-name": name,
        "input-bytes": len(text.encode("utf-8", "replace")),
        "input": whole(text),
        "outcome": None,
    }


def tool_outcome(text: str, duration_ms: int, *, is_error: bool) -> Event:
    return {
        "output-bytes": len(text.encode("utf-8", "replace")),
        "duration-ms": duration_ms,
        "status": "error" if is_error else "ok",
    }


def shell_event(turn: int, binary: str, command: ShellCommand, recipe: str | None) -> Event:
    """A command about to be run; `binary` is its resolved path, else the bare name."""
    script = command.argv[2] if tuple(command.argv[1:2]) == ("-c",) else None
    return {
        "turn": turn,
        "binary": whole(binary),
        "command": whole(command.line[:COMMAND_CHARACTERS]),
        "argv": [whole(word) for word in command.argv],
        "script": script if script is None else whole(script),
        "recipe": recipe,
        "outcome": None,
    }


def shell_outcome(exit_code: int, stdout: bytes, stderr: bytes, duration_ms: int) -> Event:
    return {
        "exit-code": exit_code,
        "stdout": stdout.decode("utf-8", "replace"),
        "stderr": stderr.decode("utf-8", "replace"),
        "stdout-bytes": len(stdout),
        "stderr-bytes": len(stderr),
        "duration-ms": duration_ms,
    }


def with_outcome(event: Event, outcome: Event) -> Event:
    """The event of a call that has been made."""
    return {**event, "outcome": outcome}


def compaction_event(
    messages: Sequence[Mapping[str, Any]],
    occupancy: int,
    ratio: float,
    model: str | None,
    system_prompt: str | None,
) -> Event:
    """`ratio` is the measured share of the input budget, not the manifest's threshold."""
    return {
        "messages": [to_hook(message) for message in messages],
        "session-tokens": occupancy,
        "threshold": ratio,
        "model": model,
        "system-prompt": system_prompt,
    }


def session_end_event(totals: Mapping[str, int], duration_ms: int, exit_status: str) -> Event:
    """`totals` are the counter fields of the `session_end` line."""
    counted = {name.replace("_", "-"): count for name, count in totals.items()}
    return {**counted, "duration-ms": duration_ms, "exit-status": exit_status}


def compact(value: object) -> str:
    """Compact JSON, key order kept."""
    return whole(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def whole(text: str) -> str:
    """The text without halves of characters, which no component takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
