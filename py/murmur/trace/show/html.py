"""`mur trace show --html`: one self-contained page of a session, readable without a network.

design/decisions.md 12 (this project's own). The page's markup and script stand in `session.html`;
what is put into it is one JSON object, escaped so that nothing recorded can end its element. Bodies
are there when they were captured, each once and cut to a length that a browser still shows.
"""

import json
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from murmur.trace.figures import Figures
from murmur.trace.lines import TraceLines, started
from murmur.trace.show.bodies import stored
from murmur.trace.show.frame import SessionSection
from murmur.trace.wording import (
    compact,
    cut,
    names,
    number,
    short_hash,
    short_id,
    text,
    thousands,
)

Event = Mapping[str, Any]
_BODY_CHARACTERS: Final = 200_000
_DETAIL_CHARACTERS: Final = 400


def page(path: Path) -> str:
    """The whole page. Raises E-TRC-001 as `started`."""
    figures = Figures()
    bodies = _Bodies(path.parent)
    items: list[dict[str, Any]] = []
    turns: list[dict[str, Any]] = []
    lines = TraceLines(path)
    newest = 0
    for event in started(lines):
        figures.take(event)
        at = max(figures.last_ms - figures.first_ms, 0)
        item = _item(event, at, newest, bodies)
        if item is not None:
            items.append(item)
        newest = at
        if event.get("event_type") == "inference" and "input_tokens" in event:
            counts = {
                "input": number(event, "input_tokens"),
                "output": number(event, "output_tokens"),
            }
            turns.append({"turn": number(event, "turn"), **counts})
    session = SessionSection(figures)
    session.torn_line = lines.torn
    start = figures.start or {}
    data = {
        "name": f"{text(start, 'capsule_name')} · {text(start, 'session_id')}",
        "facts": [_fact(row) for row in session.body()],
        "span": max(figures.last_ms - figures.first_ms, 0),
        "items": items,
        "turns": turns,
        "bodies": bodies.texts,
    }
    template = files("murmur.trace.show").joinpath("session.html").read_text(encoding="utf-8")
    return template.replace("@DATA@", _embedded(data), 1)


