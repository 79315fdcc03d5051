"""Tool calls, redundant calls, skills, pulls, commands, and what was refused."""

from collections.abc import Iterator, Mapping
from typing import Any

from murmur.trace.figures import Calls, Figures
from murmur.trace.redundancy import ReadHistory
from murmur.trace.show.section import Listing, Rows, Section, labelled
from murmur.trace.wording import (
    INPUT_CHARACTERS,
    compact,
    cut,
    duration,
    mark,
    number,
    quoted,
    text,
)


def _summary(calls: Calls) -> Iterator[str]:
    """Count, breakdown, success rate and latency of calls that end ok or in an error."""
    if not calls.count:
        yield labelled("count", "0")
        return
    share = f"success {calls.success:.1f}%"
    parts = f"({calls.count - calls.failed} ok, {calls.failed} error)"
    yield labelled("count", f"{calls.count}  {parts}  {share}")
    yield labelled("latency", f"avg {duration(calls.average_ms or 0)}")


class ToolCalls(Section):
    """Every call of a tool, turn by turn."""

    title = "Tool calls"
    events = ("inference", "tool_call")

    def __init__(self, figures: Figures) -> None:
        self._figures = figures
        self._rows = Rows()

    def take(self, event: Mapping[str, Any]) -> None:
        turn = event.get("turn")
        if event["event_type"] == "inference":
            decision = event.get("decision")
            if "origin" not in event and decision not in ("tool_call", "error"):
                self._rows.add(f"  turn {turn}  {decision}")
            return
        latency = duration(number(event, "duration_ms"))
        row = f"  turn {turn}  {text(event, 'tool_name')} {latency} {mark(event.get('status'))}"
        if event.get("input") is not None:
            row += f"  {cut(compact(event['input']), INPUT_CHARACTERS)}"
        self._rows.add(row)

    def body(self) -> Iterator[str]:
        yield from _summary(self._figures.tools)
        if self._figures.tools.count:
            yield from self._rows


class RedundantCalls(Section):
    """Calls that read again what nothing had changed since."""

    title = "Redundant calls"
    events = ("tool_call", "plan_step")

    def __init__(self) -> None:
        self._history, self._rows = ReadHistory(), Rows()

    def take(self, event: Mapping[str, Any]) -> None:
        found = self._history.take(event)
        if found is not None:
            self._rows.add(found.row())

    def body(self) -> Iterator[str]:
        yield labelled("count", str(self._rows.count))
        yield from self._rows


class SkillCalls(Section):
    """Every reading of a skill, turn by turn."""

    title = "Skill calls"
    events = ("skill_call",)

    def __init__(self, figures: Figures) -> None:
        self._figures = figures
        self._rows = Rows()

    def take(self, event: Mapping[str, Any]) -> None:
        latency = duration(number(event, "duration_ms"))
        row = f"  turn {event.get('turn')}  {text(event, 'skill_name')} {latency}"
        self._rows.add(f"{row} {mark(event.get('status'))}{provenance(event)}")

    def body(self) -> Iterator[str]:
        yield from _summary(self._figures.skills)
        yield from self._rows


def provenance(event: Mapping[str, Any], shape: str = " {}") -> str:
    """Where an untrusted skill came from; nothing for a trusted one."""
    if event.get("trust") != "untrusted":
        return ""
    return shape.format(f"{text(event, 'origin')}/{text(event, 'trust')}")


class PulledAtRuntime(Listing):
    """Artifacts that the capsule itself installed."""

    title = "Pulled at runtime"
    events = ("artifact_pulled",)

    def take(self, event: Mapping[str, Any]) -> None:
        self.rows.add(
            f"{text(event, 'name')}@{text(event, 'version')}  {text(event, 'runtime')}  "
            f"{text(event, 'origin')}/{text(event, 'trust')}"
        )


class ShellCalls(Section):
    """Commands: how many, how they ended, how long they took."""

    title = "Shell calls"

    def __init__(self, figures: Figures) -> None:
        self._figures = figures

    def take(self, event: Mapping[str, Any]) -> None:
        """Everything it prints is among the session's figures."""

    def body(self) -> Iterator[str]:
        figures = self._figures
        yield labelled("count", str(figures.total("shell_calls")))
        if figures.exit_codes:
            yield labelled("exit codes", ", ".join(_endings(figures.exit_codes)))
        if figures.shell.average_ms is not None:
            yield labelled("latency", f"avg {duration(figures.shell.average_ms)}")


def _endings(codes: Mapping[int, int]) -> Iterator[str]:
    if 0 in codes:
        yield f"{codes[0]} ok"
    for code in sorted(code for code in codes if code):
        yield f"{codes[code]} failed (exit {code})"


class DeniedCalls(Listing):
    """Commands and tool calls that a policy hook refused."""

    title = "Denied calls"
    events = ("call_denied",)

    def take(self, event: Mapping[str, Any]) -> None:
        self.rows.add(
            f"turn {event.get('turn')}  {text(event, 'event')}  {text(event, 'target')}  "
            f"by {text(event, 'hook_name')}  {quoted(text(event, 'reason', ''))}"
        )
