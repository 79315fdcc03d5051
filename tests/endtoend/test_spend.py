"""Spend ceilings in whole runs: one session's, and the machine's with its ledger.

spec/sessions.md 20; seeds/manifest-schema.md, *Session spend ceiling*.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.endtoend.capsule import Place, read_trace, replay, shell_turn, write_manifest
from tests.endtoend.ground import Done

CAP = 500
# Ids and paths in a request are tokens too, and no two runs have the same ones.
MARGIN = 250
TWO_TURNS = [shell_turn("bash", "echo one"), {"text": "done"}]


class Thrift:
    """A project whose capsule takes two turns, and the machine it runs on."""

    def __init__(self, place: Place, project: Path) -> None:
        self.place, self.project = place, project
        (project / "work").mkdir()
        self.home = place.home / ".murmur"

    def capsule(self, **inference: Any) -> None:
        manifest = replay(TWO_TURNS, capabilities={"shell": {"allow": ["bash"]}})
        manifest["inference"] |= {"max_tokens": CAP, **inference}
        write_manifest(self.project, manifest)

    def allow(self, tokens: int) -> None:
        """Sets the project's own ceiling on the machine's day."""
        folder = self.project / ".murmur"
        folder.mkdir(exist_ok=True)
        (folder / "config.yaml").write_text(f"spend: {{machine_tokens_per_day: {tokens}}}\n")

    def run(self) -> tuple[Done, list[dict[str, Any]]]:
        done = self.place.mur("run", "--task", "go", "--workdir", "work", cwd=self.project)
        return done, read_trace(self.records())

    def records(self) -> Path:
        below = (self.home / "records").joinpath(*self.project.parts[1:], "work")
        return sorted(below.glob("ses_*"))[-1]

    def result(self) -> str:
        return (self.records() / "out" / "result.txt").read_text()

    def ledger(self) -> list[dict[str, Any]]:
        return [
            json.loads(line)
            for path in sorted((self.home / "spend").glob("*.jsonl"))
            for line in path.read_text().splitlines()
        ]


@pytest.fixture
def thrift(place: Place, project: Path) -> Thrift:
    return Thrift(place, project)


def _lines(trace: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [line for line in trace if line["event_type"] == kind]


def _tokens(line: Mapping[str, Any]) -> int:
    return int(line["input_tokens"] + line["output_tokens"])


def test_a_call_that_would_pass_the_session_s_ceiling_is_not_made(thrift: Thrift) -> None:
    before = thrift.ledger()
    thrift.capsule()
    done, trace = thrift.run()
    assert done.returncode == 0, done.stderr
    first, second = _lines(trace, "inference")
    needed = _tokens(first) + second["input_tokens"] + CAP
    assert (trace[0]["max_session_tokens"], trace[0]["machine_tokens_per_day"]) == (None, None)

    thrift.capsule(max_session_tokens=needed + MARGIN)
    done, trace = thrift.run()
    assert done.returncode == 0, done.stderr

    thrift.capsule(max_session_tokens=needed - MARGIN)
    done, trace = thrift.run()
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "status:  spend_ceiling_reached")
    assert "error[E-RUN-040]: the task ended spend_ceiling_reached" in done.stderr
    ceiling = trace[0]["max_session_tokens"]
    assert ceiling == needed - MARGIN
    (made,) = _lines(trace, "inference")
    (refused,) = _lines(trace, "spend_ceiling_reached")
    assert (refused["limit"], refused["ceiling"], refused["turn"]) == ("session", ceiling, 1)
    assert refused["used"] == _tokens(made)
    assert refused["used"] + refused["requested"] > ceiling
    (ended,) = _lines(trace, "task_end")
    assert ended["exit_status"] == trace[-1]["exit_status"] == "spend_ceiling_reached"
    assert _lines(trace, "task_failed") == []
    text = thrift.result()
    assert text.startswith("stopped: spend ceiling reached: ")
    assert text.rstrip().endswith("retrying will not get past it")
    assert thrift.ledger() == before


def test_the_machine_s_ceiling_counts_the_runs_of_a_day_and_refuses_the_one_too_many(
    thrift: Thrift,
) -> None:
    before = thrift.ledger()
    thrift.capsule()
    thrift.allow(1_000_000)
    done, trace = thrift.run()
    assert done.returncode == 0, done.stderr
    calls = _lines(trace, "inference")
    assert trace[0]["machine_tokens_per_day"] == 1_000_000
    rows = thrift.ledger()
    new = rows[len(before) :]
    assert [(row["session_id"], _tokens(row)) for row in new] == [
        (trace[0]["session_id"], _tokens(call)) for call in calls
    ]
    used = sum(map(_tokens, rows))

    thrift.allow(used + 100)
    done, trace = thrift.run()
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "status:  spend_ceiling_reached")
    (refused,) = _lines(trace, "spend_ceiling_reached")
    assert (refused["limit"], refused["ceiling"], refused["used"]) == ("machine", used + 100, used)
    assert _lines(trace, "inference") == [] and thrift.ledger() == rows
    assert "spend.machine_tokens_per_day" in thrift.result()


def test_session_status_says_what_the_machine_used_and_may_use_today(thrift: Thrift) -> None:
    asks = {"tool_calls": [{"name": "session-status", "input": {}}]}
    told = {"expect": '"limit": 7654321', "text": "done"}
    manifest = replay([asks, told], trace={"capture": "content"})
    manifest["inference"]["max_tokens"] = CAP
    write_manifest(thrift.project, manifest)
    thrift.allow(7654321)
    before = sum(map(_tokens, thrift.ledger()))
    done, trace = thrift.run()
    assert done.returncode == 0, done.stderr
    first = _lines(trace, "inference")[0]
    (call,) = _lines(trace, "tool_call")
    answer = str(call["output"])
    status = json.loads(answer[answer.index("{") : answer.rindex("}") + 1])
    assert status["spend"]["machine_today"] == {"used": before + _tokens(first), "limit": 7654321}
