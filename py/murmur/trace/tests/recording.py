"""Traces for tests, line by line: ids, parents and times are given where they matter."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

SESSION = "ses_aaaaaaaaaaaa4aaa8aaa000000000001"
START_MS = 1_790_000_000_000


def line(event_type: str, **fields: Any) -> dict[str, Any]:
    """An event without the envelope that `record` gives it."""
    return {"event_type": event_type, **fields}


def record(
    path: Path, events: Iterable[dict[str, Any]], *, tail: str = "", ids: bool = True
) -> Path:
    """Writes the events 100 ms apart; `parent` names one by its place, None is the session."""
    rows = []
    for at, given in enumerate(events):
        event = dict(given)
        parent = event.pop("parent", 0)
        envelope: dict[str, Any] = {"event_type": event.pop("event_type")}
        if ids:
            envelope["event_id"] = f"evt_{at:032x}"
            envelope["parent_id"] = None if at == 0 else f"evt_{parent:032x}"
        stamp = START_MS + at * 100
        envelope |= {"session_id": event.pop("session_id", SESSION), "timestamp": stamp}
        rows.append(json.dumps(envelope | event, ensure_ascii=False) + "\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(rows) + tail)
    return path


def start(**fields: Any) -> dict[str, Any]:
    """A session's start as the reference's example has it."""
    return line(
        "session_start",
        **{
            "capsule_name": "my-agent",
            "capsule_version": "0.1.0",
            "model": "claude-3-5-sonnet",
            "max_turns": 10,
            "capabilities": ["shell"],
            "tools_declared": ["bash"],
            "runtime_artifacts": [],
            "containment_declared": "sealed",
            "containment_achieved": "scoped",
            "userns_grant": "profile_confining",
            "workdir_exec": False,
            "system_prompt_source": "manifest",
            "system_prompt_sha256": "cf07194ee232" + "0" * 52,
        }
        | fields,
    )


def end(**fields: Any) -> dict[str, Any]:
    """A session's end; totals of 0 unless given."""
    totals = dict.fromkeys(
        (
            "total_turns",
            "total_input_tokens",
            "total_output_tokens",
            "total_tool_calls",
            "total_shell_calls",
            "duration_ms",
        ),
        0,
    )
    return line("session_end", **totals | {"exit_status": "ok"} | fields)


def turn(number: int, decision: str, **fields: Any) -> dict[str, Any]:
    """One answered call of the loop."""
    return line("inference", turn=number, task_id="tsk_1", decision=decision, **fields)


def hashes(system: str, tools: str, response: str, *messages: str) -> dict[str, Any]:
    """Content hashes that begin as given."""
    whole = [each.ljust(64, "0") for each in (system, tools, response)]
    return dict(zip(("system_sha", "tools_sha", "response_sha"), whole, strict=True)) | {
        "message_shas": [each.ljust(64, "0") for each in messages]
    }


def call(number: int, name: str, given: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """One call of a tool, successful unless said otherwise."""
    return line(
        "tool_call",
        **{
            "turn": number,
            "task_id": "tsk_1",
            "tool_name": name,
            "tool_call_id": None,
            "input": given,
            "input_bytes": 1,
            "output_bytes": 1,
            "duration_ms": 100,
            "status": "ok",
        }
        | fields,
    )


def command(code: int, **fields: Any) -> dict[str, Any]:
    """One command in the foreground."""
    fixed = {"turn": 1, "task_id": "tsk_1", "binary": "/usr/bin/bash", "command": ["bash"]}
    sizes = {"stdout_bytes": 0, "stderr_bytes": 0, "duration_ms": 50}
    return line("shell", **fixed | sizes | {"exit_code": code} | fields)


def task(number: int, **fields: Any) -> list[dict[str, Any]]:
    """The start and the end of a task."""
    task_id = f"{number:08x}-0000"
    begun = {"task_id": task_id, "context_id": "ctx_1", "source": "a2a"}
    ended = {"turns": 1, "input_tokens": 39, "output_tokens": 20, "exit_status": "ok"}
    closing = {"task_id": task_id, "duration_ms": 178, "reopen_count": 0}
    return [line("task_start", **begun), line("task_end", **closing | ended | fields)]


def example(path: Path) -> Path:
    """The single-task session that the CLI reference prints whole."""
    messages = [f"{index:012x}" for index in range(5)]
    return record(
        path,
        [
            start(),
            turn(
                1,
                "tool_call",
                tool_name="bash",
                input_tokens=1000,
                output_tokens=150,
                input_tokens_actual=1000,
                output_tokens_actual=120,
                cached_tokens=840,
                cache_write_tokens=210,
                **hashes("bbc5e661e106", "f9d35d43770d", "afb8c1747105", *messages[:3]),
            ),
            call(1, "bash", {"command": "cargo test --workspace"}, parent=1),
            command(0, parent=1),
            turn(
                2,
                "end_turn",
                input_tokens=1200,
                output_tokens=200,
                input_tokens_actual=1090,
                output_tokens_actual=200,
                cached_tokens=1000,
                **hashes("bbc5e661e106", "f9d35d43770d", "4ed87cafe960", *messages),
            ),
            end(
                total_turns=2,
                total_input_tokens=2200,
                total_output_tokens=350,
                total_tool_calls=1,
                total_shell_calls=1,
                duration_ms=500,
            ),
        ],
    )


def kept(records: Path, value: Any) -> str:
    """Stores a body and returns its hash."""
    data = value.encode() if isinstance(value, str) else json.dumps(value).encode()
    digest = hashlib.sha256(data).hexdigest()
    (records / "blobs").mkdir(parents=True, exist_ok=True)
    (records / "blobs" / digest).write_bytes(data)
    return digest


def captured(records: Path, *answers: dict[str, Any], tasks: int = 1) -> Path:
    """A session recorded with capture: content; one turn for each answer, dealt to the tasks."""
    events: list[dict[str, Any]] = [start()]
    per_task = len(answers) // tasks
    for at, answer in enumerate(answers):
        begin, finish = task(at // per_task)
        if at % per_task == 0:
            events.append(begin)
        message = {"role": "user", "content": [{"type": "text", "text": f"say ({at})"}]}
        events.append(
            turn(
                at % per_task,
                "end_turn",
                system_sha=kept(records, "be <good>"),
                tools_sha=kept(records, "[]"),
                response_sha=kept(records, answer),
                message_shas=[kept(records, message)],
                output_tokens_actual=7,
            )
        )
        if (at + 1) % per_task == 0:
            events.append(finish)
    return record(records / "trace.jsonl", [*events, end()])


def text_answer(text: str) -> dict[str, Any]:
    return {"stop_reason": "end_turn", "content": [{"type": "text", "text": text}]}
