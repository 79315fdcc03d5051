"""Hooks in live sessions on driver-replay: each arm, each record. spec/artifacts.md 15."""

import contextlib
import json
import os
import shutil
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest

from murmur.door.extensions import HEADER, STREAM
from tests.endtoend.capsule import Place, read_trace, replay, shell_turn, write_manifest
from tests.endtoend.ground import Done
from tests.probes.building import probe

SHELL = {"shell": {"allow": ["bash"]}}
COUNT = "for i in {1..3000}; do echo $i; done"


def hooked(
    turns: Sequence[Mapping[str, Any]], *hooks: str | Mapping[str, Any], **more: Any
) -> dict[str, Any]:
    """A capsule on driver-replay with the hooks of these names, or entries."""
    manifest = replay(turns, capabilities=SHELL, **more)
    for each in hooks:
        entry = {"name": f"local/{each}"} if isinstance(each, str) else dict(each)
        manifest["artifacts"].append({"version": "0.1.0", "runtime": "hook", **entry})
    return manifest


class Ran:
    """A run that has ended: what it left behind."""

    def __init__(self, done: Done, project: Path, home: Path) -> None:
        self.done = done
        (self.records,) = sorted(
            (home / ".murmur" / "records").joinpath(*project.parts[1:], "work").glob("ses_*")
        )[-1:]
        self.trace = read_trace(self.records)

    def lines(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.trace if line["event_type"] == kind]

    def line(self, kind: str) -> dict[str, Any]:
        (found,) = self.lines(kind)
        return found

    @property
    def result(self) -> str:
        return (self.records / "out" / "result.txt").read_text()

    def log(self, name: str) -> str:
        """A log by its file's name; empty when it is not there."""
        path = self.records / "logs" / name
        return path.read_text() if path.exists() else ""


def run(place: Place, project: Path, manifest: Mapping[str, Any], *arguments: str) -> Ran:
    write_manifest(project, manifest)
    (project / "murmur.lock").unlink(missing_ok=True)
    (project / "work").mkdir(exist_ok=True)
    done = place.mur("run", "--task", "go", "--workdir", "work", *arguments, cwd=project)
    return Ran(done, project, place.home)


def install(
    place: Place,
    project: Path,
    manifest: Mapping[str, Any],
    component: bytes,
    contract: Mapping[str, str],
) -> Path:
    """A capsule's folder whose own store has `local/no-hook` with that component and contract."""
    source, capsule = project / "source", project / "capsule"
    source.mkdir()
    (source / "capsule.wasm").write_bytes(component)
    fields = {"name": "no-hook", "version": "0.1.0", "runtime": "hook"}
    write_manifest(source, {**fields, "requires_files": ["capsule.wasm"], **contract})
    built = place.mur("build", str(source), "--output", str(project), cwd=project)
    assert built.returncode == 0, built.stderr
    write_manifest(capsule, manifest)
    archive = next(project.glob("*.mur.zip"))
    installed = place.mur("install", "--no-precompile", str(archive), cwd=capsule)
    assert installed.returncode == 0, installed.stderr
    (capsule / "murmur.lock").unlink()  # it names the hook alone
    return capsule


def test_policy_hooks_refuse_writes_to_protected_paths_and_nothing_else(
    place: Place, project: Path
) -> None:
    write = {"operation": "write_file", "content": "x"}
    turns = [
        shell_turn("bash", "echo x > tests/a"),
        {"tool_calls": [{"name": "tool-editor", "input": {**write, "dest_path": "tests/b"}}]},
        {"tool_calls": [{"name": "tool-editor", "input": {**write, "dest_path": "c"}}]},
        {"expect": "c", **shell_turn("bash", "echo fine > d")},
        {"text": "done"},
    ]
    (project / "work" / "tests").mkdir(parents=True)
    ran = run(place, project, hooked(turns, "hook-protect-shell", "hook-protect-tool"))
    assert ran.done.returncode == 0, ran.done.stderr
    shell, tool = ran.lines("call_denied")
    assert (shell["event"], shell["hook_name"]) == ("on-shell", "hook-protect-shell")
    assert shell["target"].endswith("/bash") and "tests/a is protected" in shell["reason"]
    assert (tool["event"], tool["target"]) == ("on-tool-call", "tool-editor")
    assert [line["tool_name"] for line in ran.lines("tool_call")] == ["tool-editor", "bash"]
    assert sorted(path.name for path in (project / "work").iterdir()) == [
        ".tool-editor",
        "c",
        "d",
        "tests",
    ]
    assert list((project / "work" / "tests").iterdir()) == []
    assert ran.lines("hook_dispatch_error") == []


