"""Commands that outlive their grace or their task, in whole sessions. spec/sessions.md 14.4."""

import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.endtoend.capsule import (
    Place,
    Running,
    alive,
    descendants,
    read_trace,
    replay,
    shell_turn,
    write_manifest,
)
from tests.providers import openai_server
from tests.providers.scripted import SeenRequest

BASH: dict[str, Any] = {"shell": {"allow": ["bash", "sleep"]}}
SLEEPS = {"task_acceptance": "queue", "after_task": "sleep", "queue_depth": 8}
TOLD = {"when": {"newest": "background command wrk_"}, "text": "noted"}


def _capsule(
    project: Path, turns: Sequence[Mapping[str, Any]], grace: int, **lifecycle: Any
) -> None:
    write_manifest(
        project,
        replay(
            turns,
            capabilities=BASH,
            lifecycle={"shell_grace_secs": grace, **lifecycle},
            trace={"capture": "content"},
        ),
    )


@pytest.fixture
def ended() -> Iterator[list[Running]]:
    started: list[Running] = []
    yield started
    for each in started:
        each.end(signal.SIGKILL)


def _kinds(trace: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str(line["event_type"]) for line in trace]


def _only(trace: Sequence[Mapping[str, Any]], kind: str) -> Mapping[str, Any]:
    (found,) = [line for line in trace if line["event_type"] == kind]
    return found


def _wait_for_tasks(running: Running, count: int) -> None:
    end = time.monotonic() + 60
    while _kinds(running.trace()).count("task_end") < count:
        assert time.monotonic() < end and running.process.poll() is None, _kinds(running.trace())
        time.sleep(0.05)


def _records(done: "subprocess.CompletedProcess[str]") -> Path:
    line = next(line for line in done.stdout.splitlines() if line.startswith("records: "))
    return Path(line.removeprefix("records: "))


def test_a_command_beyond_its_grace_ends_in_a_task_of_its_own(
    place: Place, project: Path, ended: list[Running]
) -> None:
    turns = [TOLD, shell_turn("bash", "echo early; sleep 1.5; echo late; exit 3"), {"text": "on"}]
    _capsule(project, turns, 1, **SLEEPS)
    running = place.start("--task", "go", cwd=project)
    ended.append(running)
    _wait_for_tasks(running, 2)
    status, _, _ = running.end()
    trace = running.trace()
    assert status == 0
    assert [kind for kind in _kinds(trace) if kind != "inference"] == [
        "session_start", "task_start", "shell_detached", "tool_call", "task_end",
        "shell_completed", "task_start", "task_end", "session_end",
    ]  # fmt: skip
    detached, completed = _only(trace, "shell_detached"), _only(trace, "shell_completed")
    assert detached["grace_ms"] == 1000 and detached["binary"].endswith("/bash")
    assert completed["work_id"] == detached["work_id"]
    assert (completed["exit_code"], completed["status"]) == (3, "error")
    first, second = [line for line in trace if line["event_type"] == "task_start"]
    assert second["task_id"] == completed["completion_task_id"]
    assert second["context_id"] == first["context_id"]
    assert {key: second[key] for key in ("source", "origin", "trust", "lane")} == {
        "source": "detached_shell", "origin": "completion", "trust": "trusted", "lane": "bg",
    }  # fmt: skip
    log = running.records / completed["output_path"]
    assert log.read_text() == "early\nlate\n"
    assert completed["output_bytes"] == len("early\nlate\n")
    shown = _only(trace, "tool_call")["output"]
    assert detached["work_id"] in shown and str(log) in shown
    assert "early" not in shown and "Exit code" not in shown
    assert _only(trace, "session_end")["total_shell_calls"] == 1


def test_the_end_of_a_session_kills_and_reports_what_still_runs(
    place: Place, project: Path
) -> None:
    _capsule(project, [shell_turn("bash", "echo begun; sleep 61.7"), {"text": "done"}], 0)
    done = place.mur("run", "--verbose", "--task", "go", cwd=project)
    assert done.returncode == 0, done.stderr
    records = _records(done)
    trace = read_trace(records)
    assert [kind for kind in _kinds(trace) if kind != "inference"] == [
        "session_start", "task_start", "shell_detached", "tool_call", "task_end",
        "shell_abandoned", "session_end",
    ]  # fmt: skip
    abandoned = _only(trace, "shell_abandoned")
    assert "exit_code" not in abandoned and abandoned["command"] == "echo begun; sleep 61.7"
    for text in (done.stderr, (records / "logs" / "bootstrap.log").read_text()):
        assert f"work_id: {abandoned['work_id']}" in text and "still running after" in text
        assert "command: echo begun; sleep 61.7" in text
    assert (records / "logs" / f"{abandoned['work_id']}.log").read_text() == "begun\n"
    assert "warning[W-SEC-022]" in done.stderr
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert "sleep 61.7" not in listed.stdout


