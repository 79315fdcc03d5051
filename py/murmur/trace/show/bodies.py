"""`mur trace show --body`: the bytes behind one content hash.

CLI reference, *Printing one recorded body*; spec/observability.md 10. Every failure is E-TRC-001.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from murmur.core.diagnostics import MurmurError
from murmur.core.safefs import UnsafePath, open_root
from murmur.trace.content import BLOBS
from murmur.trace.lines import TraceLines, started
from murmur.trace.wording import names, text

NAMED: Final = ("system", "tools", "response")
_MESSAGE: Final = re.compile(r"message:([0-9]+)\Z")
_HASH: Final = re.compile(r"[0-9a-f]{8,64}\Z")
_LARGEST_BODY: Final = 1 << 30


def body(path: Path, selector: str, turn: int | None) -> bytes:
    """The body that `selector` names in the trace `path`, read from `blobs/` beside it.

    Raises E-TRC-001 saying what the selector did not name, or that no body was stored.
    """
    lines = TraceLines(path)
    if selector in NAMED or _MESSAGE.match(selector):
        what, digest = _of_turn(lines, selector, turn)
    elif _HASH.match(selector):
        what, digest = _by_prefix(lines, selector)
    else:
        raise lines.refusal(
            f"no body is selected by {selector!r}: use system, tools, response or message:<i> with "
            "--turn, or 8 or more lowercase hex digits of a hash"
        )
    found = stored(path.parent, digest)
    if found is None:
        if (path.parent / BLOBS).is_dir():
            raise lines.refusal(f"{what} {digest}: its body is not in {BLOBS}/ beside the trace")
        raise lines.refusal(f"{what} {digest}: recorded under capture: meta; no body was stored")
    return found


def _of_turn(lines: TraceLines, selector: str, turn: int | None) -> tuple[str, str]:
    refuse = lines.refusal
    found: list[Mapping[str, Any]] = []
    turns: dict[Any, None] = {}
    recorded = False
    for event in started(lines):
        if event.get("event_type") != "inference" or "origin" in event:
            continue
        turns[event.get("turn")] = None
        if turn is not None and event.get("turn") == turn:
            recorded = True
            if event.get("decision") != "error":
                found.append(event)
    if turn is None:
        listed = ", ".join(str(each) for each in turns) or "none"
        raise refuse(f"--turn is required with --body {selector}; this trace has turns {listed}")
    if not recorded:
        raise refuse(f"turn {turn} has no inference record in this trace")
    if len(found) > 1:
        listed = "; ".join(
            f"{text(e, 'task_id')} system {text(e, 'system_sha')} response "
            f"{text(e, 'response_sha')}"
            for e in found
        )
        raise refuse(
            f"--turn {turn} names {len(found)} turns in this trace: {listed}. "
            "Pass one hash to --body instead"
        )
    if not found or "system_sha" not in found[0]:
        why = "the session ran under trace.capture: none" if found else "its only call failed"
        raise refuse(f"turn {turn} recorded no content hashes — {why}")
    return _selected(found[0], selector, turn, refuse)


def _selected(
    event: Mapping[str, Any], selector: str, turn: int, refuse: Callable[[str], MurmurError]
) -> tuple[str, str]:
    message = _MESSAGE.match(selector)
    if message is None:
        what = "system prompt" if selector == "system" else selector
        return f"turn {turn} {what}", text(event, f"{selector}_sha")
    index, messages = int(message.group(1)), names(event, "message_shas")
    if index >= len(messages):
        raise refuse(f"turn {turn} recorded {len(messages)} messages; there is no message {index}")
    return f"turn {turn} message {index}", messages[index]


def _by_prefix(lines: TraceLines, prefix: str) -> tuple[str, str]:
    matches = dict.fromkeys(
        digest for event in started(lines) for digest in hashes(event) if digest.startswith(prefix)
    )
    if not matches:
        raise lines.refusal(f"no hash in this trace matches {prefix}")
    if len(matches) > 1:
        raise lines.refusal(f"{prefix} matches several hashes: {', '.join(matches)}")
    return "hash", next(iter(matches))


def hashes(event: Mapping[str, Any]) -> Iterator[str]:
    """Every content hash that a line records."""
    keys = ("system_prompt_sha256", "system_sha", "tools_sha", "response_sha")
    for key in keys:
        if isinstance(event.get(key), str):
            yield event[key]
    yield from names(event, "message_shas")
    if isinstance(event.get("message_sha256"), str):
        yield event["message_sha256"]


def stored(records: Path, digest: str) -> bytes | None:
    """The body behind a hash in `blobs/` of a records directory; None when it is not there."""
    try:
        with open_root(records) as root, root.sub(BLOBS) as blobs:
            return blobs.read_bytes(digest, _LARGEST_BODY)
    except (OSError, UnsafePath):
        return None
