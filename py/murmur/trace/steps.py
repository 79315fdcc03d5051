"""`mur trace steps`: what the agent did, turn by turn, as a tree or, for old traces, flat.

CLI reference, *mur trace steps*; spec/observability.md 4. A row hangs where its `parent_id` says;
rows come in file order below the row they hang under, so one pass over the lines suffices: a
turn's products follow it, a task's turns follow the task, and what stands under the session stands
between tasks.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from murmur.core.diagnostics import printable
from murmur.trace.lines import TraceLines, started
from murmur.trace.show.calls import provenance
from murmur.trace.show.turns import provider_status, retry_parts
from murmur.trace.wording import (
    STEP_ERROR_CHARACTERS,
    cut,
    duration,
    mark,
    names,
    number,
    plural,
    short_id,
    text,
    thousands,
)

Event = Mapping[str, Any]
_STRING_CHARACTERS: Final = 60


def steps(path: Path, *, verbose: bool) -> Iterator[str]:
    """The lines of the tree. The file is read twice: once for the header's counts.

    Raises E-TRC-001 as `started`.
    """
    lines = TraceLines(path)
    tasks = turns = 0
    flat = True
    session = ""
    for event in started(lines):
        kind = event.get("event_type")
        flat = flat and "event_id" not in event
        session = session or text(event, "session_id")
        tasks += kind == "task_start"
        turns += kind == "inference" and (event.get("decision") != "error" or "origin" in event)
    counted = plural(turns, "turn")
    whole = counted if flat else f"{plural(tasks, 'task')}, {counted}"
    yield printable(f"Session {session}  ({whole})")
    if lines.torn:
        yield f"line {lines.torn}, the last, is not valid JSON and was skipped"
    yield ""
    rows = _flat(started(lines)) if flat else _tree(started(lines), verbose=verbose)
    for row in rows:
        yield printable(row)


def _flat(events: Iterator[Event]) -> Iterator[str]:
    """One row a turn: number, decision, tool, duration."""
    turn: Event | None = None
    latency = "—"
    for event in events:
        kind = event.get("event_type")
        if kind == "inference" and "origin" not in event:
            if turn is not None:
                yield _flat_row(turn, latency)
            turn, latency = event, "—"
        elif kind == "tool_call" and turn is not None:
            latency = duration(number(event, "duration_ms"))
    if turn is not None:
        yield _flat_row(turn, latency)


def _flat_row(turn: Event, latency: str) -> str:
    decision, tool = text(turn, "decision"), text(turn, "tool_name", "—")
    return f"  {turn.get('turn')}  {decision:<11}  {tool:<10}  {latency}"


class _Depths:
    """How deep the row of each open node stands: the session's at 0, a task's rows at 1."""

    def __init__(self) -> None:
        self._depth: dict[str, int] = {}
        self.task = 0

    def below(self, event: Event) -> int:
        """The depth of a row for this line.

        One whose parent is not in the file is attributed by its `task_id`.
        """
        parent = event.get("parent_id")
        if isinstance(parent, str) and parent in self._depth:
            return self._depth[parent]
        return self.task if event.get("task_id") is not None else 0

    def open(self, event: Event, depth: int) -> None:
        """Rows under this line stand at `depth`."""
        name = event.get("event_id")
        if isinstance(name, str):
            self._depth[name] = depth

    def forget(self) -> None:
        """At a task's start: nothing hangs under earlier tasks and turns any more."""
        keep = {name: depth for name, depth in self._depth.items() if depth == 0}
        self._depth = keep


def _tree(events: Iterator[Event], *, verbose: bool) -> Iterator[str]:
    depths = _Depths()
    first = True
    for event in events:
        kind = event.get("event_type")
        if kind == "session_start":
            depths.open(event, 0)
            continue
        if kind == "task_start":
            depths.forget()
            depths.task = 1
            depths.open(event, 1)
            if not first:
                yield ""
            yield _task_row(event)
        elif kind == "task_end":
            depths.task = 0
        elif kind == "plan_start":
            depth = depths.below(event)
            depths.open(event, depth + 1)
            yield "  " * depth + _ROWS["plan_start"](event)
        elif kind == "inference" and "origin" not in event:
            depth = depths.below(event)
            depths.open(event, depth + 1)
            yield "  " * depth + _turn_row(event)
        elif isinstance(kind, str) and kind in _ROWS:
            row = "  " * depths.below(event) + _ROWS[kind](event)
            if verbose and kind == "tool_call" and (found := _first_string(event.get("input"))):
                row += f'  "{cut(found, _STRING_CHARACTERS)}"'
            yield row
        else:
            continue
        first = False


def _task_row(event: Event) -> str:
    about = text(event, "source")
    if "origin" in event:
        about += f", {text(event, 'origin')}/{text(event, 'trust')}, lane {text(event, 'lane')}"
    ids = f"{short_id(text(event, 'task_id'))}  {short_id(text(event, 'context_id'))}"
    return f"task {ids}  ({about})"


def _turn_row(event: Event) -> str:
    parts = [f"turn {event.get('turn')}", text(event, "decision")]
    if event.get("decision") == "error":
        parts += [text(event, "error_code"), *provider_status(event)]
    elif event.get("tool_name"):
        parts.append(text(event, "tool_name"))
    if number(event, "attempts") > 1:
        parts.append(f"attempts {number(event, 'attempts')}")
    return "  ".join(parts)


def _hook_inference(event: Event) -> str:
    parts = [f"inference {text(event, 'origin')}"]
    if event.get("decision") == "error":
        parts += ["error", text(event, "error_code"), *provider_status(event)]
    if number(event, "attempts") > 1:
        parts.append(f"attempts {number(event, 'attempts')}")
    return "  ".join(parts)