def test_a_command_that_ended_unread_before_the_session_did_is_reported_with_its_code(
    place: Place, project: Path
) -> None:
    turns = [
        shell_turn("bash", "sleep 1.4; exit 7"),
        shell_turn("bash", "sleep 0.9"),
        {"text": "done"},
    ]
    _capsule(project, turns, 1)
    done = place.mur("run", "--verbose", "--task", "go", cwd=project)
    assert done.returncode == 0, done.stderr
    trace = read_trace(_records(done))
    assert "shell_completed" not in _kinds(trace)
    abandoned = _only(trace, "shell_abandoned")
    assert (abandoned["exit_code"], abandoned["output_bytes"]) == (7, 0)
    assert "exit_code: 7" in done.stderr and "status: error" in done.stderr


def test_sigterm_moves_a_foreground_command_to_the_background_and_kills_it(
    place: Place, project: Path, ended: list[Running]
) -> None:
    _capsule(project, [shell_turn("sleep", "60"), {"text": "never"}], 60)
    running = place.start("--task", "go", cwd=project)
    ended.append(running)
    running.wait_for("inference")
    time.sleep(0.5)
    below = descendants(running.process.pid)
    began = time.monotonic()
    status, _, complaint = running.end()
    assert status == 1 and "E-RUN-040" in complaint
    assert time.monotonic() - began < 10
    trace = running.trace()
    canceled = _only(trace, "task_canceled")
    detached = _only(trace, "shell_detached")
    assert canceled["phase"] == "shell"
    assert canceled["detached_work_ids"] == [detached["work_id"]]
    assert "grace_ms" not in detached
    assert _kinds(trace)[-3:] == ["task_end", "shell_abandoned", "session_end"]
    assert alive(below) == []


def test_a_cancelled_task_names_its_command_and_the_command_runs_on(
    place: Place, project: Path, ended: list[Running]
) -> None:
    turns = [TOLD, shell_turn("bash", "sleep 2; echo kept"), {"text": "never"}]
    _capsule(project, turns, 60, **SLEEPS)
    running = place.start("--task", "go", cwd=project)
    ended.append(running)
    task = running.wait_for("task_start")["task_id"]
    running.wait_for("inference")
    time.sleep(0.7)
    reply = httpx.post(
        running.url,
        json={"jsonrpc": "2.0", "id": 1, "method": "CancelTask", "params": {"id": task}},
        headers={"A2A-Version": "1.0"},
        timeout=20,
    ).json()
    assert "detached_shell" in json.dumps(reply), reply
    completed = running.wait_for("shell_completed")
    assert (completed["exit_code"], completed["status"]) == (0, "ok")
    assert completed["work_id"] in json.dumps(reply)
    assert (running.records / completed["output_path"]).read_text() == "kept\n"
    _wait_for_tasks(running, 2)
    status, _, complaint = running.end()
    assert status == 1, complaint  # the launch's own task was cancelled


def _asking(operation: str, **more: Any) -> Any:
    """A turn that asks about the command whose work id the model has just read."""

    def turn(request: SeenRequest) -> dict[str, Any]:
        (work_id, *_) = re.findall(r"wrk_[0-9a-f]+", json.dumps(request.body["messages"]))
        arguments = {"operation": operation, "work_id": work_id, **more}
        return {"tool_calls": [{"name": "background-command", "input": arguments}]}

    return turn


