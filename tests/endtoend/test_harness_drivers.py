"""driver-claude-code and driver-codex through whole sessions. spec/artifacts.md 13.

The harnesses are the programs of tests/harnesses, whose task is a script.
"""

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.endtoend.capsule import Place, Running, read_trace, write_manifest
from tests.harnesses.installing import install

Turns = Sequence[Mapping[str, Any]]
LOOKS = {
    "thinking": "a tool will do",
    "text": "I look.",
    "tool_calls": [
        {"name": "tool-editor", "input": {"operation": "read_file", "path": "note.txt"}}
    ],
}
SAYS = {"text": "Two lines."}
HOSTS = {
    "claude-code": ["api.anthropic.com", "platform.claude.com"],
    "codex": ["chatgpt.com", "api.openai.com", "auth.openai.com"],
}
PATH = "/usr/bin:/bin"


class Capsule:
    """A project whose capsule runs one of the harnesses."""

    def __init__(self, place: Place, project: Path, harness: str) -> None:
        self.place = place
        self.project = project
        self.harness = harness
        self.work = project / "w"
        self.work.mkdir()
        (self.work / "note.txt").write_text("one\ntwo\n")
        self.programs = project.parent / "programs"
        install(self.programs)
        self.config = place.home / f".{harness.partition('-')[0]}"
        self.config.mkdir(exist_ok=True)
        self.log_in()
        self.context = project.parent.name
        self.manifest = {
            "name": f"with-{harness}",
            "version": "0.1.0",
            "artifacts": [
                {"name": f"local/driver-{harness}", "version": "0.1.0", "runtime": "driver"},
                {"name": "local/tool-editor", "version": "0.1.0", "runtime": "tool"},
            ],
            "inference": {
                "transport": "process",
                "model": "a-model",
                "driver": {"artifact": f"local/driver-{harness}"},
            },
            "lifecycle": {"conversation": "threaded"},
            "capabilities": {
                "env": {"allow": ["HOME", "PATH"]},
                "harness": {"paths": [{"path": str(self.config), "access": "read-write"}]},
                "network": {"allow": HOSTS[harness]},
            },
            "trace": {"capture": "content"},
        }
        write_manifest(project, self.manifest)

    @property
    def login(self) -> Path:
        names = {"claude-code": ".credentials.json", "codex": "auth.json"}
        return self.config / names[self.harness]

    def log_in(self, account: str = "claudeAiOauth") -> None:
        self.login.write_text(json.dumps({account: "secret"}))

    @property
    def environ(self) -> dict[str, str]:
        return {"PATH": f"{self.programs}:{PATH}"}

    def run(self, turns: Turns, *arguments: str) -> subprocess.CompletedProcess[str]:
        task = json.dumps(list(turns))
        return self.place.mur(
            *("run", "--workdir", "w", "--task", task, *arguments),
            cwd=self.project,
            environ=self.environ,
        )

    def start(self, *arguments: str) -> Running:
        return self.place.start(
            *("--workdir", "w", *arguments), cwd=self.project, environ=self.environ
        )

    @property
    def records(self) -> Path:
        """The newest session's."""
        root = self.place.home / ".murmur" / "records" / str(self.work.resolve())[1:]
        return max(root.iterdir(), key=lambda each: each.name)

    def lines(self, event: str) -> list[dict[str, Any]]:
        return [line for line in read_trace(self.records) if line["event_type"] == event]

    def line(self, event: str) -> dict[str, Any]:
        (found,) = self.lines(event)
        return found

    @property
    def result(self) -> str:
        return (self.records / "out" / "result.txt").read_text()


@pytest.fixture(params=["claude-code", "codex"])
def capsule(request: pytest.FixtureRequest, place: Place, project: Path) -> Capsule:
    return Capsule(place, project, request.param)


def test_a_harness_answers_thinks_and_calls_the_capsules_tools(capsule: Capsule) -> None:
    done = capsule.run([LOOKS, SAYS])

    assert done.returncode == 0, done.stderr
    assert capsule.result.strip() == "Two lines."
    start = capsule.line("harness_start")
    assert start["harness"] == capsule.harness
    assert start["binary"] == str(capsule.programs / capsule.harness.partition("-")[0])
    assert (start["version_tested"], start["session_mode"]) == (True, "new")
    assert "tool-editor" in start["bridge_tools"]
    call = capsule.line("tool_call")
    assert (call["tool_name"], call["status"]) == ("tool-editor", "ok")
    assert "two" in json.dumps(call["output"])
    turns = capsule.lines("inference")
    assert [turn["decision"] for turn in turns] == ["tool_call", "end_turn"]
    assert sum(turn.get("input_tokens", 0) for turn in turns) == 22
    assert sum(turn.get("output_tokens", 0) for turn in turns) == 14
    ended = capsule.line("harness_exit")
    assert (ended["code"], ended["cause"]) == (0, "terminal")