def test_the_model_reads_who_refused_and_that_trying_again_is_no_use(
    place: Place, project: Path
) -> None:
    expect = "hook-protect-shell refused this call.*tests/a is protected.*(.|\n)*refused again"
    turns = [shell_turn("bash", "echo x > tests/a"), {"text": "understood", "expect": expect}]
    ran = run(place, project, hooked(turns, "hook-protect-shell"))
    assert ran.result == "understood", ran.done.stderr


def test_a_recipe_that_writes_is_refused_as_the_write_itself(place: Place, project: Path) -> None:
    (project / "work").mkdir()
    (project / "work" / "Makefile").write_text("reset:\n\trm -rf tests\n")
    manifest = hooked([shell_turn("make", "reset"), {"text": "done"}], "hook-protect-shell")
    manifest["capabilities"] = {"shell": {"allow": ["make"]}}
    ran = run(place, project, manifest)
    assert "tests is protected" in ran.line("call_denied")["reason"]


def test_a_policy_hook_that_cannot_follow_its_settings_refuses_every_call(
    place: Place, project: Path
) -> None:
    entry = {"name": "local/hook-protect-shell", "config": {"protect": "tests"}}
    turns = [shell_turn("bash", "true"), {"text": "done"}]
    ran = run(place, project, hooked(turns, entry))
    assert "config.protect: it must be a list" in ran.line("call_denied")["reason"]
    assert ran.lines("shell") == []


def _long(final: str) -> list[dict[str, Any]]:
    """A transcript that one turn makes some 8,000 tokens long, and what a summary makes of it."""
    return [
        {"when": {"system": "working memory"}, "text": "the port is 4711"},
        {"when": {"newest": "last-of-three"}, "text": final},
        shell_turn("bash", COUNT),
        shell_turn("bash", "echo last-of-three"),
    ]


def _bounded(**compaction: Any) -> dict[str, Any]:
    return {
        "inference": {
            "model": "replay",
            "max_tokens": 1000,
            "max_turns": 6,
            "driver": {"artifact": "local/driver-replay"},
            "compaction": {"threshold": 0.4, **compaction},
        },
        "context": {"max_tokens": 20000},
    }


def test_a_long_transcript_is_compacted_and_stays_within_its_budget(
    place: Place, project: Path
) -> None:
    limits = _bounded(dump_summaries=True, max_tokens=500)
    ran = run(place, project, hooked(_long("done"), "hook-compact", **limits))
    assert ran.done.returncode == 0, ran.done.stderr
    compaction = ran.line("compaction")
    turn = next(line for line in ran.lines("inference") if line["turn"] == compaction["turn"])
    assert compaction["tokens_before"] == turn["input_tokens"] > 0.4 * 19000
    assert compaction["tokens_after"] < 1500
    mine = [line for line in ran.lines("inference") if "origin" not in line]
    assert max(line["input_tokens"] for line in mine) <= 19000
    (asked,) = [line for line in ran.lines("inference") if "origin" in line]
    assert asked["origin"] == "hook:hook-compact" and asked["model"] == "replay"
    assert asked["max_output_tokens"] == 500 and "system_sha" not in asked
    end = ran.line("session_end")
    counted = sum(line["input_tokens"] + line["output_tokens"] for line in [*mine, asked])
    assert end["total_input_tokens"] + end["total_output_tokens"] == counted
    assert end["total_turns"] == len(mine) + 1
    summaries = (ran.records / "out" / "compaction-summaries.jsonl").read_text()
    (summary,) = map(json.loads, summaries.splitlines())
    assert "the port is 4711" in summary["summary"]
    assert summary["tokens_after"] == compaction["tokens_after"]
    (record,) = (place.home / ".murmur" / "conversations" / "scripted").glob(
        f"{ran.line('task_start')['context_id']}/conversation.jsonl"
    )
    inserted = [json.loads(line).get("inserted_by") for line in record.read_text().splitlines()]
    assert inserted.count("replace-context") == 1
    page = ran.log("bootstrap.log")
    assert "[compaction]" in page


