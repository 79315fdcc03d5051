"""Scripted sessions, launch after launch: the trace's events in order, status, what is left.

Conversations, resuming, lifecycle, retention and state. spec/sessions.md 9, 12, 13, 18, 19, 22, 23.
"""

import dataclasses
import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.endtoend.capsule import (
    TIMEOUT_SECONDS,
    Place,
    mur_command,
    read_trace,
    replay,
    shell_turn,
    write_manifest,
)

SHELL: dict[str, Any] = {"shell": {"allow": ["sh", "sleep"]}}
THREADED = {"conversation": "threaded"}
WHOLE = ("session_start", "task_start", "inference", "task_end", "session_end")
EDITS = ("session_start", "task_start", "inference", "tool_call", "inference", "task_end")


def writes(path: str, text: str) -> dict[str, Any]:
    arguments = {"operation": "write_file", "dest_path": path, "content": text}
    return {"tool_calls": [{"name": "tool-editor", "input": arguments}]}


@dataclasses.dataclass(frozen=True)
class Ended:
    """A launch that is over, and where its session is recorded."""

    place: Place
    project: Path
    records: Path
    stderr: str

    @property
    def trace(self) -> list[dict[str, Any]]:
        return read_trace(self.records)

    def line(self, kind: str) -> dict[str, Any]:
        (found,) = [each for each in self.trace if each["event_type"] == kind]
        return found

    def result(self) -> str:
        return (self.records / "out" / "result.txt").read_text()

    def messages(self, context: str = "ctx_1") -> list[dict[str, Any]]:
        done = self.place.mur("conversation", "show", context, "--json", cwd=self.project)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)["messages"]
        assert isinstance(found, list)
        return found


