"""The gate in front of calls that write below a read-only path. spec/sessions.md 11.2 and 26."""

from pathlib import Path
from typing import Any

import pytest

from murmur.guest.calls import GuestResult, ToolResult
from murmur.session.attempt import Attempt
from murmur.session.inventory import Tool, ToolKind, shell_tool
from murmur.session.protection import Protection
from murmur.session.tests.scripted import call, calls, rig, says

RAN: list[str] = []


def _tool(artifact: str, data: str, attempt: Attempt) -> GuestResult:
    RAN.append(data)
    return ToolResult("passed", data="written")


def _refused(tmp_path: Path, block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The `tool` message that the model reads, and the trace of the call."""
    RAN.clear()
    at = rig(
        tmp_path,
        [calls(block), says("done")],
        tools={"t": _tool},
        shells=["bash", "rm"],
        read_only=["tests"],
    )
    at.submit()
    at.runner.run(at.take())
    trace = [dict(event) for event in at.events()][3:-2]
    return at.requests[1]["messages"][-1], trace


@pytest.mark.parametrize(
    ("block", "kind", "target", "signal"),
    [
        (call("t", x=1, dest_path="tests/a"), "tool", "t", "key dest_path"),
        (call("bash", command="echo x > tests/a"), "shell", "bash", "redirection >"),
        (call("rm", command="-f tests/a"), "shell", "rm", "target of rm"),
    ],
)
def test_a_write_below_a_read_only_path_is_refused_and_its_line_is_the_only_one(
    tmp_path: Path, block: dict[str, Any], kind: str, target: str, signal: str
) -> None:
    message, trace = _refused(tmp_path, block)
    text = message["content"][0]["text"]
    assert message["is_error"] is True and RAN == []
    for fact in (target, "tests/a", "protects tests", "Nothing was run", "can still be read"):
        assert fact in text
    # Not fenced: the words are the runtime's own.
    assert "untrusted-content" not in text
    assert [event["event_type"] for event in trace] == ["protected_path_denied"]
    found = trace[0]
    assert (found["call"], found["target"], found["signal"]) == (kind, target, signal)
    assert (found["path"], found["rule"], found["reason"]) == ("tests/a", "tests", text)


def test_a_call_that_only_reads_goes_through(tmp_path: Path) -> None:
    message, trace = _refused(tmp_path, call("t", x=1, path="tests/a"))
    assert RAN == ['{"x":1,"path":"tests/a"}'] and message["is_error"] is False
    assert trace[0]["event_type"] == "tool_call"


def test_a_missing_field_is_told_before_a_protected_path(tmp_path: Path) -> None:
    _, trace = _refused(tmp_path, call("t", dest="tests/a"))
    assert trace[0]["event_type"] == "tool_input_refused"


def test_a_call_that_no_shell_tool_takes_is_left_to_the_dispatch(tmp_path: Path) -> None:
    gate = Protection(str(tmp_path), ["tests"], [shell_tool("rm")], {})
    assert gate.write_of(shell_tool("rm"), {"command": 7}) is None
    assert gate.write_of(Tool("s", ToolKind.SKILL, "1", "", {}), {"dest": "tests/a"}) is None


def test_a_narrowed_tool_names_its_paths_from_its_own_folder(tmp_path: Path) -> None:
    tool = Tool("t", ToolKind.WASM, "1", "", {}, "local/t")
    gate = Protection(str(tmp_path), ["cache/fixed"], [tool], {"local/t": "cache"})
    assert gate.write_of(tool, {"dest": "fixed/a"}) is not None
    assert gate.write_of(tool, {"dest": "cache/fixed/a"}) is None
