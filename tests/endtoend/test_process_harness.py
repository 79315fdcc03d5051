"""`transport: process`, through whole sessions with a stand-in harness. spec/artifacts.md 13."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.endtoend.capsule import Place, Running
from tests.endtoend.harnessed import Harnessed, Step, ask

LINES = {"operation": "read_file", "path": "note.txt"}


@pytest.fixture(scope="module")
def at(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Harnessed:
    project = tmp_path_factory.mktemp("harnessed") / "project"
    project.mkdir()
    return Harnessed(place, project)


@pytest.fixture(scope="module")
def running(at: Harnessed) -> Iterator[Running]:
    """One capsule behind its door, for every test that only sends it tasks."""
    started = at.sleeping("one\ntwo\n")
    try:
        yield started
    finally:
        started.end()


def found(task: dict[str, Any]) -> list[Any]:
    """What the steps of a task found, as its answer says it."""
    assert task["status"]["state"] == "TASK_STATE_COMPLETED", task
    answer = next(each for each in task["artifacts"] if each.get("name") != "x")
    listed: list[Any] = json.loads(answer["parts"][0]["text"])
    return listed


def of_task(running: Running, task: dict[str, Any]) -> list[dict[str, Any]]:
    """The trace lines of a task, which no other task's are between."""
    lines = running.trace()
    ids = [line.get("task_id") for line in lines]
    first = ids.index(task["id"])
    last = len(ids) - 1 - ids[::-1].index(task["id"])
    return lines[first : last + 1]


def test_its_turns_calls_and_counts_are_those_that_the_harness_reports(
    at: Harnessed, running: Running
) -> None:
    steps: list[Step] = [
        ["say", {"text_delta": "I look"}],
        ["say", {"text": "I look"}],
        ["call", "tool-editor", LINES],
        ["say", {"usage": {"input": 5, "output": 2}}],
        ["say", {"thinking": "hm", "text": "found it"}],
        ["say", {"usage": {"input": 11, "output": 7, "cache-read": 3, "thinking": 2}}],
        ["say", {"retry": {"attempt": 1, "reason": "busy"}}],
        ["say", {"quota": {"name": "five-hour", "used": 0.5, "state": "warning"}}],
        ["print", "no JSON at all"],
        ["end"],
    ]
    task = at.send(running, steps)
    assert "two" in found(task)[2]
    lines = of_task(running, task)
    turns = [line for line in lines if line["event_type"] == "inference"]
    assert [(line["turn"], line["decision"]) for line in turns] == [
        (0, "tool_call"),
        (1, "end_turn"),
    ]
    assert "input_tokens" not in turns[0]
    counts = [turns[1][name] for name in ("input_tokens", "output_tokens", "cached_tokens")]
    assert counts == [11, 7, 3] and turns[1]["thinking_tokens"] == 2
    (call,) = [line for line in lines if line["event_type"] == "tool_call"]
    assert (call["tool_name"], call["turn"], call["tool_call_id"]) == ("tool-editor", 0, "call_1")
    assert (call["state_effect"], call["input"]) == ("read", LINES)
    assert "untrusted-content" not in call["output"]
    kinds = [line["event_type"] for line in lines]
    assert kinds.index("harness_start") < kinds.index("harness_session") < kinds.index("inference")
    by_kind = {line["event_type"]: line for line in lines}
    assert by_kind["harness_note"]["text"] == "no JSON at all"
    assert by_kind["harness_retry"]["reason"] == "busy"
    quota = {name: by_kind["harness_quota"].get(name) for name in ("used", "state", "resets_at_ms")}
    assert quota == {"used": 0.5, "state": "warning", "resets_at_ms": None}
    assert by_kind["harness_exit"]["cause"] == "terminal" and not by_kind["harness_exit"]["killed"]
    ended = by_kind["task_end"]
    assert (ended["turns"], ended["input_tokens"], ended["tool_calls"]) == (2, 11, 1)


def test_the_start_line_names_everything_and_no_value(at: Harnessed, running: Running) -> None:
    task = at.send(running, [["request"], ["environ"], ["files"], ["end"]])
    request, environ, files = found(task)
    (started,) = [each for each in of_task(running, task) if each["event_type"] == "harness_start"]
    assert started["binary"] == str(at.program.resolve())
    assert started["binary_source"] == "inference.command"
    assert (started["harness_version"], started["version_tested"]) == ("1.0.0", True)
    assert started["env_names"] == sorted(environ) and started["files"] == files == ["bridge.json"]
    assert set(environ) == {"MURMUR_RUNTIME_DIR", "PATH", "STAND_IN_FILES", "STAND_IN_HOME"}
    assert request["session"]["mode"] == "new" and request["model"] is None
    assert request["bridge"]["server_name"] == "claude_bridge"
    assert request["bridge"]["tool_names"] == started["bridge_tools"]
    assert {"ls", "tool-editor"} <= set(started["bridge_tools"])
    trace = (running.records / "trace.jsonl").read_text()
    assert request["bridge"]["bearer_token"] not in trace


