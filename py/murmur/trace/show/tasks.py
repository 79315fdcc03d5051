"""How tasks ended: Cancelled, Rejected, Failed, Reopens and Tasks."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from murmur.trace.show.section import Listing, Rows, Section
from murmur.trace.show.turns import is_capped
from murmur.trace.wording import duration, names, number, quoted, text, thousands


class Cancelled(Listing):
    """Where each cancel fell, and what was running then."""

    title = "Cancelled"
    events = ("task_canceled",)

    def take(self, event: Mapping[str, Any]) -> None:
        row = f"task_canceled at {text(event, 'phase')}"
        if commands := names(event, "detached_work_ids"):
            row += f"  still running: {', '.join(commands)}"
        if delegations := names(event, "delegation_ids"):
            row += f"  delegations in flight: {', '.join(delegations)}"
        self.rows.add(row)


class Rejected(Listing):
    """Queued tasks that were refused because the session stopped taking work."""

    title = "Rejected"
    events = ("task_rejected",)

    def take(self, event: Mapping[str, Any]) -> None:
        cause, source = text(event, "cause"), text(event, "source")
        self.rows.add(f"task_rejected {text(event, 'task_id')}  {cause}  source {source}")


class Failed(Listing):
    """Each attempt that failed, and why."""

    title = "Failed"
    events = ("task_failed",)

    def take(self, event: Mapping[str, Any]) -> None:
        row = f"task_failed {text(event, 'cause')}  {text(event, 'task_id', '-')}"
        self.rows.add(row + (f"  at turn {event['turn']}" if "turn" in event else ""))
        self.rows.add(f"  reason: {text(event, 'reason', '')}")


class Reopens(Listing):
    """Each time that a finished task was opened again."""

    title = "Reopens"
    events = ("task_reopened",)

    def take(self, event: Mapping[str, Any]) -> None:
        left = number(event, "turns_remaining")
        self.rows.add(
            f"reopen {number(event, 'reopen_number')} by {text(event, 'hook_name')} "
            f"{text(event, 'attempt_context')}, {left} turn{'' if left == 1 else 's'} left "
            f"{quoted(text(event, 'reason', ''))}"
        )


class Tasks(Section):
    """One row a task, where a session ran more than one."""

    title = "Tasks"
    events = ("task_start", "task_end", "inference")

    def __init__(self) -> None:
        self._rows = Rows()
        self._started = self._capped = 0
        self._open: str | None = None

    def take(self, event: Mapping[str, Any]) -> None:
        kind = event["event_type"]
        if kind == "inference":
            self._capped += is_capped(event)
        elif kind == "task_start":
            self._close_unended()
            self._started += 1
            self._capped = 0
            self._open = text(event, "task_id")
        else:
            self._rows.add(self._row(event))
            self._open = None

    def _close_unended(self) -> None:
        if self._open is not None:
            self._rows.add(f"task {self._started}  {self._open[:8]}  no task_end")
            self._open = None

    def _row(self, event: Mapping[str, Any]) -> str:
        row = (
            f"task {self._started}  {text(event, 'task_id')[:8]}  "
            f"turns: {number(event, 'turns')}  in: {thousands(number(event, 'input_tokens'))}  "
            f"out: {thousands(number(event, 'output_tokens'))}  {text(event, 'exit_status')}  "
            f"{duration(number(event, 'duration_ms'))}"
        )
        if reopens := number(event, "reopen_count"):
            row += f"  reopens: {reopens}"
        return row + (f"  capped: {self._capped}" if self._capped else "")

    def body(self) -> Iterable[str]:
        self._close_unended()
        return self._rows if self._started > 1 else ()


class MemberCalls(Section):
    """Every `call-member` call and how it ended."""

    title = "Member calls"
    events = ("member_call_busy", "member_call_start", "member_call")

    def __init__(self) -> None:
        self._calls: dict[str, dict[str, Any]] = {}

    def take(self, event: Mapping[str, Any]) -> None:
        call = self._calls.setdefault(text(event, "call_id"), {"busy": 0})
        call["member"] = text(event, "member")
        if event["event_type"] == "member_call_busy":
            call["busy"] += 1
            return
        if "member_task_id" in event:
            call["task"] = text(event, "member_task_id")
        if event["event_type"] == "member_call":
            call["end"] = event

    def body(self) -> Iterator[str]:
        for call_id, call in self._calls.items():
            end = call.get("end")
            row = [call_id, call["member"], call.get("task", "(not started)")]
            if end is None:
                row.append("outstanding")
            else:
                row.append(f"{text(end, 'status')} {duration(number(end, 'duration_ms'))}")
                if end.get("delivered") is not True:
                    row.append("not delivered")
            if call["busy"]:
                row.append(f"busy \N{MULTIPLICATION SIGN}{call['busy']}")
            if end is not None and (silent := no_answer_below(end)):
                row.append(silent)
            yield "  ".join(row)


def no_answer_below(event: Mapping[str, Any]) -> str:
    """The members further down that gave a call no answer; empty when all did."""
    below = event.get("no_answer_below")
    listed = ", ".join(
        f"{text(each, 'member')} ({text(each, 'status')})"
        for each in (below if isinstance(below, list) else [])
        if isinstance(each, dict)
    )
    return f"no answer below: {listed}" if listed else ""
