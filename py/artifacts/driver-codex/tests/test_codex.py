"""driver-codex: the launch plan and the lines of `codex exec --json` (spec/artifacts.md 13.6).

The lines are what version 0.171.0 prints, without the members that nothing reads.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from codex_driver.driver import Codex
from codex_driver.threads import Thread, Totals
from harness_testing.anything import check_totality, lines_like
from harness_testing.running import BRIDGE, after, read, request
from hypothesis import given
from hypothesis import strategies as st
from murmur_harness.contract import (
    Event,
    ExitStatus,
    LaunchPlan,
    Note,
    Refused,
    Retry,
    SessionStarted,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnFailed,
    Usage,
)

Json = dict[str, Any]
THREAD = "01a22e36-a0e2-7e43-a417-ed2a5c1cdb79"
SPENT = f"{THREAD};input=300;cached=190;written=10;output=30;thinking=8"
STARTED = {"type": "thread.started", "thread_id": THREAD}
COMPLETED: Json = {
    "type": "turn.completed",
    "usage": {
        "input_tokens": 300,
        "cached_input_tokens": 190,
        "cache_write_input_tokens": 10,
        "output_tokens": 30,
        "reasoning_output_tokens": 8,
    },
}
CALL = {
    "id": "item_2",
    "type": "mcp_tool_call",
    "server": "claude_bridge",
    "tool": "tool-editor",
    "arguments": {"path": "é"},
    "result": {"content": [{"type": "text", "text": "3 lines"}], "structured_content": None},
    "error": None,
    "status": "completed",
}


def plan(**members: Any) -> LaunchPlan:
    return Codex().launch(request(**members))


def run(*lines: object, **members: Any) -> list[Event]:
    driver = Codex()
    driver.launch(request(**members))
    return read(driver, lines)


def completed(**item: object) -> Json:
    return {"type": "item.completed", "item": {"id": "item_1", **item}}


def settings(made: LaunchPlan) -> list[str]:
    return [made.args[at + 1] for at, flag in enumerate(made.args) if flag == "-c"]


def test_it_describes_codex() -> None:
    said = Codex().describe()

    assert (said.harness, said.binary, said.version_args) == ("codex", "codex", ("--version",))
    assert (said.interrupt, said.required_env) == ("signal-int", ("HOME", "PATH"))
    assert not said.streams_text and said.reports_usage


def test_the_command_line_leaves_codex_none_of_its_own_tools() -> None:
    made = plan(model="gpt-5.5")
    args = made.args

    assert args[:5] == ("exec", "--json", "--skip-git-repo-check", "-s", "read-only")
    off = [args[at + 1] for at, flag in enumerate(args) if flag == "--disable"]
    assert off == ["shell_tool", "unified_exec", "shell_snapshot", "code_mode_host"]
    assert after(args, "-m") == "gpt-5.5"
    assert {'web_search="disabled"', "features.view_image=false"} <= set(settings(made))
    assert "--ignore-user-config" in args


@pytest.mark.parametrize(
    ("version", "given"),
    [
        (None, True),
        ("unreadable", True),
        ("codex-cli 0.170.9", True),
        ("codex-cli 0.171.0", False),
        ("0.171.0", False),
        ("1.0.0", False),
    ],
)
def test_the_patch_setting_is_given_to_versions_that_know_it(
    version: str | None, given: bool
) -> None:
    assert ("include_apply_patch_tool=false" in settings(plan(harness_version=version))) is given


def test_the_bridge_is_a_server_whose_token_is_in_a_variable_alone() -> None:
    made = plan()

    assert [each for each in settings(made) if each.startswith("mcp_servers.")] == [
        f'mcp_servers.claude_bridge.url="{BRIDGE.url}"',
        'mcp_servers.claude_bridge.bearer_token_env_var="MURMUR_BRIDGE_TOKEN"',
        'mcp_servers.claude_bridge.default_tools_approval_mode="approve"',
    ]
    assert made.env == (("MURMUR_BRIDGE_TOKEN", BRIDGE.bearer_token),)
    assert BRIDGE.bearer_token not in repr((made.args, made.files, made.stdin))


def test_a_server_name_that_no_setting_can_hold_is_refused() -> None:
    with pytest.raises(Refused, match=r"bridge\.server-name 'a\.b'"):
        plan(bridge=replace(BRIDGE, server_name="a.b"))


def test_without_a_bridge_there_is_no_server() -> None:
    made = plan(bridge=None)

    assert not [each for each in settings(made) if each.startswith("mcp_servers.")]
    assert made.env == ()
    assert made.stdin is not None and b"You have no tools" in made.stdin


def test_system_prompt_tools_and_task_are_one_prompt_on_stdin() -> None:
    made = plan(task="Fix it\nélan")

    assert made.args[-1] == "-"
    assert made.stdin is not None and not made.keep_stdin_open
    system, tools, task = made.stdin.decode().split("\n\n")
    assert (system, task) == ("You are a capsule.", "Fix it\nélan")
    assert "claude_bridge: tool-editor, git." in tools


def test_a_thread_is_resumed_by_its_own_id() -> None:
    args = plan(resumes=True, session_id=SPENT).args

    assert args[-3:] == ("resume", THREAD, "-")
    assert "resume" not in plan().args


def test_settings_are_refused() -> None:
    with pytest.raises(Refused, match="driver-codex has no settings"):
        plan(config='{"effort":"high"}')


def test_a_run_is_its_thread_its_messages_and_its_end() -> None:
    events = run(
        STARTED,
        {"type": "turn.started"},
        completed(type="reasoning", text="hm"),
        completed(type="agent_message", text="I look."),
        completed(type="agent_message", text="There are 3."),
        COMPLETED,
    )

    assert events == [
        SessionStarted(THREAD, "unknown"),
        Thinking("hm"),
        Text("I look."),
        Text("There are 3."),
        Usage(100, 30, 190, 10, 8),
        SessionStarted(SPENT, "unknown"),
        TurnEnd("There are 3."),
    ]


def test_a_call_is_made_when_it_starts_and_answered_when_it_is_completed() -> None:
    begun = {**CALL, "result": None, "status": "in_progress"}

    assert run({"type": "item.started", "item": begun}, completed(**CALL)) == [
        ToolCall("item_2", "tool-editor", '{"path":"é"}'),
        ToolResult("item_2", "3 lines", False),
    ]


def test_a_call_that_only_completes_is_made_and_answered() -> None:
    broken = {**CALL, "result": None, "error": {"message": "gone"}, "status": "failed"}

    assert run(completed(**broken)) == [
        ToolCall("item_2", "tool-editor", '{"path":"é"}'),
        ToolResult("item_2", "gone", True),
    ]


def test_a_tool_that_failed_says_what_it_said() -> None:
    assert run(completed(**{**CALL, "status": "failed"}))[-1] == ToolResult(
        "item_2", "3 lines", True
    )


def test_a_resumed_run_counts_what_it_used_itself() -> None:
    more = {"input_tokens": 400, "cached_input_tokens": 250, "output_tokens": 35}
    line = {"type": "turn.completed", "usage": {**COMPLETED["usage"], **more}}

    events = run(STARTED, line, resumes=True, session_id=SPENT)

    assert events[:2] == [SessionStarted(SPENT, "unknown"), Usage(40, 5, 60, 0, 0)]
    assert events[2] == SessionStarted(
        f"{THREAD};input=400;cached=250;written=10;output=35;thinking=8", "unknown"
    )


def test_another_thread_than_the_one_resumed_begins_at_nothing() -> None:
    other = {"type": "thread.started", "thread_id": "other"}

    events = run(other, COMPLETED, resumes=True, session_id=SPENT)

    assert events[:2] == [SessionStarted("other", "unknown"), Usage(100, 30, 190, 10, 8)]


def test_a_turn_without_usage_reports_none() -> None:
    assert run(STARTED, {"type": "turn.completed"})[1:] == [TurnEnd("")]


COUNTS = st.integers(0, 2**64 - 1)


@given(st.builds(Thread, st.text("abc-019", min_size=1), st.builds(Totals, *[COUNTS] * 5)))
def test_a_thread_is_read_as_it_was_written(thread: Thread) -> None:
    assert Thread.parse(str(thread)) == thread


@given(st.text())
def test_any_session_id_is_a_thread(session_id: str) -> None:
    thread = Thread.parse(session_id)

    assert Thread.parse(f"{session_id};input={'9' * 5000}") == Thread.parse(session_id)
    assert thread.id == session_id.split(";")[0]
    assert Totals.of({}).since(thread.spent) == Usage(0, 0, 0, 0, 0)


def test_a_reconnection_is_a_retry() -> None:
    told = "Reconnecting... 2/5 (unexpected status 503 Service Unavailable: x, url: y)"
    offline = "Reconnecting... waiting for network (Connection failed: x)"
    said = [told, offline, offline, "Reconnecting... 1/5"]

    assert run(*({"type": "error", "message": text} for text in said)) == [
        Retry(2, "unexpected status 503 Service Unavailable: x, url: y"),
        Retry(3, "Connection failed: x"),
        Retry(4, "Connection failed: x"),
        Retry(1, "connection"),
    ]


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("unexpected status 401 Unauthorized: invalid key, url: http://x", "auth"),
        ("unexpected status 403 Forbidden: no", "auth"),
        ("Your access token could not be refreshed. Please log out and sign in again.", "auth"),
        ("exceeded retry limit, last status: 429 Too Many Requests", "quota"),
        ("You've hit your usage limit. Upgrade to Pro or try again at 11:06 PM.", "quota"),
        ("Quota exceeded. Check your plan and billing details.", "quota"),
        ("unexpected status 500 Internal Server Error: x", "harness-error"),
        ("stream disconnected before completion", "harness-error"),
    ],
)
def test_a_failed_turn_is_of_the_kind_that_its_words_say(message: str, kind: str) -> None:
    failed = {"type": "turn.failed", "error": {"message": message}}
    fatal = {"type": "error", "message": message}

    verdict = run(fatal, failed)

    assert [type(event) for event in verdict] == [Note, TurnFailed]
    assert verdict[-1] == TurnFailed(kind, message)  # type: ignore[arg-type]


def test_a_failed_turn_without_words_failed_all_the_same() -> None:
    assert run({"type": "turn.failed"}) == [TurnFailed("harness-error", "the turn failed")]


def test_everything_else_is_one_note_and_a_blank_line_nothing() -> None:
    warning = completed(type="error", message="Model metadata not found.")
    command = completed(type="command_execution", command="ls")

    assert run("", warning, command, "x" * 600, {"type": "thread.started"}) == [
        Note("Model metadata not found."),
        Note(json.dumps(command)),
        Note("x" * 512),
        Note('{"type": "thread.started"}'),
    ]


LOST = "Error: thread/resume: thread/resume failed: no rollout found for thread id x (code -32600)"


@pytest.mark.parametrize(
    ("exit", "verdict"),
    [
        (ExitStatus(1, interrupted=True), TurnFailed("canceled", "Codex was interrupted")),
        (
            ExitStatus(1, stderr_tail=f"WARNING: proceeding\n{LOST}\n"),
            TurnFailed("harness-error", f"Codex ended with status 1 and no result: {LOST}"),
        ),
        (
            ExitStatus(1, stderr_tail="Not logged in\n"),
            TurnFailed("auth", "Codex ended with status 1 and no result: Not logged in"),
        ),
    ],
)
def test_an_end_without_a_turns_end_is_judged_by_stderr(
    exit: ExitStatus, verdict: TurnFailed
) -> None:
    assert Codex().classify_exit(exit) == verdict


def test_an_error_line_without_a_turns_end_is_what_the_run_failed_of() -> None:
    driver = Codex()
    read(driver, [{"type": "error", "message": "last status: 429 Too Many Requests"}])

    assert driver.classify_exit(ExitStatus(1, stderr_tail="x")) == TurnFailed(
        "quota", "Codex ended with status 1 and no result: last status: 429 Too Many Requests"
    )


SAMPLES: list[Json] = [
    STARTED,
    COMPLETED,
    {"type": "item.started", "item": CALL},
    completed(**CALL),
    completed(type="agent_message", text="x"),
    {"type": "turn.failed", "error": {"message": "x"}},
    {"type": "error", "message": "Reconnecting... 1/5 (x)"},
]


@given(st.lists(lines_like(SAMPLES), max_size=5))
def test_any_line_gives_events_or_one_note(lines: list[str]) -> None:
    check_totality(Codex, lines)