def test_a_harness_is_contained_and_reaches_its_login_and_the_bridge_alone(
    at: Harnessed, running: Running
) -> None:
    secret = at.project / "secret.txt"
    secret.write_text("hidden")
    trusted = ["read", "/etc/hostname"] if Path("/etc/hostname").exists() else ["read", "/etc/motd"]
    steps: list[Step] = [
        ["read", str(secret)],
        ["read", str(at.place.home / ".murmur" / "config.yaml")],
        trusted,
        ["connect", "127.0.0.1", int(running.url.rpartition(":")[2])],
        ["connect", "192.0.2.1", 443],
        ["run", "/bin/ls", "/"],
        ["write", str(at.login / "kept.txt"), "mine"],
        ["write", str(at.work / "made.txt"), "made"],
        ["files"],
        ["end"],
    ]
    answers = found(at.send(running, steps))
    for answer in answers[:5]:
        assert "Error" in str(answer), answer
    assert answers[5] == 127  # not executed
    assert answers[6:8] == ["written", "written"]
    assert (at.login / "kept.txt").read_text() == "mine"
    assert answers[8] == ["bridge.json"]


def test_no_command_of_the_capsule_sees_the_harnesss_files(at: Harnessed, running: Running) -> None:
    runtime = at.place.home / ".murmur" / "sessions" / running.ready["session_id"]
    task = at.send(running, [["call", "ls", {"command": str(runtime / "harness")}], ["end"]])
    (said,) = found(task)
    assert "run_" not in said
    lines = of_task(running, task)
    (shell,) = [line for line in lines if line["event_type"] == "shell"]
    assert shell["turn"] == 0


def test_the_bridge_answers_as_its_protocol_says(at: Harnessed, running: Running) -> None:
    missing = {"name": "tool-editor", "arguments": {}}
    steps: list[Step] = [
        ["bridge", "initialize", {"protocolVersion": "2025-06-18"}],
        ["bridge", "tools/list", {}],
        ["bridge", "tools/call", missing],
        ["bridge", "tools/call", {"name": "nothing", "arguments": {}}],
        ["bridge", "resources/list", {}],
        ["bridge", "tools/list", {}, "0" * 32],
        ["http", "GET", "/bridge", ""],
        ["http", "POST", "/bridge", "no json"],
        ["http", "POST", "/bridge", '{"jsonrpc": "2.0", "method": "notifications/initialized"}'],
        ["http", "POST", "/elsewhere", "{}"],
        ["end"],
    ]
    task = at.send(running, steps)
    answers = found(task)
    assert answers[0]["result"]["protocolVersion"] == "2025-06-18"
    assert answers[0]["result"]["capabilities"] == {"tools": {}}
    offered = {tool["name"]: tool for tool in answers[1]["result"]["tools"]}
    assert "inputSchema" in offered["tool-editor"] and "description" in offered["tool-editor"]
    refused = answers[2]["result"]
    assert (
        refused["isError"] and 'missing required field "operation"' in refused["content"][0]["text"]
    )
    assert answers[3]["result"]["isError"]
    assert answers[4]["error"]["code"] == -32601
    assert "401" in answers[5]
    assert answers[6:] == [405, 400, 202, 404]
    (line,) = [e for e in of_task(running, task) if e["event_type"] == "tool_input_refused"]
    assert line["missing"] == ["operation"]


def test_a_later_task_of_a_context_goes_on_in_the_harnesss_session(
    at: Harnessed, running: Running
) -> None:
    first = at.send(running, [["request"], ["end"]], "ctx-mine")
    again = at.send(running, [["request"], ["end"]], "ctx-mine")
    one, two = (found(each)[0]["session"] for each in (first, again))
    assert (one["mode"], two["mode"]) == ("new", "resume") and one["id"] == two["id"]
    kept = at.place.home / ".murmur" / "conversations" / "harnessed" / "ctx-mine"
    assert [path.name for path in kept.iterdir()] == ["harness-session.json"]
    entry = json.loads((kept / "harness-session.json").read_text())
    assert entry["session_id"] == one["id"] and entry["harness"] == "Stand-in"
    assert entry["created_ms"] < entry["updated_ms"]
    forgot = at.send(
        running, [["request"], ["end"]], "ctx-mine", **{"x-murmur-forget-session": "true"}
    )
    third = found(forgot)[0]["session"]
    assert third["mode"] == "new" and third["id"] != one["id"]
    (line,) = [
        each for each in of_task(running, forgot)[0:] + running.trace()
        if each["event_type"] == "harness_session_forgotten"
    ][:1]  # fmt: skip
    assert (line["harness_session_id"], line["requested_by"]) == (one["id"], "a2a")


