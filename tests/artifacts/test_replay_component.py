"""driver-replay as the component that runs: design/decisions.md 6."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from murmur.guest.client import Guests
from tests.artifacts.components import Artifact, Called, compile_artifact

REQUEST = {
    "model": "replay",
    "max_tokens": 100,
    "tools": [],
    "params": {},
    "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
}


@pytest.fixture(scope="module")
def driver(guests: Guests, tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    return compile_artifact("driver-replay", guests, tmp_path_factory.mktemp("compiled"))


def ask(driver: Artifact, config: dict[str, Any], folder: Path | None = None) -> Called:
    return driver.call(REQUEST, folder, MURMUR_ARTIFACT_CONFIG=json.dumps(config))


def test_a_turn_is_answered_and_streamed(driver: Artifact) -> None:
    turn = {"stream": ["a", "b"], "tool_calls": [{"name": "x", "input": {"é": 1}}]}

    called = ask(driver, {"turns": [turn]})

    assert (called.result.status, called.result.summary) == ("passed", None)
    assert called.data == {
        "stop_reason": "tool_call",
        "content": [
            {"type": "text", "text": "ab"},
            {"type": "tool_call", "id": "call_1", "name": "x", "input": {"é": 1}},
        ],
    }
    assert called.events == [
        ("emit-chunk", {"chunk": "a"}),
        ("emit-chunk", {"chunk": "b"}),
        ("tool-call-started", {"id": "call_1", "name": "x"}),
        ("tool-call-input-bytes", {"id": "call_1", "bytes": 8}),
    ]


def test_the_status_is_error_exactly_when_the_stop_reason_is(driver: Artifact) -> None:
    scripted = ask(driver, {"turns": [{"error": "boom"}]})
    exhausted = ask(driver, {"turns": []})

    for called in (scripted, exhausted):
        assert called.result.status == "error"
        assert called.data["stop_reason"] == "error"
        assert called.result.summary == called.data["error"]
    assert scripted.result.summary == "boom"


def test_a_script_is_read_from_the_work_folder_and_from_nowhere_else(
    driver: Artifact, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "script.jsonl").write_text('{"text":"from the file"}\n')
    (tmp_path / "outside.jsonl").write_text('{"text":"from outside"}\n')
    (work / "link.jsonl").symlink_to(tmp_path / "outside.jsonl")

    assert ask(driver, {"script": "script.jsonl"}, work).data["content"][0]["text"] == (
        "from the file"
    )
    for name in ("../outside.jsonl", str(tmp_path / "outside.jsonl"), "link.jsonl"):
        answer = ask(driver, {"script": name}, work)
        assert answer.result.status == "error"
        assert "cannot read the script" in str(answer.result.summary)


def test_a_delay_is_waited_for(driver: Artifact) -> None:
    ask(driver, {"turns": [{"text": "warm"}]})
    begun = time.monotonic()

    ask(driver, {"turns": [{"text": "x", "delay_ms": 300}]})

    assert time.monotonic() - begun >= 0.3