def test_a_tool_that_fails_is_told_as_failed_and_the_harness_goes_on(capsule: Capsule) -> None:
    missing = {"name": "tool-editor", "input": {"operation": "read_file", "path": "none.txt"}}

    done = capsule.run([{"tool_calls": [missing]}, SAYS])

    assert done.returncode == 0, done.stderr
    assert capsule.line("tool_call")["status"] == "error"


def test_a_login_other_than_a_subscriptions_is_warned_of_once(capsule: Capsule) -> None:
    capsule.log_in("primaryApiKey")

    done = capsule.run([SAYS])

    auth = {"claude-code": "/login managed key", "codex": "unknown"}[capsule.harness]
    assert done.stderr.count("W-SEC-031") == 1, done.stderr
    assert auth in capsule.line("harness_warning")["message"]
    assert {line["auth"] for line in capsule.lines("harness_session")} == {auth}


def test_a_second_run_resumes_the_conversation_and_counts_its_own_tokens(capsule: Capsule) -> None:
    usage = {"usage": {"input_tokens": 100, "output_tokens": 10}}
    first = capsule.run([{**SAYS, **usage}], "--context", capsule.context)
    second = capsule.run([{"recall": True, **usage}], "--context", capsule.context)

    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    assert capsule.line("harness_start")["session_mode"] == "resume"
    (recalled,) = json.loads(capsule.result)
    assert "Two lines." in recalled
    (turn,) = capsule.lines("inference")
    assert (turn["input_tokens"], turn["output_tokens"]) == (100, 10)


def test_a_conversation_that_the_harness_lost_is_said_to_be_lost(capsule: Capsule) -> None:
    capsule.run([SAYS], "--context", capsule.context)
    shutil.rmtree(capsule.config)
    capsule.config.mkdir()
    capsule.log_in()

    done = capsule.run([SAYS], "--context", capsule.context)

    assert done.returncode != 0
    assert "E-RUN-036" in done.stderr
    fresh = capsule.run([SAYS], "--context", capsule.context, "--forget-session")
    assert fresh.returncode == 0, fresh.stderr


def test_a_spent_quota_fails_the_task_and_is_called_one(capsule: Capsule) -> None:
    done = capsule.run([{"status": 429}])

    assert done.returncode != 0
    assert "E-RUN-033" in done.stderr
    failed = capsule.line("harness_failed")
    assert (failed["kind"], failed["source"]) == ("quota", "harness")
    assert "429" in failed["message"]


def test_who_is_not_logged_in_is_told_so(capsule: Capsule) -> None:
    capsule.login.unlink()

    done = capsule.run([SAYS])

    assert done.returncode != 0
    assert "E-RUN-033" in done.stderr
    assert capsule.line("harness_failed")["kind"] == "auth"


def test_a_provider_in_trouble_is_asked_again(capsule: Capsule) -> None:
    done = capsule.run([{"status": 500, "again": True}, SAYS])

    assert done.returncode == 0, done.stderr
    retry = capsule.line("harness_retry")
    assert retry["attempt"] == 1
    assert "500" in retry["reason"]


def test_a_subscriptions_windows_are_in_the_trace(place: Place, project: Path) -> None:
    capsule = Capsule(place, project, "claude-code")
    limits = {
        "status": "allowed_warning",
        "rateLimitType": "five_hour",
        "unifiedWindows": {
            "five_hour": {"utilization": 0.93, "resetsAt": 1796075502},
            "seven_day": {"utilization": 0.4, "resetsAt": 1796080000},
        },
    }

    done = capsule.run([{**SAYS, "limits": limits}])

    assert done.returncode == 0, done.stderr
    assert "W-SEC-031" not in done.stderr
    five, seven = capsule.lines("harness_quota")
    assert (five["name"], five["used"], five["state"]) == ("five_hour", 0.93, "warning")
    assert (five["window_minutes"], five["resets_at_ms"]) == (300, 1796075502000)
    assert (seven["name"], seven["used"]) == ("seven_day", 0.4)


def test_a_canceled_task_interrupts_the_harness(capsule: Capsule) -> None:
    running = capsule.start("--task", json.dumps([{"text": "abcde" * 500, "delay_ms": 60_000}]))
    try:
        running.wait_for("harness_session")
    finally:
        running.end()

    interrupt = capsule.line("harness_interrupt")
    method = {"claude-code": "stdin-message", "codex": "signal-int"}[capsule.harness]
    assert (interrupt["method"], interrupt["delivered"]) == (method, True)
    ended = capsule.line("harness_exit")
    assert (ended["cause"], ended["killed"]) == ("canceled", False)
