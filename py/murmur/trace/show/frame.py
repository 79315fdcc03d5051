"""Session, Harness, Hook failures, Retention and Context."""

from collections.abc import Iterator, Mapping
from typing import Any

from murmur.core.durations import rfc3339
from murmur.trace.figures import Figures
from murmur.trace.show.section import Listing, Section, labelled
from murmur.trace.wording import duration, names, number, short_hash, text, thousands


class SessionSection(Section):
    """Who ran, how it ended, and under what."""

    title = "Session"

    def __init__(self, figures: Figures) -> None:
        self._figures = figures
        self.torn_line = 0

    def take(self, event: Mapping[str, Any]) -> None:
        """Everything it prints is among the session's figures."""

    def body(self) -> Iterator[str]:
        figures = self._figures
        start = figures.start or {}
        yield labelled("session", text(start, "session_id"))
        if "spawned_by" in start:
            delegation = text(start, "delegation_id")
            yield f"Spawned by {text(start, 'spawned_by')} (delegation {delegation})"
        if "formation_id" in start:
            yield labelled("formation", text(start, "formation_id"))
        capsule, version = text(start, "capsule_name"), text(start, "capsule_version")
        yield labelled("capsule", f"{capsule} v{version}")
        yield labelled("model", text(start, "model", "") or "none")
        yield from self._ending()
        yield labelled("capabilities", ", ".join(names(start, "capabilities")) or "none")
        yield labelled("tools", ", ".join(names(start, "tools_declared")) or "none")
        if pins := _runtime_pins(start):
            yield labelled("runtime pins", pins)
        declared, achieved = (
            text(start, f"containment_{which}") for which in ("declared", "achieved")
        )
        yield labelled("containment", f"{declared} → {achieved}")
        yield labelled("workdir exec", "yes" if start.get("workdir_exec") is True else "no")
        yield labelled("userns", text(start, "userns_grant", "n/a"))
        prompt = text(start, "system_prompt_source")
        digest = start.get("system_prompt_sha256")
        shown = f"  {short_hash(digest)}" if isinstance(digest, str) else ""
        yield labelled("prompt", prompt + shown)

    def _ending(self) -> Iterator[str]:
        figures = self._figures
        if figures.end is not None:
            yield labelled("status", figures.status + self._torn())
            yield labelled("duration", duration(figures.duration_ms))
            return
        moment = rfc3339(figures.last_ms / 1000)
        last = f"last event: {figures.last_event} at {moment}"
        yield labelled("status", f"ended without a session_end ({last}){self._torn()}")
        yield labelled("duration", f"{duration(figures.duration_ms)}  (first to last event)")
        yield labelled(
            "totals",
            "counted from the events recorded; no session_end recorded the session's own",
        )

    def _torn(self) -> str:
        if not self.torn_line:
            return ""
        return f"; line {self.torn_line}, the last, is not valid JSON and was skipped"


def _runtime_pins(start: Mapping[str, Any]) -> str:
    pins = start.get("runtime_artifacts")
    return ", ".join(
        f"{text(pin, 'name')}@{text(pin, 'version')} (pulled by {text(pin, 'session')})"
        for pin in (pins if isinstance(pins, list) else [])
        if isinstance(pin, dict)
    )


class HarnessSection(Listing):
    """What went wrong with a process driver's program, then its subscription windows."""

    title = "Harness"
    events = ("harness_warning", "harness_failed", "harness_interrupt", "harness_quota")

    def __init__(self) -> None:
        super().__init__()
        self._quotas: dict[str, Mapping[str, Any]] = {}

    def take(self, event: Mapping[str, Any]) -> None:
        kind, message = event["event_type"], text(event, "message", "")
        if kind == "harness_warning":
            self.rows.add(f"warning {text(event, 'code')}: {message}")
        elif kind == "harness_failed":
            self.rows.add(f"harness failed ({text(event, 'kind')}): {message}")
        elif kind == "harness_interrupt":
            delivered = "delivered" if event.get("delivered") is True else "not delivered"
            grace = duration(number(event, "grace_ms"))
            self.rows.add(f"interrupt {text(event, 'method')}: {delivered}, grace {grace}")
        else:
            self._quotas[text(event, "name")] = event

    def body(self) -> Iterator[str]:
        yield from self.rows
        for name, event in self._quotas.items():
            yield f"quota {name}: {', '.join(_quota(event))}"


def _quota(event: Mapping[str, Any]) -> Iterator[str]:
    used = event.get("used")
    if isinstance(used, int | float):
        yield f"used {used:g}"
    if "resets_at_ms" in event:
        yield f"resets {rfc3339(number(event, 'resets_at_ms') / 1000)}"
    if "window_minutes" in event:
        yield f"{number(event, 'window_minutes')} min window"
    if "state" in event:
        yield text(event, "state")


class HookFailures(Listing):
    """Faults of hooks that ended nothing."""

    title = "Hook failures"
    events = ("hook_dispatch_error",)

    def take(self, event: Mapping[str, Any]) -> None:
        self.rows.add(f"✗ {text(event, 'hook_name')}  {text(event, 'event')}  {text(event, 'arm')}")


class RetentionSection(Listing):
    """What this launch removed of earlier sessions."""

    title = "Retention"
    events = ("retention",)

    def take(self, event: Mapping[str, Any]) -> None:
        removed = number(event, "removed")
        row = f"{text(event, 'store')}  {text(event, 'reason')}  removed {removed}"
        if "messages_dropped" in event:
            row += f"  ({thousands(number(event, 'messages_dropped'))} messages)"
        self.rows.add("  ".join([row, *names(event, "targets")]))


class ContextSection(Listing):
    """What hooks seeded a task's conversation with."""

    title = "Context"
    events = ("context_seed",)

    def take(self, event: Mapping[str, Any]) -> None:
        figures = "  ".join(
            f"{label} {thousands(number(event, key))}"
            for label, key in (
                ("tokens", "tokens"),
                ("proposed", "proposed_tokens"),
                ("budget", "budget_tokens"),
            )
        )
        row = [text(event, "hook_name"), text(event, "outcome"), figures]
        if "reason" in event:
            row.append(text(event, "reason"))
        if ids := names(event, "message_ids"):
            row.append(f"messages {', '.join(ids)}")
        self.rows.add("  ".join(row))
