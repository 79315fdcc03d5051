"""`transport: process`, through whole sessions with a stand-in harness. spec/artifacts.md 13."""

from pathlib import Path

import pytest

from tests.endtoend.capsule import Place
from tests.endtoend.harnessed import Harnessed


@pytest.fixture
def at(place: Place, project: Path) -> Harnessed:
    return Harnessed(place, project)


def test_a_harness_answers_the_task_and_calls_the_capsules_tools(at: Harnessed) -> None:
    at.capsule()
    (at.work / "note.txt").write_text("one\ntwo\n")
    done = at.run(
        [
            ["say", {"text_delta": "I look"}],
            ["say", {"text": "I look"}],
            ["call", "tool-editor", {"operation": "read_file", "path": "note.txt"}],
            ["say", {"text": "found it"}],
            ["say", {"usage": {"input": 11, "output": 7, "cache-read": 3, "thinking": 2}}],
            ["end"],
        ]
    )
    assert done.returncode == 0, done.stderr
    assert "two" in at.seen()[2]
    events = [line["event_type"] for line in at.trace()]
    assert events.count("harness_start") == 1