@dataclasses.dataclass(frozen=True)
class Launch:
    """One `mur run` and what must come of it; `check` looks at what it left."""

    arguments: tuple[str, ...] = ()
    events: Sequence[str] = WHOLE
    status: str = "ok"
    exit_status: int = 0
    code: str | None = None
    task: str | None = "go"
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    check: Callable[[Ended], object] = lambda ended: None


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A capsule that answers `turns`, and its launches in order."""

    name: str
    turns: Sequence[Mapping[str, Any]]
    launches: Sequence[Launch]
    manifest: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def counts(context: str, expected: int) -> Callable[[Ended], None]:
    def check(ended: Ended) -> None:
        assert len(ended.messages(context)) == expected

    return check


def said(text: str) -> Callable[[Ended], None]:
    def check(ended: Ended) -> None:
        assert ended.result() == text

    return check


def unrecorded(ended: Ended) -> None:
    done = ended.place.mur("conversation", "show", "ctx_1", "--json", cwd=ended.project)
    assert done.returncode == 1 and "E-CNV-001" in done.stderr


def resumed(ended: Ended) -> None:
    start = ended.line("session_start")
    assert start["resumed_from"].startswith("ses_") and start["context_id"] == "ctx_1"
    assert start["resumed_from"] != start["session_id"]
    assert ended.line("task_start")["context_id"] == "ctx_1"
    assert ended.result() == "two"


def per_task_result(ended: Ended) -> None:
    task = ended.line("task_start")["task_id"]
    assert (ended.records / "out" / f"result_{task}.txt").read_text() == ended.result()


def kept_working(ended: Ended) -> None:
    assert ended.line("task_end")["keep_working"] == {"stopped_by": "limit"}
    assert ended.result() == "three"
    told = [each["content"][0]["text"] for each in ended.messages() if each["role"] == "user"]
    assert told == ["go", "Go on.", "Go on."]


def check_passed_after_one_reopen(ended: Ended) -> None:
    outcomes = [e["outcome"] for e in ended.trace if e["event_type"] == "done_check"]
    assert outcomes == ["failed", "passed"]
    reopened = ended.line("task_reopened")
    assert reopened["hook_name"] == "lifecycle.done_check" and "Exit code: 1" in reopened["reason"]
    assert ended.line("task_end")["reopen_count"] == 1


def check_outcome(outcome: str) -> Callable[[Ended], None]:
    def check(ended: Ended) -> None:
        assert ended.line("done_check")["outcome"] == outcome

    return check


def reached_deadline(ended: Ended) -> None:
    assert ended.line("task_end")["exit_status"] == "deadline_reached"
    start, fell = ended.line("session_start"), ended.line("deadline_reached")
    assert start["deadline"] == {"source": "own", "at": fell["at"], "secs": 8}
    assert ended.line("session_end")["exit_status"] == "deadline_reached"
    assert not any((ended.place.home / ".murmur" / "sessions").iterdir())


def two_sessions_left(ended: Ended) -> None:
    left = [each for each in ended.records.parent.iterdir() if each.name.startswith("ses_")]
    assert len(left) == 2 and ended.records in left
    line = ended.line("retention")
    assert (line["store"], line["reason"], line["removed"]) == ("sessions", "max_sessions", 1)


def trimmed(ended: Ended) -> None:
    line = ended.line("retention")
    assert (line["store"], line["targets"], line["messages_dropped"]) == ("records", ["ctx_1"], 2)
    assert len(ended.messages()) == 4


def state_kept(ended: Ended) -> None:
    store = ended.place.home / ".murmur" / "state" / "scripted"
    assert (store / "note.txt").read_text() == "kept"
    assert store.stat().st_mode & 0o777 == 0o700
    assert ended.line("tool_call")["status"] == "ok"


def prompted(source: str, text: str) -> Callable[[Ended], None]:
    def check(ended: Ended) -> None:
        assert ended.line("session_start")["system_prompt_source"] == source
        blob = ended.line("inference")["system_sha"]
        assert text in (ended.records / "blobs" / blob).read_text()

    return check


def bound(ended: Ended) -> None:
    prompted("manifest", "Be brief.")(ended)
    assert "style" not in ended.line("session_start")["tools_declared"]


def released(ended: Ended) -> None:
    prompted("cli", "Be long.")(ended)
    assert "style" in ended.line("session_start")["tools_declared"]


STYLE = {"name": "local/style", "source": "style/", "runtime": "skill"}
CONTENT = {"trace": {"capture": "content"}}
KEEP = {"keep_working": {"message": "Go on.", "limit": 2}}
ANSWERS = [{"text": word} for word in ("one", "two", "three")]


def replay_with(turns: Sequence[Mapping[str, Any]], *more: Mapping[str, Any]) -> list[Any]:
    return [*replay(turns)["artifacts"], *more]


def with_state(turns: Sequence[Mapping[str, Any]]) -> list[Any]:
    driver, editor = replay(turns)["artifacts"]
    return [driver, {**editor, "capabilities": {"state": {}}}]


SCENARIOS = [
    Scenario(
        "stateless launches record one conversation and load none",
        ANSWERS,
        [
            Launch(("--context", "ctx_1"), check=counts("ctx_1", 2)),
            Launch(("--context", "ctx_1"), check=said("one")),
            Launch(("--context", "ctx_1"), check=counts("ctx_1", 6)),
        ],
    ),
    Scenario(
        "threaded launches continue one conversation",
        ANSWERS,
        [
            Launch(("--context", "ctx_1"), check=per_task_result),
            Launch(("--context", "ctx_1"), check=said("two")),
        ],
        {"lifecycle": THREADED},
    ),
    Scenario(
        "--resume loads the newest session's conversation though the capsule is stateless",
        ANSWERS,
        [Launch(("--context", "ctx_1")), Launch(("--resume",), check=resumed)],
    ),
    Scenario(
        "--resume of a session that recorded nothing has nothing to continue",
        ANSWERS,
        [
            Launch(("--context", "ctx_1"), check=unrecorded),
            Launch(("--resume",), status="failed", exit_status=1, code="E-RUN-017", events=()),
        ],
        {"context": {"record": "off"}},
    ),
    Scenario(
        "a record store of another name",
        ANSWERS,
        [
            Launch(
                ("--context", "ctx_1"),
                check=lambda e: (
                    e.place.home / ".murmur/conversations/shared/ctx_1/conversation.jsonl"
                ).stat(),
            )
        ],
        {"context": {"record_store": "shared"}},
    ),
    Scenario(
        "a failed task is recorded too, and resumed",
        [{"error": "no"}, {"text": "two"}],
        [
            Launch(
                ("--context", "ctx_1"),
                ["session_start", "task_start", "inference", "task_failed", "task_end"],
                "failed",
                1,
                "E-RUN-040",
                check=counts("ctx_1", 1),
            ),
        ],
        {"inference": {**replay([])["inference"], "retry": {"max_retries": 0}}},
    ),
    Scenario(
        "keep_working answers a turn end until its limit",
        ANSWERS,
        [
            Launch(
                ("--context", "ctx_1"),
                [
                    "session_start",
                    "task_start",
                    "inference",
                    "task_kept_working",
                    "inference",
                    "task_kept_working",
                    "inference",
                    "task_end",
                ],
                check=kept_working,
            )
        ],
        {"lifecycle": KEEP},
    ),
    Scenario(
        "a failing done_check opens the task again",
        [{"text": "one"}, shell_turn("sh", ": > done"), {"text": "two"}],
        [
            Launch(
                (),
                [
                    "session_start",
                    "task_start",
                    "inference",
                    "done_check",
                    "task_reopened",
                    "inference",
                    "tool_call",
                    "shell",
                    "inference",
                    "done_check",
                    "task_end",
                ],
                check=check_passed_after_one_reopen,
            )
        ],
        {
            "lifecycle": {"done_check": {"command": "sh -c 'test -e done'", "limit": 1}},
            "capabilities": SHELL,
        },
    ),
    Scenario(
        "a done_check that never ends is killed",
        [{"text": "one"}],
        [
            Launch(
                (),
                ["session_start", "task_start", "inference", "done_check", "task_end"],
                check=check_outcome("timed_out"),
            )
        ],
        {
            "lifecycle": {
                "done_check": {"command": "sleep 60", "limit": 0, "timeout_secs": 1},
            },
            "capabilities": SHELL,
        },
    ),
    Scenario(
        "the deadline cancels the task",
        [{"text": "late", "delay_ms": 60_000}],
        [
            Launch(
                ("--deadline", "8"),
                [
                    "session_start",
                    "task_start",
                    "deadline_reached",
                    "task_canceled",
                    "task_end",
                    "session_end",
                ],
                "deadline_reached",
                1,
                "E-RUN-053",
                check=reached_deadline,
            )
        ],
    ),
    Scenario(
        "trace.retain keeps the newest sessions, this one among them",
        ANSWERS,
        [Launch(), Launch(), Launch((), ["session_start", "retention"], check=two_sessions_left)],
        {"trace": {"retain": {"max_sessions": 2}}},
    ),
    Scenario(
        "context.retain trims the record that the launch opens",
        ANSWERS,
        [
            Launch(("--context", "ctx_1")),
            Launch(("--context", "ctx_1")),
            Launch(("--context", "ctx_1"), ["session_start", "retention"], check=trimmed),
        ],
        {"context": {"retain": {"max_messages": 2}}},
    ),
    Scenario(
        "durable state outlives its session",
        [],
        [
            Launch(
                (),
                EDITS,
                changes={"artifacts": with_state([writes("state/note.txt", "kept"), ANSWERS[0]])},
                check=state_kept,
            ),
            Launch((), WHOLE, changes={"artifacts": with_state(ANSWERS)}),
        ],
    ),
    Scenario(
        "a local skill is the system prompt, and --system-prompt releases it",
        ANSWERS,
        [
            Launch((), check=bound),
            Launch(("--system-prompt", " Be long. "), check=released),
            Launch(("--system-prompt", " "), check=lambda e: prompted("cli", "[Capsule]")(e)),
        ],
        {
            "artifacts": replay_with(ANSWERS, STYLE),
            "inference": {**replay([])["inference"], "system_prompt_artifact": "local/style"},
            **CONTENT,
        },
    ),
    Scenario(
        "a local skill is called by its name, fresh from its file",
        [],
        [
            Launch(
                (),
                ["session_start", "task_start", "inference", "skill_call", "inference"],
                changes={
                    "artifacts": replay_with(
                        [{"tool_calls": [{"name": "style", "input": {}}]}, ANSWERS[0]], STYLE
                    )
                },
            )
        ],
    ),
    Scenario(
        "lifecycle flags override the manifest",
        ANSWERS,
        [
            Launch(
                ("--lifecycle-task-acceptance", "none"),
                ["session_start", "session_end"],
                task=None,
            )
        ],
    ),
    Scenario(
        "nobody sends a task: one run with an empty one, under the launch's context",
        ANSWERS,
        [
            Launch(
                ("--context", "ctx_1"),
                ["session_start", "inference", "session_end"],
                task=None,
                check=counts("ctx_1", 2),
            )
        ],
    ),
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_scripted_session(place: Place, project: Path, scenario: Scenario) -> None:
    skill = project / "style" / "SKILL.md"
    skill.parent.mkdir()
    skill.write_text("Be brief.\n")
    for launch in scenario.launches:
        changes = {**scenario.manifest, **launch.changes}
        write_manifest(project, {**replay(scenario.turns), **changes})
        _fresh_conversations(place, scenario, launch)
        ended = _run(place, project, launch)
        kinds = [line["event_type"] for line in ended.trace] if launch.events else []
        assert kinds[: len(launch.events)] == list(launch.events)
        launch.check(ended)


def _fresh_conversations(place: Place, scenario: Scenario, launch: Launch) -> None:
    """The home is shared by all scenarios; the first launch of each finds no conversation."""
    if launch is scenario.launches[0]:
        for store in ("scripted", "shared"):
            place.mur("conversation", "rm", "ctx_1", "--record", store, cwd=place.home)


def _run(place: Place, project: Path, launch: Launch) -> Ended:
    task = () if launch.task is None else ("--task", launch.task)
    done = place.mur(
        "run", *task, *launch.arguments, cwd=project, environ={"MURMUR_A2A_TIMEOUT_SECS": "0.1"}
    )
    assert done.returncode == launch.exit_status, (done.stdout, done.stderr)
    assert done.stdout.splitlines()[-1] == f"status:  {launch.status}"
    if launch.code is not None:
        assert f"error[{launch.code}]: " in done.stderr
    group = place.home / ".murmur" / "records" / Path(os.path.relpath(project / "workdir", "/"))
    newest = max(each for each in group.iterdir() if each.name.startswith("ses_"))
    return Ended(place, project, newest, done.stderr)


def test_two_launches_on_one_conversation_at_once_lose_no_message(
    place: Place, project: Path
) -> None:
    turns = [writes(f"file{number}", "x") for number in range(6)] + [{"text": "done"}]
    write_manifest(project, replay(turns))
    command = [*mur_command(), "run", "--task", "go", "--context", "ctx_both"]
    both = [
        subprocess.Popen(command, cwd=project, env=dict(place.environ), stdout=subprocess.DEVNULL)
        for _ in range(2)
    ]
    assert [each.wait(TIMEOUT_SECONDS) for each in both] == [0, 0]
    done = place.mur("conversation", "show", "ctx_both", "--json", cwd=project)
    messages = json.loads(done.stdout)["messages"]
    assert len({each["id"] for each in messages}) == len(messages) == 2 * 14
    for role, count in (("user", 1), ("assistant", 7), ("tool", 6)):
        assert sum(each["role"] == role for each in messages) == 2 * count
