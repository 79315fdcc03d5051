"""The drivers of harnesses as the components that run: given nothing, one instance a run.

spec/artifacts.md 5, 6 and 13.2.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from murmur.guest.calls import PROCESS_DRIVER, GuestCall, GuestFailure, Limits
from murmur.guest.client import Guests
from tests.artifacts.components import Artifact, compile_artifact

TOKEN = "0123456789abcdef0123456789abcdef"
SESSION = "5d3f9b62-5ef4-4a3e-9a53-0d6c6a1b7c11"
REQUEST: dict[str, Any] = {
    "model": "m",
    "system-prompt": "You are a capsule.",
    "config": None,
    "bridge": {
        "server-name": "claude_bridge",
        "url": "http://127.0.0.1:4711/bridge",
        "bearer-token": TOKEN,
        "tool-names": ["tool-editor"],
    },
    "session": {"id": SESSION, "mode": "new"},
    "harness-version": None,
    "task": "Fix it, é",
}
CALL = {"type": "tool_use", "id": "t1", "name": "mcp__claude_bridge__tool-editor", "input": {}}
USED = {"input_tokens": 22, "output_tokens": 14, "cache_read_input_tokens": 3}


@dataclass
class Driver:
    """One driver in its guests."""

    artifact: Artifact

    def call(self, function: str, *arguments: Any, fresh: bool = False) -> Any:
        request = GuestCall(
            artifact=self.artifact.name,
            role="process-driver",
            compiled=self.artifact.compiled,
            key=self.artifact.name,
            function=f"{PROCESS_DRIVER}#{function}",
            arguments=arguments,
            limits=Limits(deadline_seconds=30),
            in_task=False,
            lasting=True,
            fresh=fresh,
        )
        result = self.artifact.guests.invoke(request)
        assert not isinstance(result, GuestFailure), result
        return result.value

    def begin(self, **members: Any) -> Any:
        return self.call("launch", {**REQUEST, **members}, fresh=True)

    def parse(self, *lines: object) -> list[Any]:
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        events: list[Any] = self.call("parse", texts)
        return events


@pytest.fixture(scope="module", params=["driver-claude-code", "driver-codex"])
def driver(
    request: pytest.FixtureRequest, guests: Guests, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Driver]:
    folder: Path = tmp_path_factory.mktemp("compiled")
    yield Driver(compile_artifact(request.param, guests, folder))


def name_of(driver: Driver) -> str:
    return driver.artifact.name.removeprefix("driver-")


def test_a_driver_describes_its_harness(driver: Driver) -> None:
    said = driver.call("describe", fresh=True)

    assert said["harness"] == name_of(driver)
    assert said["required-env"] == ["HOME", "PATH"]
    assert said["version-args"] == ["--version"]
    assert said["reports-usage"] is True
    assert len(said["tested-versions"]) == 1


def test_a_plan_holds_the_task_and_keeps_the_token_off_the_command_line(driver: Driver) -> None:
    plan = driver.begin()

    assert "Fix it, é" in bytes(plan["stdin"]).decode()
    assert TOKEN not in json.dumps(plan["args"])
    assert TOKEN in json.dumps([plan["files"], plan["env-set"]])
    assert "m" in plan["args"]


def test_a_refusal_is_the_err_of_launch(driver: Driver) -> None:
    refusal = driver.begin(config='{"effort":"high"}')

    assert refusal == (
        f"inference.driver.config: {driver.artifact.name} has no settings; leave the block out"
    )


def test_whatever_a_line_is_the_instance_lives_on(driver: Driver) -> None:
    driver.begin()
    half = '{"type":"error","message":"\\ud800","x":"' + "y" * 600 + '"}'
    deep = "[" * 100_000
    lines = ["", "plain", deep, '{"type":' + deep, "1e999", "9" * 9000, half, "\x00", "null"]

    allowed = {"type": "unheard-of", "x": json.loads("[" * 99 + "]" * 99)}
    for line in [*lines, json.dumps(allowed)]:
        events = driver.parse(line)
        assert [case for case, _ in events] == (["note"] if line else [])
    verdict = driver.call(
        "classify-exit",
        {
            "code": 1,
            "signal": None,
            "stderr-tail": "x",
            "interrupted": True,
            "saw-terminal": False,
        },
    )
    assert verdict[0] == "turn-failed"
    assert verdict[1]["kind"] == "canceled"


def test_a_long_line_is_read_well_within_a_calls_time(driver: Driver) -> None:
    driver.begin()
    text = "é" * 2_000_000
    lines = {
        "claude-code": {"type": "assistant", "message": {"content": [{"type": "text"}]}},
        "codex": {"type": "item.completed", "item": {"type": "agent_message", "text": text}},
    }
    line: Any = lines[name_of(driver)]
    if name_of(driver) == "claude-code":
        line["message"]["content"][0]["text"] = text
    begun = time.monotonic()

    assert driver.parse(line) == [("text", text)]
    assert time.monotonic() - begun < 15


def test_what_a_line_said_is_known_at_the_next_and_forgotten_by_the_next_run(
    driver: Driver,
) -> None:
    runs: dict[str, tuple[list[Any], list[Any]]] = {
        "claude-code": (
            [{"type": "result", "is_error": False, "result": "x", "usage": USED}],
            [
                ("usage", _usage(input=22, output=14, cache_read=3)),
                ("usage", _usage(input=44, output=28, cache_read=6)),
            ],
        ),
        "codex": (
            [
                {"type": "thread.started", "thread_id": "th"},
                {"type": "turn.completed", "usage": {"input_tokens": 5, "output_tokens": 2}},
            ],
            [
                ("usage", _usage(input=5, output=2, cache_read=0, cache_creation=0, thinking=0)),
                ("usage", _usage(input=0, output=0, cache_read=0, cache_creation=0, thinking=0)),
            ],
        ),
    }
    lines, (first, second) = runs[name_of(driver)]

    for _ in range(2):
        driver.begin()
        assert first in driver.parse(*lines)
        assert second in driver.parse(*lines)


def test_a_tools_name_reaches_the_runtime_bare(driver: Driver) -> None:
    driver.begin()
    item = {"id": "t1", "type": "mcp_tool_call", "server": "claude_bridge", "tool": "tool-editor"}
    lines: dict[str, Any] = {
        "claude-code": {"type": "assistant", "message": {"content": [CALL]}},
        "codex": {"type": "item.started", "item": item},
    }

    assert driver.parse(lines[name_of(driver)]) == [
        ("tool-call", {"id": "t1", "name": "tool-editor", "input": "{}"})
    ]


def _usage(**counts: int) -> dict[str, int | None]:
    members = ("input", "output", "cache_read", "cache_creation", "thinking")
    return {member.replace("_", "-"): counts.get(member) for member in members}
