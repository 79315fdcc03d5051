"""What left the session or came to it: resources, peer files, delegations, A2A; and plans."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from murmur.trace.show.section import Section, labelled
from murmur.trace.wording import duration, names, number, plural, text

_CALLERS: Final = ("operator", "member", "credential", "public")


class _Outcomes(Section):
    """Counts by outcome, a row for each kind of line."""

    def __init__(self) -> None:
        self._outcomes: dict[str, Counter[str]] = {}

    def take(self, event: Mapping[str, Any]) -> None:
        kind = self._outcomes.setdefault(event["event_type"], Counter())
        kind[text(event, "outcome")] += 1

    def body(self) -> Iterator[str]:
        for kind in self.events:
            if kind in self._outcomes:
                counts = (f"{name} {count}" for name, count in self._outcomes[kind].most_common())
                yield f"{kind}  {', '.join(counts)}"


class ResourcePlane(_Outcomes):
    """What an operator listed and read through the door."""

    title = "Resource plane"
    events = ("resource_list", "resource_read")


class PeerFiles(_Outcomes):
    """Files handed to and taken from peers."""

    title = "Peer files"
    events = ("peer_handle_mint", "peer_handle_redeem", "peer_file_fetch")


class Delegations(Section):
    """Every capsule that a task was handed to, and what came of it."""

    title = "Delegations"
    events = ("delegation_start", "delegation")

    def __init__(self) -> None:
        self._starts: dict[str, Mapping[str, Any]] = {}
        self._ends: dict[str, Mapping[str, Any]] = {}

    def take(self, event: Mapping[str, Any]) -> None:
        fallback = f"(not started {len(self._ends) + 1})"
        table = self._starts if event["event_type"] == "delegation_start" else self._ends
        table[text(event, "delegation_id", fallback)] = event

    def body(self) -> Iterator[str]:
        for name in dict.fromkeys([*self._starts, *self._ends]):
            start, end = self._starts.get(name), self._ends.get(name)
            about = start or end or {}
            child = text(start or {}, "child_session_id", text(end or {}, "child_session_id", "-"))
            outcome = "in flight" if end is None else text(end, "outcome")
            row = f"{name}  {text(about, 'capsule')}@{text(about, 'version')}  {child}  {outcome}"
            if end is not None and end.get("reason") is not None:
                row += f"  {text(end, 'reason')}"
            yield row
            if start is not None and "child_records_dir" in start:
                yield f"  child trace: {text(start, 'child_records_dir')}/trace.jsonl"


class A2A(Section):
    """Tasks that the door let in, by who sent them, and messages sent to peers."""

    title = "A2A"
    events = ("a2a_task_received", "a2a_send")

    def __init__(self) -> None:
        self._callers: Counter[str] = Counter()
        self._sent = 0
        self._peers: dict[str, None] = {}

    def take(self, event: Mapping[str, Any]) -> None:
        if event["event_type"] == "a2a_send":
            self._sent += 1
            self._peers[text(event, "peer_url")] = None
            return
        caller = text(event, "caller", "member" if "caller_member" in event else "")
        self._callers[caller if caller in _CALLERS else "unknown caller"] += 1

    def body(self) -> Iterator[str]:
        if received := self._callers.total():
            kinds = ", ".join(f"{kind} {count}" for kind, count in self._callers.most_common())
            yield labelled("received", f"{plural(received, 'task')} — {kinds}")
        if self._sent:
            yield labelled("sent", plural(self._sent, "message"))
            yield labelled("peers", ", ".join(self._peers))


class Plans(Section):
    """Every plan run, its steps in the order the plan declared them."""

    title = "Plan"
    events = ("plan_start", "plan_step", "plan_end")

    def __init__(self) -> None:
        self._plans: dict[str, dict[str, Any]] = {}

    def take(self, event: Mapping[str, Any]) -> None:
        plan = self._plans.setdefault(
            text(event, "plan_id", ""), {"declared": {}, "settled": {}, "end": None}
        )
        kind = event["event_type"]
        if kind == "plan_start":
            steps = event.get("steps")
            for step in steps if isinstance(steps, list) else []:
                if isinstance(step, dict):
                    plan["declared"][text(step, "step_id")] = step
        elif kind == "plan_step":
            plan["settled"][text(event, "step_id")] = event
        else:
            plan["end"] = event

    def body(self) -> Iterator[str]:
        for name, plan in self._plans.items():
            yield _plan_row(name, plan["end"])
            for step in dict.fromkeys([*plan["declared"], *plan["settled"]]):
                yield from _step_rows(
                    step, plan["declared"].get(step, {}), plan["settled"].get(step)
                )


def _plan_row(name: str, end: Mapping[str, Any] | None) -> str:
    shown = name or "(unparsed)"
    if end is None:
        return f"{shown}  no plan_end"
    totals = ", ".join(
        f"{number(end, f'steps_{status}')} {status}"
        for status in ("succeeded", "failed", "skipped")
    )
    row = (
        f"{shown}  {text(end, 'outcome')}  {duration(number(end, 'duration_ms'))}  "
        f"{number(end, 'steps_total')} steps: {totals}"
    )
    if "failed_step" in end:
        row += f"  ended at {text(end, 'failed_step')}"
    return row + (f"  {text(end, 'reason')}" if "reason" in end else "")


def _step_rows(
    step: str, declared: Mapping[str, Any], settled: Mapping[str, Any] | None
) -> Iterator[str]:
    kind = text(declared, "kind", text(settled or {}, "kind"))
    waits = names(declared, "depends_on")
    after = f"  after {', '.join(waits)}" if waits else ""
    conditional = "  conditional" if declared.get("has_condition") is True else ""
    if settled is None:
        yield f"  {step}  {kind}  not run{after}{conditional}"
        return
    attempts = number(settled, "attempts")
    tried = f"  {attempts} attempts" if attempts > 1 else ""
    latency = duration(number(settled, "duration_ms"))
    yield f"  {step}  {kind}  {text(settled, 'status')}  {latency}{tried}{after}{conditional}"
    if "error" in settled:
        yield f"    {text(settled, 'error')}"
