"""`mur trace script`: a recorded session as a script that `driver-replay` answers from.

design/decisions.md 6. The session must have been recorded with `trace.capture: content`; the raw
answers of its driver are read from `blobs/`. An entry is chosen by the number of assistant messages
in the request; where a session ran several tasks, whose requests start over, each entry names the
newest message of its request instead.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from murmur.trace.lines import TraceLines, started
from murmur.trace.show.bodies import stored
from murmur.trace.wording import names, text

_USAGE: Final = {
    "input_tokens_actual": "input_tokens",
    "output_tokens_actual": "output_tokens",
    "cached_tokens": "cached_tokens",
    "cache_write_tokens": "cache_write_tokens",
    "thinking_tokens": "thinking_tokens",
}


def script(path: Path) -> Iterator[str]:
    """The script's lines, one entry each.

    Raises E-TRC-001 as `started`, for a session without a turn, and for one whose bodies were not
    stored.
    """
    lines = TraceLines(path)
    tasks = sum(event.get("event_type") == "task_start" for event in started(lines))
    failed: Mapping[str, Any] | None = None
    entries = 0
    for event in started(lines):
        kind = event.get("event_type")
        if kind == "task_end" and failed is not None:
            yield _line({"error": text(failed, "error", "the call failed")})
        if kind in ("task_start", "task_end"):
            failed = None
        if kind != "inference" or "origin" in event:
            continue
        failed = event if event.get("decision") == "error" else None
        if failed is None:
            entries += 1
            yield _line(_entry(lines, event, several=tasks > 1))
    if not entries:
        raise lines.refusal("no turn of it was answered, so there is nothing to replay")


def _line(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":"))


def _entry(lines: TraceLines, event: Mapping[str, Any], *, several: bool) -> dict[str, Any]:
    turn = event.get("turn")
    answer = _body(lines, text(event, "response_sha", ""), f"turn {turn}'s answer")
    entry: dict[str, Any] = {}
    if several:
        shas = names(event, "message_shas")
        newest = _body(lines, shas[-1] if shas else "", f"turn {turn}'s newest message")
        entry["when"] = {"newest": rf"\A{re.escape(_texts(newest))}\Z"}
    blocks = [each for each in _blocks(answer) if isinstance(each, dict)]
    for kind, key in (("thinking", "thinking"), ("text", "text")):
        found = [text(block, "text", "") for block in blocks if block.get("type") == kind]
        if found:
            entry[key] = "\n".join(found)
    calls = [
        {"name": text(block, "name"), "input": block.get("input", {})}
        for block in blocks
        if block.get("type") == "tool_call"
    ]
    if calls:
        entry["tool_calls"] = calls
    stop = answer.get("stop_reason") if isinstance(answer, dict) else None
    if stop != ("tool_call" if calls else "end_turn") and isinstance(stop, str):
        entry["stop_reason"] = stop
    usage = {name: event[key] for key, name in _USAGE.items() if key in event}
    if usage:
        entry["usage"] = usage
    return entry


def _body(lines: TraceLines, digest: str, what: str) -> Any:
    data = stored(lines.path.parent, digest) if digest else None
    if data is None:
        raise lines.refusal(
            f"{what} was not stored; record the session with trace.capture: content"
        )
    try:
        return json.loads(data)
    except ValueError:
        raise lines.refusal(f"{what} is no JSON") from None


def _blocks(message: Any) -> list[Any]:
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, list) else []


def _texts(message: Any) -> str:
    """A message's text as `driver-replay` matches it: its text blocks joined."""
    return "\n".join(
        text(block, "text", "")
        for block in _blocks(message)
        if isinstance(block, dict) and block.get("type") == "text"
    )