def _openai(place: Place, project: Path, script: Sequence[Any], grace: int) -> list[dict[str, Any]]:
    """Runs a session on a scripted provider; its trace."""
    _capsule(project, [], grace, **SLEEPS)
    with openai_server.start(script, None) as server:
        manifest = replay([], capabilities=BASH, trace={"capture": "content"})
        manifest["lifecycle"] = {"shell_grace_secs": grace}
        manifest["artifacts"][0] = {
            "name": "local/driver-openai",
            "version": "0.1.0",
            "runtime": "driver",
            "gateway": {"endpoint": server.url, "api_key": "k"},
        }
        manifest["inference"] = {
            "model": "m", "max_tokens": 512, "driver": {"artifact": "local/driver-openai"},
        }  # fmt: skip
        manifest["context"] = {"max_tokens": 100000}
        write_manifest(project, manifest)
        done = place.mur("run", "--verbose", "--task", "go", cwd=project)
    assert done.returncode == 0, done.stderr
    return read_trace(_records(done))


def _shown(call: Mapping[str, Any]) -> dict[str, Any]:
    text = str(call["output"]).split("\n", 1)[1].rsplit("\n</untrusted-content>", 1)[0]
    shown: dict[str, Any] = json.loads(text)
    return shown


def test_an_agent_asks_waits_and_is_told_no_second_time(place: Place, project: Path) -> None:
    script = [
        {"tool_calls": [{"name": "bash", "input": {"command": "sleep 2; echo out; exit 4"}}]},
        _asking("status"),
        _asking("wait"),
        {"tool_calls": [{"name": "session-status", "input": {}}]},
        {"text": "done"},
    ]
    trace = _openai(place, project, script, 1)
    calls = [line for line in trace if line["event_type"] == "tool_call"]
    status, waited, standing = (_shown(call) for call in calls[1:])
    assert status["state"] == "running" and "output" not in status
    assert (waited["state"], waited["exit_code"], waited["output"]) == ("ended", 4, "out\n")
    completed = _only(trace, "shell_completed")
    assert "completion_task_id" not in completed
    assert "shell_abandoned" not in _kinds(trace)
    assert standing["turns"] == {"used": 4, "max": "none", "left": "none"}
    assert standing["task_id"] == _only(trace, "task_start")["task_id"]
    assert standing["context"]["budget"] == 100000 - 512
    assert standing["deadline"] == "none"


def test_an_agent_stops_a_command(place: Place, project: Path) -> None:
    script = [
        {"tool_calls": [{"name": "bash", "input": {"command": "trap '' TERM; sleep 60"}}]},
        _asking("stop"),
        {"text": "done"},
    ]
    trace = _openai(place, project, script, 0)
    stopped = _shown([line for line in trace if line["event_type"] == "tool_call"][1])
    assert stopped["state"] == "ended" and stopped["signal"] in (9, 15)
    assert _only(trace, "shell_completed")["status"] == "error"


def test_a_work_folder_that_grew_too_large_ends_the_session(place: Place, project: Path) -> None:
    turns = [shell_turn("bash", "head -c 300000 /dev/zero > big"), {"text": "never"}]
    write_manifest(
        project,
        replay(
            turns,
            capabilities={
                "shell": {"allow": ["bash", "head"]},
                "resources": {"workdir_max_bytes": 100_000},
            },
        ),
    )
    done = place.mur("run", "--verbose", "--task", "go", cwd=project)
    assert done.returncode == 1
    assert "error[E-RUN-013]" in done.stderr and "100000" in done.stderr
    assert "status:  failed" in done.stdout
    trace = read_trace(_records(done))
    assert _kinds(trace)[-3:] == ["task_failed", "task_end", "session_end"]
    assert _only(trace, "session_end")["exit_status"] == "failed"


def test_a_capsule_that_may_spawn_is_refused_naming_the_daemon(place: Place, project: Path) -> None:
    write_manifest(
        project, replay([{"text": "x"}], capabilities={"spawn": {"allow": ["local/child"]}})
    )
    done = place.mur("run", "--task", "go", cwd=project)
    assert done.returncode == 1
    assert "error[E-RUN-019]" in done.stderr and "mur-roost" in done.stderr
    assert not (place.home / ".murmur" / "sessions").exists() or not list(
        (place.home / ".murmur" / "sessions").glob("ses_*")
    )