def _embedded(data: Any) -> str:
    """JSON that cannot end the element it stands in, nor open another."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _fact(row: str) -> list[str]:
    label, _, value = row.partition(":")
    return [label.strip(), value.strip()]


class _Bodies:
    """Captured bodies by hash, each read once."""

    def __init__(self, records: Path) -> None:
        self._records = records
        self.texts: dict[str, str] = {}

    def named(self, label: str, digest: str) -> list[list[str]]:
        """The label and the hash, when the body was captured."""
        if digest not in self.texts:
            data = stored(self._records, digest)
            if data is None:
                return []
            self.texts[digest] = cut(data.decode("utf-8", "replace"), _BODY_CHARACTERS)
        return [[label, digest]]

    def given(self, label: str, event: Event, key: str) -> list[list[str]]:
        """A text that stands on the line itself, kept like a body."""
        value = event.get(key)
        if value in (None, "", {}, []):
            return []
        shown = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
        name = f"{event.get('event_id')}/{key}"
        self.texts[name] = cut(shown, _BODY_CHARACTERS)
        return [[label, name]]


def _item(event: Event, at: int, newest: int, bodies: _Bodies) -> dict[str, Any] | None:
    kind = event.get("event_type")
    describe = _DESCRIBED.get(kind) if isinstance(kind, str) else None
    if describe is None:
        return None
    shown, label, detail, held = describe(event, bodies)
    took = number(event, "duration_ms")
    if kind == "inference":
        took = at - newest  # no line says when a call began; it began after the line before
    return {
        "at": at,
        "took": min(max(took, 0), at) if kind != "task_end" else 0,
        "kind": shown,
        "label": label,
        "detail": cut(detail, _DETAIL_CHARACTERS),
        "ok": shown not in ("refusal", "failure") and event.get("status", "ok") == "ok",
        "bodies": held,
    }


_Description = tuple[str, str, str, list[list[str]]]


def _inference(event: Event, bodies: _Bodies) -> _Description:
    turn = f"turn {event.get('turn')}"
    if "origin" in event:
        turn = f"{text(event, 'origin')} at {turn}"
    if event.get("decision") == "error":
        held = bodies.given("error", event, "error")
        return "failure", f"{turn}: {text(event, 'error_code')}", "", held
    held = bodies.named("system prompt", text(event, "system_sha", ""))
    held += bodies.named("tools", text(event, "tools_sha", ""))
    for index, digest in enumerate(names(event, "message_shas")):
        held += bodies.named(f"message {index}  {short_hash(digest)}", digest)
    held += bodies.named("response", text(event, "response_sha", ""))
    figures = ", ".join(
        f"{thousands(number(event, key))} {label}"
        for key, label in (("input_tokens", "in"), ("output_tokens", "out"))
        if key in event
    )
    return "model", f"{turn}: {text(event, 'decision')}", figures, held


def _tool(event: Event, bodies: _Bodies) -> _Description:
    held = bodies.given("input", event, "input") + bodies.given("output", event, "output")
    return "tool", text(event, "tool_name"), compact(event.get("input")), held


def _shell(event: Event, bodies: _Bodies) -> _Description:
    held = bodies.given("command", event, "command")
    code = f"exit {number(event, 'exit_code')}" if "exit_code" in event else ""
    kind = "shell" if number(event, "exit_code") == 0 else "failure"
    return kind, f"{text(event, 'event_type')} {text(event, 'binary')}", code, held


def _plain(
    kind: str, label: Callable[[Event], str], body: str = ""
) -> Callable[[Event, _Bodies], _Description]:
    def describe(event: Event, bodies: _Bodies) -> _Description:
        held = bodies.given(body, event, body) if body else []
        return kind, label(event), "", held

    return describe


def _tokens_change(event: Event) -> str:
    before, after = (thousands(number(event, f"tokens_{x}")) for x in ("before", "after"))
    return f"compaction: {before} → {after} tokens"


_DESCRIBED: Final[Mapping[str, Callable[[Event, _Bodies], _Description]]] = {
    "task_start": _plain("task", lambda e: f"task {short_id(text(e, 'task_id'))} starts"),
    "task_end": _plain(
        "task", lambda e: f"task {short_id(text(e, 'task_id'))} ends: {text(e, 'exit_status')}"
    ),
    "task_failed": _plain("failure", lambda e: f"task failed: {text(e, 'cause')}", "reason"),
    "task_canceled": _plain("failure", lambda e: f"task canceled at {text(e, 'phase')}"),
    "task_rejected": _plain("failure", lambda e: f"task rejected: {text(e, 'cause')}", "reason"),
    "task_reopened": _plain("task", lambda e: f"reopened by {text(e, 'hook_name')}", "reason"),
    "inference": _inference,
    "tool_call": _tool,
    "shell": _shell,
    "shell_detached": _shell,
    "shell_completed": _shell,
    "skill_call": _plain("skill", lambda e: text(e, "skill_name")),
    "call_denied": _plain(
        "refusal", lambda e: f"{text(e, 'target')} denied by {text(e, 'hook_name')}", "reason"
    ),
    "protected_path_denied": _plain(
        "refusal", lambda e: f"{text(e, 'path')} is read-only for {text(e, 'target')}", "reason"
    ),
    "tool_input_refused": _plain(
        "refusal", lambda e: f"{text(e, 'tool_name')} refused: missing fields", "reason"
    ),
    "spend_ceiling_reached": _plain(
        "refusal", lambda e: f"{text(e, 'limit')} spend ceiling reached"
    ),
    "deadline_reached": _plain("failure", lambda e: f"{text(e, 'source')} deadline reached"),
    "compaction": _plain("context", _tokens_change),
    "compaction_declined": _plain("context", lambda e: f"compaction declined: {text(e, 'reason')}"),
    "context_seed": _plain(
        "context", lambda e: f"context from {text(e, 'hook_name')}: {text(e, 'outcome')}"
    ),
}