def test_a_lost_conversation_fails_the_task_and_the_map_stays(
    at: Harnessed, running: Running
) -> None:
    known = found(at.send(running, [["request"], ["end"]], "ctx-lost"))[0]["session"]["id"]
    (at.login / "sessions").write_text("")
    task = at.send(running, [["end"]], "ctx-lost")
    assert task["status"]["state"] == "TASK_STATE_FAILED"
    said = task["status"]["message"]["parts"][0]["text"]
    assert said.startswith("error[E-RUN-036]: Stand-in") and known in said and "ctx-lost" in said
    kept = at.place.home / ".murmur" / "conversations" / "harnessed" / "ctx-lost"
    assert json.loads((kept / "harness-session.json").read_text())["session_id"] == known


def test_a_failed_run_says_its_kind_and_a_crash_is_classified(
    at: Harnessed, running: Running
) -> None:
    failure = {"turn_failed": {"kind": "quota", "message": "the window is used up"}}
    task = at.send(running, [["say", {"text": "I try"}], ["say", failure]])
    said = task["status"]["message"]["parts"][0]["text"]
    assert said == "error[E-RUN-033]: the harness turn failed (quota): the window is used up"
    lines = {line["event_type"]: line for line in of_task(running, task)}
    assert lines["inference"]["error_code"] == "harness_quota"
    assert lines["harness_failed"]["source"] == "harness"
    assert lines["task_failed"]["cause"] == "driver_error"
    task = at.send(running, [["stderr", "out of luck"], ["exit", 3]])
    said = task["status"]["message"]["parts"][0]["text"]
    assert "code 3, signal None: out of luck" in said
    task = at.send(running, [["kill", 9]])
    lines = {line["event_type"]: line for line in of_task(running, task)}
    assert (lines["harness_exit"]["signal"], lines["harness_exit"]["cause"]) == (9, "eof")
    assert not lines["harness_exit"]["killed"]


def test_a_cancel_interrupts_the_harness_as_its_driver_says(
    at: Harnessed, running: Running
) -> None:
    ended: list[dict[str, Any]] = []
    steps: list[Step] = [["say", {"text": "I wait"}], ["wait"]]
    sender = threading.Thread(target=lambda: ended.append(at.send(running, steps, "ctx-cancel")))
    sender.start()
    begun = running.wait_for_where("task_start", context_id="ctx-cancel")
    running.wait_for_where("harness_session", parent_id=begun["event_id"])
    ask(running, "CancelTask", {"id": begun["task_id"]})
    sender.join(30)
    assert ended[0]["status"]["state"] == "TASK_STATE_CANCELED"
    lines = {line["event_type"]: line for line in of_task(running, {"id": begun["task_id"]})}
    interrupt = lines["harness_interrupt"]
    assert (interrupt["method"], interrupt["delivered"], interrupt["grace_ms"]) == (
        "stdin-message", True, 10000,
    )  # fmt: skip
    assert (lines["harness_exit"]["cause"], lines["harness_exit"]["killed"]) == ("canceled", False)
    assert lines["task_canceled"]["phase"] == "harness"
    assert lines["task_end"]["exit_status"] == "canceled" and lines["task_end"]["turns"] == 1


def test_the_card_says_that_the_harness_streams(running: Running) -> None:
    card = httpx.get(f"{running.url}/.well-known/agent-card.json", timeout=10).json()
    assert card["capabilities"]["streaming"] is True


def test_the_scope_report_says_before_a_launch_what_the_session_records(
    at: Harnessed, running: Running
) -> None:
    done = at.place.mur(
        "run",
        *("--explain-scope", "--json", "--workdir", "w"),
        cwd=at.project,
        environ=at.environ(),
    )
    assert done.returncode == 0, done.stderr
    foreseen = json.loads(done.stdout)
    recorded = running.trace()[0]["effective_grants"]
    assert foreseen.keys() == recorded.keys()
    for key in ("harness_paths", "routes", "images", "network_allow", "host_paths", "env_allow"):
        assert foreseen[key] == recorded[key], key
    (login,) = foreseen["harness_paths"]
    assert (login["path"], login["access"]) == (str(at.login.resolve()), "read-write")
    present = {route["route"]: route for route in foreseen["routes"] if route["present"]}
    assert present["process-harness"]["under_class"] and present["harness-tools"]["under_class"]
    assert foreseen["images"]["keep_applies"] is False
    page = at.place.home / ".murmur" / "sessions" / running.ready["session_id"] / "runtime"
    assert "Harness: Stand-in (local/stand-in-driver@0.1.0)" in (page / "MURMUR.md").read_text()
