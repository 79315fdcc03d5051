"""Conversations, resuming, prompts, retention and state, launch after launch.

spec/sessions.md 18, 19, 22 and 23.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tests.endtoend.capsule import replay
from tests.endtoend.scenarios.calls import STYLE
from tests.endtoend.scenarios.endings import ANSWERS, FAILED
from tests.endtoend.scenarios.scenario import (
    CALLED,
    Ended,
    Launch,
    Scenario,
    alone,
    at,
    driver,
    replay_with,
    said,
    session,
    task,
    writes,
)

THREADED: Final = {"conversation": "threaded"}
CONTENT: Final = {"trace": {"capture": "content"}}
RETAINED: Final = session(
    at("retention", store="sessions", reason="max_sessions"), *task("inference")
)
TRIMMED: Final = session(
    at("retention", store="records", reason="max_messages"), *task("inference")
)
AGED: Final = session(
    at("retention", store="sessions", reason="max_age"),
    at("retention", store="records", reason="max_age"),
    *task("inference"),
)


def counts(context: str, expected: int) -> Callable[[Ended], None]:
    def check(ended: Ended) -> None:
        assert len(ended.messages(context)) == expected

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


def with_state(turns: Sequence[Mapping[str, Any]]) -> list[Any]:
    driver, editor = replay(turns)["artifacts"]
    return [driver, {**editor, "capabilities": {"state": {}}}]


SUMMARISED: Final[list[dict[str, Any]]] = [
    {"when": {"system": "working memory"}, "text": "the port is 4711"},
    {"text": "one"},
]
COMPACT: Final = {"name": "local/hook-compact", "version": "0.1.0", "runtime": "hook"}


def summarised(ended: Ended) -> None:
    asked, answered = ended.lines("inference")
    end = ended.line("session_end")
    for side in ("input", "output"):
        counted = asked[f"{side}_tokens"] + answered[f"{side}_tokens"]
        assert end[f"total_{side}_tokens"] == counted
    assert len(answered["message_ids"]) == 2
    summary = ended.messages()[2]
    assert summary["inserted_by"] == "replace-context"
    assert "the port is 4711" in summary["content"][0]["text"]


CONVERSATIONS: Final = [
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
                alone("inference", at("task_failed", cause="driver_error"), end="failed"),
                check=counts("ctx_1", 1),
                **FAILED,
            ),
        ],
        driver(retry={"max_retries": 0}),
    ),
    Scenario(
        "trace.retain keeps the newest sessions, this one among them",
        ANSWERS,
        [Launch(), Launch(), Launch((), RETAINED, check=two_sessions_left)],
        {"trace": {"retain": {"max_sessions": 2}}},
    ),
    Scenario(
        "context.retain trims the record that the launch opens",
        ANSWERS,
        [
            Launch(("--context", "ctx_1")),
            Launch(("--context", "ctx_1")),
            Launch(("--context", "ctx_1"), TRIMMED, check=trimmed),
        ],
        {"context": {"retain": {"max_messages": 2}}},
    ),
    Scenario(
        "durable state outlives its session",
        [],
        [
            Launch(
                (),
                alone(*CALLED),
                changes={"artifacts": with_state([writes("state/note.txt", "kept"), ANSWERS[0]])},
                check=state_kept,
            ),
            Launch(changes={"artifacts": with_state(ANSWERS)}),
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
            **driver(system_prompt_artifact="local/style"),
            **CONTENT,
        },
    ),
    Scenario(
        "nobody sends a task: one run with an empty one, under the launch's context",
        ANSWERS,
        [
            Launch(
                ("--context", "ctx_1"),
                session("inference"),
                task=None,
                check=counts("ctx_1", 2),
            )
        ],
    ),
    Scenario(
        "a resumed conversation is summarised by the default hook, whose call counts",
        SUMMARISED,
        [
            Launch(("--context", "ctx_1")),
            Launch(
                ("--resume", "--resume-mode", "compact"),
                alone(
                    at("inference", decision="text", origin="hook:hook-compact"),
                    "compaction",
                    at("inference", decision="end_turn"),
                ),
                result="one",
                check=summarised,
            ),
        ],
        {"artifacts": replay_with(SUMMARISED, COMPACT)},
    ),
]
