"""Events as `mur watch` prints them. CLI reference, *mur watch*."""

from typing import Any

import pytest

from murmur.cli.watch_lines import WatchLines, short_context, wrapped
from murmur.door.extensions import STREAM


def status(state: str, message: str, *, final: bool = False, **frame: Any) -> dict[str, Any]:
    return {
        "statusUpdate": {
            "taskId": "tsk_1",
            "contextId": "ctx_0123456789abcdef",
            "status": {"state": state},
            "metadata": {STREAM: {"frame": "status", "message": message, "final": final, **frame}},
        }
    }


def frame(name: str, **fields: Any) -> dict[str, Any]:
    return {"metadata": {STREAM: {"frame": name, **fields}}}


def shown(*results: dict[str, Any]) -> str:
    lines = WatchLines()
    return "".join(lines.show(result).text for result in results)


def test_a_status_is_its_state_and_message_and_a_final_one_its_state_alone() -> None:
    assert shown(status("TASK_STATE_WORKING", "inference turn 1")) == (
        "[working]  inference turn 1\n"
    )
    assert shown(status("TASK_STATE_INPUT_REQUIRED", "which?")) == "[input-required] which?\n"
    assert shown(status("TASK_STATE_FAILED", "session ended", final=True)) == "[failed]\n"
    assert shown(status("TASK_STATE_NEW", "x", final=True)) == "[TASK_STATE_NEW]\n"


def test_a_completed_task_s_answer_follows_wrapped_and_indented() -> None:
    answer = "word " * 30 + "\n\nshort"
    text = shown(status("TASK_STATE_COMPLETED", "session ended", final=True, response=answer))
    head, *lines = text.splitlines()
    assert head == "[completed]"
    assert all(line == "" or line.startswith("  ") for line in lines)
    assert all(len(line) <= 80 for line in lines) and lines[-1] == "  short"
    assert wrapped("x" * 200) == "  " + "x" * 200 + "\n"


def test_the_answer_of_a_plain_a2a_stream_comes_from_its_artifact() -> None:
    update = {
        "artifactUpdate": {
            "taskId": "tsk_1",
            "artifact": {"name": "response", "parts": [{"text": "yes"}]},
        }
    }
    assert shown(update, status("TASK_STATE_COMPLETED", "", final=True)) == "[completed]\n  yes\n"


OUTCOMES: dict[str, tuple[dict[str, Any], str]] = {
    "ok": ({"isError": False}, " [ok]"),
    "error": ({"isError": True}, " [error]"),
    "a command": ({"isError": False, "exitCode": 0, "durationMs": 12}, " [ok, exit 0, 12ms]"),
    "truncated": ({"isError": False, "truncated": True}, " [ok, truncated]"),
    "none reported": ({}, ""),
}


@pytest.mark.parametrize("case", OUTCOMES)
def test_the_bracket_after_a_tool_is_the_call_s_outcome(case: str) -> None:
    fields, bracket = OUTCOMES[case]
    text = shown(frame("artifact", toolName="bash", content="one\n\ntwo", **fields))
    assert text == f"[artifact] tool: bash{bracket} | one\n\n  two\n"


def test_streamed_text_is_printed_as_it_comes_and_what_follows_starts_a_line() -> None:
    pieces = [frame("text", text=piece, final=False) for piece in ("a ", "b")]
    ended = frame("text", text="", final=True)
    assert shown(*pieces, ended, status("TASK_STATE_WORKING", "x")) == "a b\n[working]  x\n"
    whole = frame("text", text="line\n", final=False)
    assert shown(whole, status("TASK_STATE_WORKING", "x")) == "line\n[working]  x\n"


def test_a_threaded_capsule_s_label_names_context_and_turn() -> None:
    ack = frame("connection-ack", role="observer", conversationMode="threaded")
    text = shown(
        ack,
        status("TASK_STATE_WORKING", "inference turn 2"),
        status("TASK_STATE_COMPLETED", "session ended", final=True),
    )
    assert text == (
        "[ctx_01234567... / turn 2 / working] inference turn 2\n"
        "[ctx_01234567... / turn 2 / completed]\n"
    )
    assert short_context("their own context") == "their own co..."


def test_what_a_model_writes_cannot_steer_the_terminal() -> None:
    text = shown(
        frame("text", text="\x1b[2Jhi\r\u202e", final=False),
        frame("artifact", toolName="\x1b]0;x", content="\x07", isError=False),
    )
    assert "\x1b" not in text and "\x07" not in text and "\r" not in text
    assert "\\x1b[2Jhi" in text


def test_gaps_and_losses_are_notes_and_thinking_heartbeats_and_the_unknown_are_nothing() -> None:
    lines = WatchLines()
    assert lines.show(frame("gap", firstAvailableId=9)).notes == ("events before id 9 are gone",)
    assert "3 events were lost" in lines.show(frame("lagged", missed=3)).notes[0]
    for result in (
        frame("thinking", text="hm", final=False),
        frame("tool-call-started", toolName="x"),
        frame("something-new", a=1),
        {},
        {"metadata": None},
        {"statusUpdate": {"status": None}},
    ):
        assert lines.show(result).text == ""
    assert lines.show(frame("capsule-closed")).closed