def _call(kind: str, name_key: str) -> Callable[[Event], str]:
    def row(event: Event) -> str:
        latency = duration(number(event, "duration_ms"))
        return (
            f"{kind:<10} {text(event, name_key)}  {latency}  {mark(event.get('status'))}"
            f"{provenance(event, ' ({})')}"
        )

    return row


def _shell(event: Event) -> str:
    code, latency = number(event, "exit_code"), duration(number(event, "duration_ms"))
    return f"{'shell':<10} {text(event, 'binary')}  exit {code}  {latency}"


def _shell_detached(event: Event) -> str:
    return f"shell_detached {text(event, 'work_id')}  {text(event, 'binary')}"


def _shell_completed(event: Event) -> str:
    code, latency = number(event, "exit_code"), duration(number(event, "duration_ms"))
    return (
        f"shell_completed {text(event, 'work_id')}  {text(event, 'binary')}  exit {code}  {latency}"
    )


def _gone(kind: str) -> Callable[[Event], str]:
    def row(event: Event) -> str:
        return f"{kind} {text(event, 'work_id')}  {text(event, 'binary')}"

    return row


def _denied(event: Event) -> str:
    return (
        f"call_denied {text(event, 'event')}  {text(event, 'target')}  "
        f"denied by {text(event, 'hook_name')}"
    )


def _protected(event: Event) -> str:
    return (
        f"protected_path_denied {text(event, 'call')}  {text(event, 'target')}  "
        f"{text(event, 'path')}  read-only by {text(event, 'rule')}"
    )


def _failed(event: Event) -> str:
    reason = cut(text(event, "reason", ""), STEP_ERROR_CHARACTERS)
    return f"task_failed {text(event, 'cause')}  {reason}"


def _continued(event: Event) -> str:
    answers, outcomes = len(names(event, "member_calls")), len(names(event, "delegations"))
    return (
        f"task_continued continuation {number(event, 'continuation_number')}  "
        f"{answers} member answer(s)  {outcomes} delegation outcome(s)  "
        f"waited {duration(number(event, 'waited_ms'))}"
    )


def _seed(event: Event) -> str:
    tokens = thousands(number(event, "tokens"))
    return f"context_seed {text(event, 'hook_name')}  {text(event, 'outcome')}  {tokens} tokens"


def _compaction(event: Event) -> str:
    before, after = (thousands(number(event, f"tokens_{x}")) for x in ("before", "after"))
    return f"compaction {before} → {after} tokens"


def _after(event: Event) -> str:
    waits = names(event, "depends_on")
    return f"  after {', '.join(waits)}" if waits else ""


def _plan_step(event: Event) -> str:
    step, kind, status = (text(event, key) for key in ("step_id", "kind", "status"))
    latency = f"  {duration(number(event, 'duration_ms'))}" if number(event, "attempts") else ""
    return f"{'plan_step':<10} {step}  {kind}  {status}{latency}"


def _plan_end(event: Event) -> str:
    at = f"  failed at {text(event, 'failed_step')}" if "failed_step" in event else ""
    return f"{'plan_end':<10} {text(event, 'outcome')}{at}"


_ROWS: Final[Mapping[str, Callable[[Event], str]]] = {
    "inference": _hook_inference,
    "inference_retry": lambda e: "  ".join(retry_parts(e)),
    "tool_call": _call("tool_call", "tool_name"),
    "skill_call": _call("skill_call", "skill_name"),
    "shell": _shell,
    "shell_detached": _shell_detached,
    "shell_completed": _shell_completed,
    "shell_abandoned": _gone("shell_abandoned"),
    "shell_lost": _gone("shell_lost"),
    "call_denied": _denied,
    "protected_path_denied": _protected,
    "tool_input_refused": lambda e: (
        f"tool_input_refused {text(e, 'tool_name')}  missing {', '.join(names(e, 'missing'))}"
    ),
    "task_failed": _failed,
    "task_canceled": lambda e: f"task_canceled at {text(e, 'phase')}",
    "task_reopened": lambda e: (
        f"task_reopened reopen {number(e, 'reopen_number')}  by {text(e, 'hook_name')}  "
        f"{text(e, 'attempt_context')}"
    ),
    "task_continued": _continued,
    "task_rejected": lambda e: f"task_rejected {text(e, 'cause')}  {short_id(text(e, 'task_id'))}",
    "context_seed": _seed,
    "compaction": _compaction,
    "compaction_declined": lambda e: f"compaction_declined {text(e, 'reason')}",
    "artifact_pulled": lambda e: (
        f"artifact_pulled {text(e, 'name')}@{text(e, 'version')} "
        f"({text(e, 'origin')}/{text(e, 'trust')})"
    ),
    "plan_start": lambda e: (
        f"plan_start {text(e, 'plan_id')}  {plural(number(e, 'step_count'), 'step')}"
    ),
    "plan_step_start": lambda e: (
        f"plan_step_start {text(e, 'step_id')}  {text(e, 'kind')}{_after(e)}"
    ),
    "plan_step": _plan_step,
    "plan_end": _plan_end,
    "spend_ceiling_reached": lambda e: f"spend_ceiling_reached {text(e, 'limit')}",
    "deadline_reached": lambda e: f"deadline_reached {text(e, 'source')}",
}


def _first_string(value: Any) -> str | None:
    """The first string anywhere in a value, depth first."""
    if isinstance(value, str):
        return value
    children = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    )
    return next((found for each in children if (found := _first_string(each)) is not None), None)