def test_without_a_replacement_the_context_stays_and_that_is_recorded(
    place: Place, project: Path
) -> None:
    ran = run(place, project, hooked(_long("done"), **_bounded()))
    assert ran.done.returncode == 0, ran.done.stderr
    declined = ran.lines("compaction_declined")
    assert {line["reason"] for line in declined} == {"no_hook_replacement"}
    assert ran.lines("compaction") == []


def test_a_compaction_that_fails_ends_task_and_session(place: Place, project: Path) -> None:
    turns = [
        {"when": {"system": "working memory"}, "error": "no model today"},
        *_long("never")[1:],
    ]
    ran = run(place, project, hooked(turns, "hook-compact", **_bounded(model="other")))
    assert ran.done.returncode == 1
    failed = ran.line("task_failed")
    assert failed["cause"] == "compaction_hook" and "no model today" in failed["reason"]
    assert ran.result.startswith("error: the compaction hook hook-compact failed")
    asked = [line for line in ran.lines("inference") if "origin" in line]
    assert [line["model"] for line in asked] == ["other", "replay"]
    assert {line["error_code"] for line in asked} == {"driver_error"}
    assert "no model today" in ran.log("hook-hook-compact.log")
    assert ran.line("session_end")["exit_status"] == "failed"


def test_a_compaction_that_no_ceiling_admits_ends_task_and_session_as_such(
    place: Place, project: Path
) -> None:
    bounded = _bounded()
    bounded["inference"]["max_session_tokens"] = 13000
    ran = run(place, project, hooked(_long("never"), "hook-compact", **bounded))
    assert ran.done.returncode == 1
    refused = ran.line("spend_ceiling_reached")
    assert refused["origin"] == "hook:hook-compact" and refused["limit"] == "session"
    assert refused["used"] + refused["requested"] > refused["ceiling"] == 13000
    inferences = ran.lines("inference")
    assert {line.get("origin") for line in inferences} == {None}
    assert refused["used"] == sum(_tokens(line) for line in inferences)
    assert ran.line("task_end")["exit_status"] == "spend_ceiling_reached"
    assert ran.line("session_end")["exit_status"] == "spend_ceiling_reached"
    assert ran.lines("task_failed") == []
    assert ran.result.startswith("stopped: spend ceiling reached: ")


def _tokens(line: Mapping[str, Any]) -> int:
    return int(line["input_tokens"] + line["output_tokens"])


MEMORY = {
    "name": "local/hook-memory",
    "capabilities": {"conversation": {"read": True}},
}


def test_a_task_begins_with_what_its_conversation_remembers(place: Place, project: Path) -> None:
    first = replay([{"text": "the port is 4711"}], name="recalls")
    context = f"ctx_{os.getpid()}"
    run(place, project, first, "--context", context)
    turns = [
        {"when": {"newest": "go"}, "text": "seeded"},
    ]
    manifest = hooked(turns, MEMORY, context={"max_tokens": 20000, "seed_budget": 0.01})
    ran = run(place, project, {**manifest, "name": "recalls"}, "--context", context)
    assert ran.done.returncode == 0, ran.done.stderr
    seed = ran.line("context_seed")
    assert (seed["hook_name"], seed["outcome"]) == ("hook-memory", "seeded")
    assert seed["tokens"] == seed["proposed_tokens"] <= seed["budget_tokens"]
    assert seed["budget_tokens"] == int(0.01 * (20000 - 8192))
    assert len(seed["message_ids"]) == 2
    assert ran.line("inference")["message_ids"][:2] == seed["message_ids"]
    assert "[seed] hook-memory: seeded" in ran.log("bootstrap.log")


def test_a_hook_that_is_not_granted_the_conversation_is_told_so(
    place: Place, project: Path
) -> None:
    manifest = hooked([{"text": "done"}], "hook-memory", context={"max_tokens": 20000})
    ran = run(place, project, manifest)
    assert ran.done.returncode == 0, ran.done.stderr
    assert "the conversation cannot be read: not-granted" in ran.log("hook-hook-memory.log")
    assert ran.lines("context_seed") == []


