"""Which entry answers a request, and the answer it gives (design/decisions.md 6)."""

import json
import re
import time
from collections.abc import Mapping

from murmur_guest.exchange import (
    Answer,
    Block,
    DriverError,
    Progress,
    Request,
    failure,
    read_config,
    text_block,
    thinking_block,
    tool_call_block,
)

from replay_driver.script import Entry, Script, When, read_script

QUOTED_CHARACTERS = 2000


def answer(request: Request, environment: Mapping[str, str], progress: Progress) -> Answer:
    """Answer one request from the script in MURMUR_ARTIFACT_CONFIG."""
    script = read_script(read_config(environment, "MURMUR_ARTIFACT_CONFIG"))
    entry = choose(script, request)
    newest = _newest(request)
    if entry.expect is not None and not entry.expect.search(newest):
        return failure(
            f"driver: {entry.label} expects the newest message to match "
            f'"{entry.expect.pattern}", and it is "{newest[:QUOTED_CHARACTERS]}"'
        )
    if entry.delay_ms:
        time.sleep(entry.delay_ms / 1000)
    for piece in entry.stream:
        progress.text(piece)
    return Answer(
        stop_reason=entry.stop_reason,
        content=_content(entry, request, progress),
        error=entry.error if entry.stop_reason == "error" else None,
        usage=entry.usage,
    )


def choose(script: Script, request: Request) -> Entry:
    """The first entry whose `when` matches, else the one whose turn it is."""
    newest = _newest(request)
    for entry in script.entries:
        if entry.when is not None and _matches(entry.when, request.system or "", newest):
            return entry
    in_turn = [entry for entry in script.entries if entry.when is None]
    turn = sum(1 for message in request.messages if message.role == "assistant")
    if turn < len(in_turn):
        return in_turn[turn]
    if in_turn and script.on_exhausted == "repeat_last":
        return in_turn[-1]
    raise DriverError(
        f"driver: the script is exhausted: turn {turn + 1} was asked for, "
        f"and {len(in_turn)} are scripted"
    )


def _matches(when: When, system: str, newest: str) -> bool:
    return _found(when.system, system) and _found(when.newest, newest)


def _found(pattern: re.Pattern[str] | None, text: str) -> bool:
    return pattern is None or pattern.search(text) is not None


def _newest(request: Request) -> str:
    return request.messages[-1].text if request.messages else ""


def _content(entry: Entry, request: Request, progress: Progress) -> tuple[Block, ...]:
    content: list[Block] = []
    if entry.thinking is not None:
        content.append(thinking_block(entry.thinking))
    if entry.text is not None:
        content.append(text_block(entry.text))
    taken = {
        block.get("id")
        for message in request.messages
        for block in message.content
        if block["type"] == "tool_call"
    }
    number = len(taken)
    for call in entry.tool_calls:
        number += 1
        while f"call_{number}" in taken:
            number += 1
        call_id = f"call_{number}"
        progress.tool_call_started(call_id, call.name)
        size = len(json.dumps(call.input, ensure_ascii=False, separators=(",", ":")).encode())
        progress.tool_call_input_bytes(call_id, size)
        content.append(tool_call_block(call_id, call.name, call.input))
    return tuple(content)
