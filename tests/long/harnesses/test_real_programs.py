"""What the stand-ins say is what Claude Code and Codex say, as far as the drivers look.

Skipped where a program is not installed: `npm install -g @anthropic-ai/claude-code @openai/codex`,
or name them by MURMUR_TEST_CLAUDE and MURMUR_TEST_CODEX (./bazelw test --test_env=...).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from murmur_harness.contract import (
    Event,
    LaunchRequest,
    Note,
    Retry,
    SessionStarted,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolCallProgress,
    ToolCallStarted,
    ToolResult,
    TurnFailed,
)

from tests.long.harnesses.bridge import served
from tests.long.harnesses.programs import CLAUDE, CODEX, Harness, Turns
from tests.long.harnesses.running import Bench

LOOKS = {
    "thinking": "a tool will do",
    "text": "I look.",
    "tool_calls": [{"name": "tool-editor", "input": {"path": "a"}}],
}
MISSES = {"tool_calls": [{"name": "tool-editor", "input": {"path": "missing"}}]}
SAYS = {"text": "Three lines."}


@pytest.fixture(params=[CLAUDE, CODEX], ids=lambda harness: harness.name)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    harness: Harness = request.param
    harness.real()
    with served() as bridge:
        yield Bench(harness, tmp_path, bridge)


def ask(**members: Any) -> LaunchRequest:
    return LaunchRequest(
        **{"task": "go", "session_id": str(uuid.uuid4()), "system_prompt": "Be brief.", **members}
    )


def essence(events: list[Event]) -> list[object]:
    """What must be alike: not ids, not pieces, not words of failures, not notes."""
    kept: list[object] = []
    for event in events:
        match event:
            case Note() | TextDelta() | ThinkingDelta() | ToolCallStarted() | ToolCallProgress():
                continue
            case SessionStarted(_, auth, model):
                kept.append(("session", auth, model))
            case ToolCall(_, name, given):
                kept.append(("call", name, given))
            case ToolResult(_, output, is_error):
                kept.append(("result", output, is_error))
            case TurnFailed(kind, _):
                kept.append(("failed", kind))
            case _:
                kept.append(event)
    return kept


def both(bench: Bench, turns: Turns, stop: bool = False) -> tuple[list[Event], list[Event]]:
    return bench.with_provider(turns, ask(), stop), bench.with_script(turns, ask(), stop)


@pytest.mark.parametrize(
    "turns",
    [[SAYS], [LOOKS, SAYS], [MISSES, SAYS], [LOOKS, MISSES, SAYS]],
    ids=["text", "tool", "failing tool", "several tools"],
)
def test_the_stand_in_says_what_the_program_says(bench: Bench, turns: Turns) -> None:
    real, stand_in = both(bench, turns)

    assert essence(real) == essence(stand_in)


@pytest.mark.parametrize("status", [403, 429])
def test_both_fail_alike(bench: Bench, status: int) -> None:
    real, stand_in = (
        [each for each in essence(events) if not isinstance(each, Retry)]
        for events in both(bench, [{"status": status}])
    )

    assert real == stand_in


def test_both_are_interrupted_alike(bench: Bench) -> None:
    real, stand_in = both(bench, [{"text": "abcde" * 500, "delay_ms": 5000}], stop=True)

    assert essence(real)[-1] == essence(stand_in)[-1] == ("failed", "canceled")


def test_both_resume_alike_and_count_a_run_alone(bench: Bench) -> None:
    for run in (bench.with_provider, bench.with_script):
        first = run([SAYS], ask(), False)
        begun = [event.id for event in first if isinstance(event, SessionStarted)]
        second = run([SAYS], ask(session_id=begun[-1], resumes=True), False)

        assert essence(second) == essence(first)


def test_a_lost_conversation_fails_before_a_session(bench: Bench) -> None:
    lost = ask(resumes=True)

    for run in (bench.with_provider, bench.with_script):
        events = run([SAYS], lost, False)

        assert not any(isinstance(event, SessionStarted) for event in events)
        assert essence(events)[-1] == ("failed", "harness-error")


def test_a_missing_login_is_one(bench: Bench) -> None:
    bench.log_out()
    refused = [{"status": 401}]

    real, stand_in = both(bench, refused)

    assert essence(real)[-1] == essence(stand_in)[-1] == ("failed", "auth")


def test_the_installed_version_is_one_that_the_driver_was_tested_with(bench: Bench) -> None:
    (tested,) = bench.harness.new_driver().describe().tested_versions

    assert tested in bench.version()