def test_a_resumed_session_is_told_of_commands_that_died_with_theirs(
    place: Place, project: Path, ended: list[Running]
) -> None:
    turns = [
        {"when": {"newest": "did not outlive it"}, "text": "noted"},
        {"when": {"newest": "again"}, "text": "resumed"},
        shell_turn("bash", "echo begun; sleep 60"),
        {"text": "on"},
    ]
    _capsule(project, turns, 0, **SLEEPS)
    work = project / "work"
    work.mkdir()
    running = place.start("--task", "go", "--workdir", "work", cwd=project)
    ended.append(running)
    detached = running.wait_for("shell_detached")
    _wait_for_tasks(running, 1)
    below = descendants(running.process.pid)
    running.end(signal.SIGKILL)
    end = time.monotonic() + 5
    while alive(below) and time.monotonic() < end:
        time.sleep(0.02)
    assert alive(below) == [], "the command dies with its runtime"
    _capsule(project, turns, 0)
    again = ("run", "--verbose", "--workdir", "work", "--task", "again", "--resume")
    done = place.mur(*again, "@1", cwd=project)
    assert done.returncode == 0, done.stderr
    (lost,) = [line for line in running.trace() if line["event_type"] == "shell_lost"]
    trace = read_trace(_records(done))
    first, second = [line for line in trace if line["event_type"] == "task_start"]
    assert (first["source"], second["source"]) == ("task_md", "detached_lost")
    assert second["task_id"] == lost["reconciled_task_id"]
    assert lost["work_id"] == detached["work_id"]
    assert lost["reconciled_by_session"] == trace[0]["session_id"]
    assert first["context_id"] == second["context_id"]
    done = place.mur(*again, "@2", cwd=project)
    assert done.returncode == 0, done.stderr
    assert _kinds(read_trace(_records(done))).count("task_start") == 1, "it is told once"


@pytest.mark.parametrize(
    ("more", "last", "status"),
    [
        ({"max_turns": 1}, {"text": "never"}, "max_turns_reached"),
        ({}, {"error": "the provider is down"}, "failed"),
        ({}, {"text": "done"}, "ok"),
    ],
    ids=["turns", "failed", "ok"],
)
def test_however_a_task_ends_its_background_command_ends_with_the_session(
    place: Place, project: Path, more: dict[str, Any], last: dict[str, Any], status: str
) -> None:
    turns = [shell_turn("bash", "setsid sleep 63.1 & sleep 63.2"), last]
    manifest = replay(turns, capabilities=BASH, lifecycle={"shell_grace_secs": 0})
    manifest["inference"] |= more
    write_manifest(project, manifest)
    done = place.mur("run", "--verbose", "--task", "go", cwd=project)
    assert done.returncode == (0 if status == "ok" else 1)
    trace = read_trace(_records(done))
    assert _kinds(trace)[-3:] == ["task_end", "shell_abandoned", "session_end"]
    assert trace[-1]["exit_status"] == status
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert "sleep 63." not in listed.stdout


def test_a_deadline_moves_a_foreground_command_away_and_kills_it(
    place: Place, project: Path
) -> None:
    _capsule(project, [shell_turn("bash", "sleep 64.1"), {"text": "never"}], 60)
    done = place.mur("run", "--verbose", "--task", "go", "--deadline", "15", cwd=project)
    assert done.returncode == 1 and "error[E-RUN-053]" in done.stderr, done.stderr
    trace = read_trace(_records(done))
    kinds = _kinds(trace)
    assert kinds.index("deadline_reached") < kinds.index("shell_detached")
    assert kinds[-3:] == ["task_end", "shell_abandoned", "session_end"]
    assert "grace_ms" not in _only(trace, "shell_detached")
    assert _only(trace, "task_canceled")["phase"] == "shell"
    assert _only(trace, "task_end")["exit_status"] == "deadline_reached"
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert "sleep 64.1" not in listed.stdout


def test_mur_stop_names_the_command_of_a_task_that_is_over(
    place: Place, project: Path, ended: list[Running]
) -> None:
    _capsule(project, [shell_turn("sleep", "65.1"), {"text": "done"}], 0, **SLEEPS)
    running = place.start("--task", "go", cwd=project)
    ended.append(running)
    work_id = running.wait_for("shell_detached")["work_id"]
    _wait_for_tasks(running, 1)
    done = place.mur("stop", str(running.ready["session_id"]), cwd=project)
    assert done.returncode == 0, done.stderr
    assert f"running: {work_id}  detached shell  65.1" in done.stdout, done.stdout
    assert running.process.wait(20) == 0