def _edit(name: str, content: str) -> dict[str, Any]:
    given = {"operation": "write_file", "dest_path": name, "content": content}
    return {"tool_calls": [{"name": "tool-editor", "input": given}]}


# A test runner of this name that says what the file says.
RUN_TESTS = shell_turn(
    "bash", 'pytest() { said=$(<verdict); echo "$said"; [ -z "$said" ]; }; pytest -q'
)


def _broken_then(*more: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [
        RUN_TESTS,
        _edit("verdict", "FAILED tests/a.py::test_x"),
        RUN_TESTS,
        {"text": "first answer"},
        *more,
    ]


def test_a_task_whose_edit_breaks_a_test_is_opened_again(place: Place, project: Path) -> None:
    (project / "work").mkdir()
    (project / "work" / "verdict").write_text("")
    turns = _broken_then(
        {"expect": "tests/a.py::test_x", **_edit("verdict", "")}, RUN_TESTS, {"text": "mended"}
    )
    ran = run(place, project, hooked(turns, "hook-regression-verifier"))
    assert ran.done.returncode == 0, ran.done.stderr
    reopened = ran.line("task_reopened")
    assert reopened["hook_name"] == "hook-regression-verifier"
    assert (reopened["reopen_number"], reopened["attempt_context"]) == (1, "continued")
    assert "tests/a.py::test_x" in reopened["reason"]
    assert ran.result == "mended"
    assert ran.line("task_end")["reopen_count"] == 1


def test_a_task_that_breaks_nothing_is_not_opened_again(place: Place, project: Path) -> None:
    (project / "work").mkdir()
    (project / "work" / "verdict").write_text("")
    turns = [RUN_TESTS, _edit("new.py", "x = 1"), RUN_TESTS, {"text": "done"}]
    ran = run(place, project, hooked(turns, "hook-regression-verifier"))
    assert ran.lines("task_reopened") == [] and ran.result == "done"


def test_a_hook_that_wants_more_than_the_budget_fails_the_task(place: Place, project: Path) -> None:
    (project / "work").mkdir()
    (project / "work" / "verdict").write_text("")
    turns = _broken_then({"text": "still broken"})
    ran = run(place, project, hooked(turns, "hook-regression-verifier"))
    assert ran.done.returncode == 1
    assert ran.line("task_end")["exit_status"] == "reopen_budget_exhausted"
    assert ran.line("session_end")["exit_status"] == "failed"
    assert "task reopen budget exhausted" in ran.done.stderr + ran.result


def test_tools_are_described_as_a_hook_says_at_staging(place: Place, project: Path) -> None:
    show = shell_turn("bash", 'echo "$(<$MURMUR_RUNTIME_DIR/tools/bash/murmur.yaml)"')
    turns = [show, {"expect": "whole command line", "text": "done"}]
    ran = run(place, project, hooked(turns, "hook-shell-desc", trace={"capture": "content"}))
    assert ran.done.returncode == 0, ran.done.stderr
    sent = ran.lines("inference")[0]["tools_sha"]
    tools = json.loads((ran.records / "blobs" / sent).read_text())
    (bash,) = [tool for tool in tools if tool["name"] == "bash"]
    assert bash["description"].startswith("Run a command line in the work folder with bash")
    assert bash["parameters"]["required"] == ["command"]


def test_a_hook_built_for_another_role_fails_at_its_first_call_and_the_session_goes_on(
    place: Place, project: Path
) -> None:
    archive = zipfile.ZipFile(
        next(Path(os.environ["MURMUR_TEST_ARTIFACTS"]).glob("tool-editor-*.zip"))
    )
    contract = {"binding": "on-shell", "commit_policy": "deny"}
    manifest = hooked([shell_turn("bash", "true"), {"text": "done"}], {"name": "local/no-hook"})
    capsule = install(place, project, manifest, archive.read("capsule.wasm"), contract)
    ran = run(place, capsule, manifest)
    assert ran.done.returncode == 0, ran.done.stderr
    denied = ran.line("call_denied")
    assert "does not export murmur:hook/lifecycle@0.9.0" in denied["reason"]
    assert "could not be loaded" in ran.log("hook-no-hook.log")


def test_an_async_hook_hears_of_everything_and_holds_nothing_up(
    place: Place, project: Path
) -> None:
    entry = {"name": "local/hook-debug", "capabilities": {"filesystem": {"scope": "seen"}}}
    turns = [shell_turn("bash", "echo hi"), _edit("x", "y"), {"text": "done"}]
    ran = run(place, project, hooked(turns, entry))
    assert ran.done.returncode == 0, ran.done.stderr
    text = (project / "work" / "seen" / "hook-debug.jsonl").read_text()
    events = [json.loads(line) for line in text.splitlines()]
    assert [event["event"] for event in events] == [
        "session-start",
        "task-start",
        "inference",
        "shell",
        "inference",
        "tool-call",
        "inference",
        "task-end",
        "session-end",
    ]
    (shell,) = [event for event in events if event["event"] == "shell"]
    assert shell["script"] == "echo hi" and shell["outcome.stdout"] == "hi\n"
    assert events[-1]["total_turns"] == 3 and events[-1]["exit_status"] == "ok"


def test_what_an_async_hook_cannot_do_is_in_log_and_trace(place: Place, project: Path) -> None:
    ran = run(place, project, hooked([{"text": "done"}], "hook-debug"))
    assert ran.done.returncode == 0, ran.done.stderr
    faults = ran.lines("hook_dispatch_error")
    assert {line["arm"] for line in faults} == {"error"}
    assert faults[0]["event"] == "on-session-start"
    assert ran.trace[-1]["event_type"] == "session_end"
    assert "on-session-end: hook 'local/hook-debug' trapped" in ran.log("hook-hook-debug.log")


def test_a_session_is_scored_into_its_records(place: Place, project: Path) -> None:
    entry = {
        "name": "local/hook-eval",
        "capabilities": {"filesystem": {"records": True}},
    }
    scorers = [{"type": "exit_ok"}, {"type": "tool_sequence", "expected": ["bash"]}]
    evaluation = {"eval": {"dataset_id": "d1", "scorers": scorers}}
    turns = [shell_turn("bash", "true"), {"text": "done"}]
    ran = run(place, project, hooked(turns, entry, observability=evaluation))
    assert ran.done.returncode == 0, ran.done.stderr
    text = (ran.records / "hooks" / "eval.jsonl").read_text()
    *scores, whole = map(json.loads, text.splitlines())
    assert [each["result"] for each in scores] == ["pass", "pass"]
    assert (whole["overall"], whole["dataset_id"]) == ("pass", "d1")


@pytest.mark.parametrize(
    ("contract", "said"),
    [
        (
            {"binding": "on-task-end", "commit_policy": "replace-context"},
            "commit_policy 'replace-context' is not valid for binding 'on-task-end'; binding "
            "'on-task-end' honors commit_policy 'reopen-task'",
        ),
        ({"commit_policy": "deny"}, "requires an explicit binding: 'on-shell' or 'on-tool-call'"),
        ({"execution_mode": "async", "commit_policy": "seed-context"}, "'async' requires"),
        ({"binding": "on-friday"}, "binding 'on-friday' is none of on-stage"),
    ],
)
def test_a_contract_that_no_hook_may_have_is_refused_before_anything_is_compiled(
    place: Place, project: Path, contract: Mapping[str, str], said: str
) -> None:
    manifest = hooked([{"text": "x"}], {"name": "local/no-hook"})
    capsule = install(place, project, manifest, b"\0asm\x0d\0\1\0", contract)
    done = place.mur("run", "--task", "go", cwd=capsule)
    assert done.returncode == 1 and "E-IO-003" in done.stderr
    assert "hook local/no-hook@0.1.0 invalid config: " in done.stderr and said in done.stderr
    assert not (capsule / "workdir").exists()


def _frames(url: str) -> list[str]:
    """The lines of one task's stream, murmur's own frames among them."""
    message = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "go"}]}
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage"}
    body = {**call, "params": {"message": message}}
    headers = {"A2A-Version": "1.0", HEADER: STREAM}
    with httpx.stream("POST", url, json=body, headers=headers, timeout=60) as answer:
        return list(answer.iter_lines())


