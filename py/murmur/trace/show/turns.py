"""Turns, Tokens, Wire and Call settings: what was asked of the model."""

from array import array
from collections.abc import Iterator, Mapping
from typing import Any

from murmur.trace.figures import PROVIDER_COUNTS, Figures
from murmur.trace.show.section import Rows, Section, labelled
from murmur.trace.wording import (
    TURN_ERROR_CHARACTERS,
    compact,
    cut,
    duration,
    names,
    number,
    plural,
    short_hash,
    text,
    thousands,
)


class TurnsSection(Section):
    """How many turns there were, and every call that failed or was made again."""

    title = "Turns"
    events = ("inference", "inference_retry", "task_continued")

    def __init__(self, figures: Figures) -> None:
        self._figures = figures
        self._continued = self._answers = self._outcomes = self._capped = 0
        self._retries, self._failed = Rows(), Rows()

    def take(self, event: Mapping[str, Any]) -> None:
        kind = event["event_type"]
        if kind == "task_continued":
            self._continued += 1
            self._answers += len(names(event, "member_calls"))
            self._outcomes += len(names(event, "delegations"))
        elif kind == "inference_retry":
            self._retries.add(labelled("retry", _retry(event)))
        elif event.get("decision") == "error":
            self._failed.add(labelled("failed", _failed(event)))
            self._failed.add(" " * 12 + cut(text(event, "error", ""), TURN_ERROR_CHARACTERS))
        elif is_capped(event):
            self._capped += 1

    def body(self) -> Iterator[str]:
        figures = self._figures
        most = (figures.start or {}).get("max_turns")
        shown = "no cap" if most is None else str(most)
        yield labelled("count", f"{figures.total('turns')}  (max: {shown})")
        if self._continued:
            parts = f"{self._answers} member answer(s), {self._outcomes} delegation outcome(s)"
            yield labelled("continued", f"{self._continued} ({parts})")
        if self._capped:
            cap = "turn(s) stopped at the inference.max_tokens output cap"
            yield labelled("capped", f"{self._capped} {cap}")
        yield from self._retries
        yield from self._failed


def is_capped(event: Mapping[str, Any]) -> bool:
    """Whether an `inference` line is a turn that stopped at the output cap."""
    return event.get("stop_reason") == "max_tokens" and "origin" not in event


def provider_status(event: Mapping[str, Any]) -> list[str]:
    """`HTTP <status>` when there was one."""
    return [f"HTTP {number(event, 'provider_status')}"] if "provider_status" in event else []


def retry_parts(event: Mapping[str, Any]) -> list[str]:
    """What `show` and `steps` say of a call that was made again."""
    attempts = f"attempt {number(event, 'attempt')} of {number(event, 'max_attempts')}"
    status = provider_status(event) or [text(event, "reason")]
    origin = [text(event, "origin")] if "origin" in event else []
    return [
        "inference_retry",
        attempts,
        *status,
        f"wait {duration(number(event, 'wait_ms'))}",
        *origin,
    ]


def _retry(event: Mapping[str, Any]) -> str:
    return "  ".join([f"turn {event.get('turn')}", *retry_parts(event)])


def _failed(event: Mapping[str, Any]) -> str:
    parts = [f"turn {event.get('turn')}"]
    if "origin" in event:
        parts.append(text(event, "origin"))
    parts += [text(event, "error_code"), *provider_status(event)]
    if number(event, "attempts") > 1:
        parts.append(f"attempts {number(event, 'attempts')}")
    if "retry_stopped" in event:
        parts.append(f"retry stopped: {text(event, 'retry_stopped')}")
    return "  ".join(parts)


class TokensSection(Section):
    """Totals by the runtime's own count, and what providers reported."""

    title = "Tokens"

    def __init__(self, figures: Figures) -> None:
        self._figures = figures

    def take(self, event: Mapping[str, Any]) -> None:
        """Everything it prints is among the session's figures."""

    def body(self) -> Iterator[str]:
        figures = self._figures
        for label in ("input", "output"):
            name = f"{label}_tokens"
            average = f"(avg {figures.per_turn(name):.0f}/turn)"
            yield labelled(label, f"{thousands(figures.total(name))}  {average}")
        whole = figures.total("input_tokens") + figures.total("output_tokens")
        yield labelled("total", thousands(whole))
        reported = [
            f"{label} {thousands(figures.provider[key])}"
            for key, label in PROVIDER_COUNTS.items()
            if key in figures.provider
        ]
        if reported:
            yield labelled("provider", ", ".join(reported))


class WireSection(Section):
    """Which bodies were sent, by hash, and when the tool list changed."""

    title = "Wire"
    events = ("inference", "tools_refreshed")

    def __init__(self) -> None:
        self._turns, self._refreshed = Rows(), Rows()
        self._first: Any = None

    def take(self, event: Mapping[str, Any]) -> None:
        turn = event.get("turn")
        if event["event_type"] == "tools_refreshed":
            changes = [
                f"{sign}{', '.join(changed)}"
                for sign, changed in (("+", names(event, "added")), ("-", names(event, "removed")))
                if changed
            ]
            row = f"turn {turn}  {'  '.join([text(event, 'trigger'), *changes])}"
            self._refreshed.add(labelled("refreshed", row))
        elif "system_sha" in event and "origin" not in event:
            if self._turns.count == 0:
                self._first = turn
            hashes = "  ".join(
                f"{label} {short_hash(text(event, f'{label}_sha'))}"
                for label in ("system", "tools", "response")
            )
            messages = plural(len(names(event, "message_shas")), "message")
            self._turns.add(f"turn {turn}  {hashes}  {messages}")

    def body(self) -> Iterator[str]:
        yield from self._turns
        yield from self._refreshed
        if self._turns.count:
            yield labelled("bodies", f"mur trace show --body system --turn {self._first}")


class CallSettings(Section):
    """With what cap and driver config each caller called, by first appearance."""

    title = "Call settings"
    events = ("inference",)

    def __init__(self) -> None:
        self._turns: dict[tuple[str, int, str], array[int]] = {}

    def take(self, event: Mapping[str, Any]) -> None:
        if "max_output_tokens" not in event:
            return
        caller = text(event, "origin", "agent")
        config = compact(event["driver_config"]) if "driver_config" in event else "none"
        key = (caller, number(event, "max_output_tokens"), config)
        self._turns.setdefault(key, array("Q")).append(max(number(event, "turn"), 0))

    def body(self) -> Iterator[str]:
        for (caller, cap, config), turns in self._turns.items():
            listed = ", ".join(str(turn) for turn in dict.fromkeys(turns))
            yield (
                f"{caller}  max_tokens {cap}  driver_config {config}  "
                f"{len(turns)} call(s)  turn(s) {listed}"
            )


class CompactionSection(Section):
    """Whether the conversation was compacted, and when that was declined."""

    title = "Compaction"
    events = ("compaction_declined",)

    def __init__(self, figures: Figures) -> None:
        self._figures = figures
        self._declined = Rows()

    def take(self, event: Mapping[str, Any]) -> None:
        tokens = thousands(number(event, "tokens"))
        row = f"turn {event.get('turn')}  ({tokens} tokens)  {text(event, 'reason')}"
        self._declined.add(labelled("declined", row))

    def body(self) -> Iterator[str]:
        fired = self._figures.compaction
        if fired is None:
            yield labelled("fired", "no")
        else:
            before, after = (thousands(number(fired, f"tokens_{x}")) for x in ("before", "after"))
            yield labelled(
                "fired", f"yes  at turn {fired.get('turn')}  ({before} → {after} tokens)"
            )
        yield from self._declined
