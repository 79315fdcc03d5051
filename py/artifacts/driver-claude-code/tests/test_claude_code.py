"""driver-claude-code: the launch plan and the lines of stream-json (spec/artifacts.md 13.6).

The lines are what version 2.1.332 prints, without the members that nothing reads.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from claude_code_driver.driver import ClaudeCode
from harness_testing.anything import check_totality, lines_like
from harness_testing.running import BRIDGE, SESSION, after, read, request
from hypothesis import given
from hypothesis import strategies as st
from murmur_harness.contract import (
    Event,
    ExitStatus,
    LaunchPlan,
    Note,
    Quota,
    Refused,
    Retry,
    SessionStarted,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolCallProgress,
    ToolCallStarted,
    ToolResult,
    TurnEnd,
    TurnFailed,
    Usage,
)

Json = dict[str, Any]
INIT = {
    "type": "system",
    "subtype": "init",
    "session_id": SESSION,
    "tools": ["mcp__claude_bridge__tool-editor"],
    "model": "claude-haiku-4-5-20251001",
    "apiKeySource": "ANTHROPIC_API_KEY",
}
RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "api_error_status": None,
    "terminal_reason": "completed",
    "result": "There are 3.",
    "session_id": SESSION,
    "usage": {
        "input_tokens": 22,
        "cache_creation_input_tokens": 5,
        "cache_read_input_tokens": 100,
        "output_tokens": 14,
        "output_tokens_details": {"thinking_tokens": 3},
    },
}


def plan(**members: Any) -> LaunchPlan:
    return ClaudeCode().launch(request(**members))


def run(*lines: object) -> list[Event]:
    driver = ClaudeCode()
    driver.launch(request())
    return read(driver, lines)


def frame(kind: str, **members: object) -> Json:
    return {"type": "stream_event", "event": {"type": kind, **members}, "session_id": SESSION}


def assistant(*content: Json, **members: object) -> Json:
    message = {"id": "msg_0", "role": "assistant", "model": "m", "content": list(content)}
    return {"type": "assistant", "message": message, **members}


def failed(**members: object) -> TurnFailed:
    verdict = run({**RESULT, "is_error": True, "result": "", **members})[-1]
    assert isinstance(verdict, TurnFailed)
    return verdict


def test_it_describes_claude_code() -> None:
    said = ClaudeCode().describe()

    assert (said.harness, said.binary, said.version_args) == (
        "claude-code",
        "claude",
        ("--version",),
    )
    assert (said.interrupt, said.required_env) == ("stdin-message", ("HOME", "PATH"))
    assert said.streams_text and said.reports_usage


def test_the_command_line_names_the_bridges_tools_and_no_others() -> None:
    assert plan(model="claude-haiku-4-5").args == (
        "--print",
        "--output-format",
        "stream-json",
        "--verbose",
        "--input-format",
        "stream-json",
        "--include-partial-messages",
        "--setting-sources",
        "",
        "--model",
        "claude-haiku-4-5",
        "--session-id",
        SESSION,
        "--tools",
        "mcp__claude_bridge__tool-editor,mcp__claude_bridge__git",
        "--mcp-config",
        "{files_dir}/mcp-config.json",
        "--strict-mcp-config",
        "--permission-mode",
        "bypassPermissions",
        "--system-prompt",
        "You are a capsule.",
    )


def test_the_token_is_in_the_mcp_file_and_nowhere_else() -> None:
    made = plan()
    (name, contents), *rest = made.files

    assert (name, rest) == ("mcp-config.json", [])
    assert json.loads(contents) == {
        "mcpServers": {
            "claude_bridge": {
                "type": "http",
                "url": BRIDGE.url,
                "headers": {"Authorization": f"Bearer {BRIDGE.bearer_token}"},
            }
        }
    }
    assert BRIDGE.bearer_token not in repr((made.args, made.env, made.stdin, BRIDGE))


def test_without_a_bridge_there_are_no_tools_and_no_mcp_file() -> None:
    made = plan(bridge=None)

    assert after(made.args, "--tools") == ""
    assert not {"--mcp-config", "--permission-mode"} & set(made.args)
    assert (made.files, made.env) == ((), ())


def test_a_session_is_begun_by_its_id_or_resumed() -> None:
    assert after(plan().args, "--session-id") == SESSION
    assert after(plan(resumes=True).args, "--resume") == SESSION
    assert "--session-id" not in plan(resumes=True).args


def test_the_task_is_the_line_on_stdin_which_stays_open_for_an_interrupt() -> None:
    made = plan(task="Fix it\nélan")

    assert made.stdin is not None and made.interrupt_stdin is not None
    assert made.stdin.endswith(b"\n") and made.stdin.count(b"\n") == 1
    assert json.loads(made.stdin) == {
        "type": "user",
        "message": {"role": "user", "content": [{"type": "text", "text": "Fix it\nélan"}]},
    }
    assert made.keep_stdin_open
    assert json.loads(made.interrupt_stdin) == {
        "type": "control_request",
        "request_id": f"murmur-interrupt-{SESSION}",
        "request": {"subtype": "interrupt"},
    }


def test_a_system_prompt_too_long_for_an_argument_is_a_file() -> None:
    prompt = "é" * 60_000
    made = plan(system_prompt=prompt)

    assert after(made.args, "--system-prompt-file") == "{files_dir}/system-prompt.txt"
    assert dict(made.files)["system-prompt.txt"] == prompt
    assert "--system-prompt" not in made.args


def test_settings_are_refused() -> None:
    with pytest.raises(Refused, match="driver-claude-code has no settings"):
        plan(config='{"effort":"high"}')


@pytest.mark.parametrize(
    ("source", "auth"),
    [
        ("none", "subscription"),
        ("oauth", "subscription"),
        ("ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"),
        (None, "unknown"),
    ],
)
def test_the_session_says_which_login_it_uses(source: str | None, auth: str) -> None:
    assert run({**INIT, "apiKeySource": source}) == [
        SessionStarted(SESSION, auth, "claude-haiku-4-5-20251001")
    ]


def test_a_message_comes_in_pieces_and_then_whole() -> None:
    events = run(
        frame("message_start", message={}),
        frame("content_block_start", index=0, content_block={"type": "thinking"}),
        frame("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "h"}),
        frame("content_block_delta", index=0, delta={"type": "signature_delta", "signature": "x"}),
        assistant({"type": "thinking", "thinking": "hm", "signature": "x"}),
        frame("content_block_stop", index=0),
        frame("content_block_delta", index=1, delta={"type": "text_delta", "text": "I lo"}),
        assistant({"type": "text", "text": "I look."}),
        frame("message_delta", delta={"stop_reason": "end_turn"}),
        frame("message_stop"),
    )

    assert events == [ThinkingDelta("h"), Thinking("hm"), TextDelta("I lo"), Text("I look.")]


def test_a_call_is_announced_measured_and_made_by_its_bare_name() -> None:
    block = {"type": "tool_use", "id": "toolu_1", "name": "mcp__claude_bridge__tool-editor"}
    piece = {"type": "input_json_delta", "partial_json": '{"pa'}
    rest = {"type": "input_json_delta", "partial_json": 'th":"é"}'}

    events = run(
        frame("content_block_start", index=2, content_block=block),
        frame("content_block_delta", index=2, delta=piece),
        frame("content_block_delta", index=2, delta=rest),
        assistant({**block, "input": {"path": "é"}}),
    )

    assert events == [
        ToolCallStarted("toolu_1", "tool-editor"),
        ToolCallProgress("toolu_1", 4),
        ToolCallProgress("toolu_1", 13),
        ToolCall("toolu_1", "tool-editor", '{"path":"é"}'),
    ]


def test_a_tools_answer_is_its_text_and_whether_it_failed() -> None:
    def answer(content: object, **members: object) -> Json:
        block = {"type": "tool_result", "tool_use_id": "t", "content": content, **members}
        return {"type": "user", "message": {"role": "user", "content": [block]}}

    assert run(
        answer([{"type": "text", "text": "3 lines"}]), answer("no such file", is_error=True)
    ) == [ToolResult("t", "3 lines", False), ToolResult("t", "no such file", True)]


def test_a_retry_is_told_with_its_attempt_and_reason() -> None:
    line = {"type": "system", "subtype": "api_retry", "attempt": 2, "max_retries": 10}

    assert run({**line, "error_status": 529, "error": "overloaded"}, line) == [
        Retry(2, "529 overloaded"),
        Retry(2, "unknown"),
    ]


def test_every_window_of_a_subscription_is_told_and_the_state_of_the_one_that_decides() -> None:
    info = {
        "status": "allowed_warning",
        "resetsAt": 1796075502,
        "rateLimitType": "five_hour",
        "utilization": 0.93,
        "unifiedWindows": {
            "five_hour": {"utilization": 0.93, "resetsAt": 1796075502},
            "seven_day": {"utilization": 1.2, "resetsAt": 1796080000},
        },
    }

    assert run({"type": "rate_limit_event", "rate_limit_info": info}) == [
        Quota("five_hour", 0.93, 1796075502, 300, "warning"),
        Quota("seven_day", 1.0, 1796080000, 10080, None),
    ]


def test_a_window_is_told_without_what_is_not_known_of_it() -> None:
    info = {"status": "rejected", "rateLimitType": "overage"}

    assert run({"type": "rate_limit_event", "rate_limit_info": info}) == [
        Quota("overage", state="exhausted")
    ]


def test_a_result_is_the_turns_end_after_what_it_used() -> None:
    assert run(RESULT) == [Usage(22, 14, 100, 5, 3), TurnEnd("There are 3.")]


def test_the_usage_of_several_results_is_added_up() -> None:
    second = {**RESULT, "usage": {"input_tokens": 8, "output_tokens": 1}}

    assert [event for event in run(RESULT, second) if isinstance(event, Usage)] == [
        Usage(22, 14, 100, 5, 3),
        Usage(30, 15, 100, 5, 3),
    ]


def test_what_a_result_does_not_count_is_absent_and_not_zero() -> None:
    assert run({**RESULT, "usage": {"input_tokens": 8, "output_tokens": -1}})[0] == Usage(input=8)


@pytest.mark.parametrize(
    ("members", "kind"),
    [
        ({"api_error_status": 401}, "auth"),
        ({"api_error_status": 403, "terminal_reason": "api_error"}, "auth"),
        ({"api_error_status": 429}, "quota"),
        ({"terminal_reason": "aborted_streaming", "subtype": "error_during_execution"}, "canceled"),
        ({"terminal_reason": "aborted_tools", "subtype": "error_during_execution"}, "canceled"),
        ({"terminal_reason": "max_turns", "subtype": "error_max_turns"}, "max-turns"),
        ({"api_error_status": 500, "subtype": "success"}, "harness-error"),
        ({"subtype": "error_during_execution"}, "harness-error"),
        ({"is_error": None}, "harness-error"),
    ],
)
def test_a_failure_is_of_the_kind_that_its_members_say(members: Json, kind: str) -> None:
    assert failed(**members).kind == kind


def test_the_subtype_alone_is_never_trusted() -> None:
    assert failed(subtype="success", result="API Error: 529").kind == "harness-error"
    assert run({**RESULT, "subtype": "error_max_turns"})[-1] == TurnEnd("There are 3.")


def test_a_failures_message_is_the_result_or_the_errors_or_the_subtype() -> None:
    assert failed(result="said").message == "said"
    assert failed(errors=["a", None, "b"]).message == "a; b"
    assert failed(subtype="error_during_execution").message == (
        "Claude Code reported error_during_execution"
    )


def test_who_is_not_logged_in_fails_by_auth_and_not_by_a_message_of_the_model() -> None:
    told = assistant({"type": "text", "text": "Not logged in · Please run /login"})
    told["message"]["model"] = "<synthetic>"
    told["error"] = "authentication_failed"
    result = {**RESULT, "is_error": True, "result": "Not logged in · Please run /login"}

    first, *rest = run(told, result)

    assert isinstance(first, Note)
    assert rest[-1] == TurnFailed("auth", "Not logged in · Please run /login")


def test_a_session_that_is_not_there_fails_without_one() -> None:
    error = "No conversation found with session ID: x"
    result = {"type": "result", "subtype": "error_during_execution", "is_error": True}

    assert run({**result, "errors": [error]}) == [Usage(), TurnFailed("harness-error", error)]


def test_everything_else_is_one_note_and_a_blank_line_nothing() -> None:
    response = {"type": "control_response", "response": {"subtype": "success"}}
    long = "x" * 600

    assert run("", "  ", response, long, INIT | {"session_id": ""}, {"type": ["system"]}) == [
        Note(json.dumps(response)),
        Note("x" * 512),
        Note(json.dumps(INIT | {"session_id": ""})[:512]),
        Note('{"type": ["system"]}'),
    ]


@pytest.mark.parametrize(
    ("exit", "kind"),
    [
        (ExitStatus(None, 9, interrupted=True), "canceled"),
        (ExitStatus(1, stderr_tail="Invalid API key · Please run /login\n"), "auth"),
        (ExitStatus(1, stderr_tail="boom\n"), "harness-error"),
        (ExitStatus(0), "harness-error"),
    ],
)
def test_an_end_without_a_result_is_judged_by_how_it_came(exit: ExitStatus, kind: str) -> None:
    verdict = ClaudeCode().classify_exit(exit)

    assert isinstance(verdict, TurnFailed)
    assert verdict.kind == kind


CALL = {"type": "tool_use", "id": "t", "name": "mcp__claude_bridge__git", "input": {"a": 1}}
SAMPLES: list[Json] = [
    INIT,
    RESULT,
    assistant({"type": "text", "text": "x"}, {"type": "thinking", "thinking": "y"}, CALL),
    {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t"}]}},
    frame("content_block_start", index=1, content_block=CALL),
    frame("content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": "x"}),
    {"type": "system", "subtype": "api_retry", "attempt": 1, "error_status": 500, "error": "x"},
    {
        "type": "rate_limit_event",
        "rate_limit_info": {"rateLimitType": "x", "unifiedWindows": {"y": {"utilization": 1}}},
    },
]


@given(st.lists(lines_like(SAMPLES), max_size=5))
def test_any_line_gives_events_or_one_note(lines: list[str]) -> None:
    check_totality(ClaudeCode, lines)


def test_lines_nested_without_end_are_notes() -> None:
    deep = '{"a":' * 200_000

    assert run(deep) == [Note(deep[:512])]