def test_a_hooks_artifact_is_in_the_tasks_stream_under_its_name(
    place: Place, project: Path
) -> None:
    entry = {"name": "local/hook-diff-summary", "capabilities": {"filesystem": {"scope": "."}}}
    turns = [_edit("a.py", "x = 1\n"), {"text": "done"}]
    lifecycle = {"task_acceptance": "queue", "after_task": "sleep"}
    write_manifest(project, hooked(turns, entry, lifecycle=lifecycle))
    running = place.start(cwd=project)
    try:
        (frame,) = [each for each in _frames(running.url) if "added_lines" in each]
        assert "hook-diff-summary" in frame and "+x = 1" in frame
    finally:
        running.end()


def test_hooks_hear_of_a_script_capsules_session_too(place: Place, project: Path) -> None:
    (project / "work").mkdir()
    (project / "work" / "steps.json").write_text("[]")
    shutil.copy(probe("script_probe"), project / "capsule.wasm")
    entry = {"name": "local/hook-debug", "version": "0.1.0", "runtime": "hook"}
    granted = {"capabilities": {"filesystem": {"scope": "seen"}}}
    script = {"name": "script", "version": "0.1.0", "artifacts": [{**entry, **granted}]}
    write_manifest(project, script)
    done = place.mur("run", "--workdir", "work", cwd=project)
    assert done.returncode == 0, done.stderr
    lines = (project / "work" / "seen" / "hook-debug.jsonl").read_text().splitlines()
    begun, ended = map(json.loads, lines)
    assert (begun["event"], ended["event"]) == ("session-start", "session-end")
    assert (begun["capsule_name"], ended["exit_status"]) == ("script", "ok")


