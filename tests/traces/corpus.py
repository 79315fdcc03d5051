"""Traces that hold every event of the catalogue, made from the catalogue itself.

A field's value tells its event and field, so that a column that shows the wrong one is seen. A new
event is in the corpus the moment it is in the catalogue.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from murmur.trace.catalogue import Event, Field, Kind, Parent, Presence
from murmur.trace.events import EVENTS

SESSION: Final = "ses_019f01a940ce7761854e768ecbe3d399"
START_MS: Final = 1_790_000_000_000
_TASK_ID: Final = "tsk_11112222333344445555666677778888"
_FIXED: Final[dict[str, Any]] = {
    "task_id": _TASK_ID,
    "context_id": "ctx_11112222333344445555666677778888",
    "turn": 3,
    "plan_id": "release",
    "step_id": "build",
    "call_id": "mcl_019f01a9512a7b3c8d9e0f1a2b3c4d5e",
    "delegation_id": "dlg_019f01a9512a7b3c8d9e0f1a2b3c4d5e",
    "duration_ms": 1234,
    "timestamp": START_MS,
}
_FIRST: Final = ("session_start", "a2a_task_received", "task_start", "inference")
_LAST: Final = ("task_end", "session_end")

# What an event's own rule does not allow beside the rest: a loop's successful call is no hook's and
# no failed one.
_APART: Final = {
    "inference": ("origin", "error", "error_code", "provider_status", "retry_stopped"),
    "inference_retry": ("reason",),
}


def _order() -> list[Event]:
    """Every event once: the frame around, the rest by name between."""
    between = sorted(name for name in EVENTS if name not in (*_FIRST, *_LAST))
    # A step settles after it was dispatched, and a plan ends after its steps.
    rank = {"plan_start": 0, "plan_step_start": 1, "plan_step": 2, "plan_end": 3}
    between.sort(key=lambda name: ("plan_" if name in rank else name, rank.get(name, 0)))
    return [EVENTS[name] for name in (*_FIRST, *between, *_LAST)]


def _value(event: Event, field: Field) -> Any:
    if field.values:
        return field.values[0]
    if field.name in _FIXED:
        return _FIXED[field.name]
    if field.name.endswith("_sha") or field.name.endswith("sha256"):
        return f"{hash_of(field.name):064x}"[::-1]
    if field.name == "message_shas":
        return [f"{hash_of(field.name + str(at)):064x}"[::-1] for at in range(2)]
    sample = f"{event.name}.{field.name}"
    return {
        Kind.TEXT: sample,
        Kind.TEXTS: [f"{sample}.0", f"{sample}.1"],
        Kind.BOOL: True,
        Kind.OBJECT: {"of": sample},
        Kind.OBJECTS: [{"name": sample, "version": "1", "member": "m", "status": "s"}],
        Kind.FREE: {"path": sample},
    }.get(field.kind, 100 + len(field.name))


def hash_of(text: str) -> int:
    """A number that tells a text; the same in every process."""
    number = 7
    for character in text:
        number = (number * 31 + ord(character)) % (1 << 255)
    return number


def _payload(event: Event, *, whole: bool) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for field in event.fields:
        if field.presence is Presence.ALWAYS or whole:
            made[field.name] = _value(event, field)
        elif field.presence is Presence.NULLABLE:
            made[field.name] = None
    if event.name == "plan_start":
        kinds = {"kind": "tool", "depends_on": ["fetch"], "has_condition": whole}
        made["steps"] = [{"step_id": name, **kinds} for name in ("build", "ship")]
    for key in _APART.get(event.name, ()):
        made.pop(key, None)
    if event.name == "inference_retry" and not whole:
        made["reason"] = "connection"
    return made


def _parent(event: Event, ids: dict[str, str]) -> str | None:
    if event.parent is Parent.NONE:
        return None
    kind = {Parent.TASK: "task", Parent.TURN: "turn", Parent.PLAN: "plan"}.get(event.parent)
    return ids.get(kind or "session", ids["session"])


def lines(*, whole: bool) -> Iterator[str]:
    """The lines of a trace; `whole` says whether optional fields are there."""
    ids: dict[str, str] = {}
    for at, event in enumerate(_order()):
        event_id = f"evt_{at:032x}"
        if event.name == "session_start":
            ids["session"] = event_id
        head = {
            "event_type": event.name,
            "event_id": event_id,
            "parent_id": _parent(event, ids),
            "session_id": SESSION,
            "timestamp": START_MS + at * 50,
        }
        node = {"task_start": "task", "inference": "turn", "plan_start": "plan"}.get(event.name)
        if node is not None:
            ids[node] = event_id
        payload = _payload(event, whole=whole)
        if event.name not in ("session_start",):
            checked = {k: v for k, v in payload.items() if v is not None}
            event.payload(checked)
        yield json.dumps({**head, **payload}, ensure_ascii=False, separators=(",", ":"))


def write_corpus(folder: Path) -> dict[str, Path]:
    """Four traces by name: every field, no optional field, killed, and torn in its last line."""
    whole, bare = list(lines(whole=True)), list(lines(whole=False))
    texts = {
        "whole": whole,
        "bare": bare,
        "killed": whole[:-2],
        "torn": [*whole[:-2], whole[-2][:40]],
    }
    paths = {}
    for name, rows in texts.items():
        path = folder / name / SESSION / "trace.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text("\n".join(rows) + ("" if name == "torn" else "\n"))
        paths[name] = path
    return paths