@contextlib.contextmanager
def collector() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """An OpenTelemetry collector's address, and each path and body that was posted to it."""
    taken: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            taken.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", taken
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("listed", [True, False])
def test_a_session_is_sent_to_the_collector_that_the_hook_is_granted_alone(
    place: Place, project: Path, listed: bool
) -> None:
    with collector() as (address, taken):
        allow = {"allow": [address] if listed else []}
        entry = {"name": "local/hook-grafana", "capabilities": {"network": allow}}
        turns = [shell_turn("bash", "echo hi"), {"text": "done"}]
        telemetry = {"otel_endpoint": address}
        ran = run(place, project, hooked(turns, entry, observability=telemetry))
    assert ran.done.returncode == 0, ran.done.stderr
    mine = [body for path, body in taken if path == "/v1/traces" and b"murmur.hook-grafana" in body]
    if listed:
        (body,) = mine
        sent = json.loads(body)["resourceSpans"][0]["scopeSpans"][0]["spans"]
        assert [span["name"] for span in sent] == ["session", "inference", "shell", "inference"]
    else:
        assert mine == []
        assert "/v1/traces: " in ran.log("hook-hook-grafana.log")


@pytest.mark.parametrize("listed", [True, False])
def test_scores_are_log_records_where_the_hook_is_granted_the_collector_and_written_anyway(
    place: Place, project: Path, listed: bool
) -> None:
    with collector() as (address, taken):
        granted = {"filesystem": {"records": True}, "network": {"allow": [address] * listed}}
        entry = {"name": "local/hook-eval", "capabilities": granted}
        scorers = [{"type": "exit_ok"}, {"type": "max_turns", "max": 1, "name": "short"}]
        telemetry = {"otel_endpoint": address, "eval": {"scorers": scorers}}
        turns = [shell_turn("bash", "true"), {"text": "done"}]
        ran = run(place, project, hooked(turns, entry, observability=telemetry))
    assert ran.done.returncode == 0, ran.done.stderr
    assert len((ran.records / "hooks" / "eval.jsonl").read_text().splitlines()) == 3
    assert ran.lines("hook_dispatch_error") == []
    logs = [body for path, body in taken if path == "/v1/logs"]
    if listed:
        (body,) = logs
        (scope,) = json.loads(body)["resourceLogs"][0]["scopeLogs"]
        attributes = [each["attributes"] for each in scope["logRecords"]]
        told = [{one["key"]: one["value"] for one in each} for each in attributes]
        assert [each["eval.result"] for each in told] == [
            {"stringValue": "pass"},
            {"stringValue": "fail"},
        ]
        assert told[1]["eval.scorer"] == {"stringValue": "short"}
    else:
        assert logs == []
