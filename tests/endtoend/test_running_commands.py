"""The commands that reach a running capsule, against live ones. CLI reference, their chapters."""

import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.endtoend.capsule import (
    Place,
    Running,
    alive,
    descendants,
    mur_command,
    replay,
    shell_turn,
    write_manifest,
)

SERVING = {"task_acceptance": "queue", "after_task": "sleep", "queue_depth": 8}
BEARER = {
    "authentication": {"scheme": "bearer", "credentials": {"reader": {"scopes": ["GetTask"]}}}
}


@pytest.fixture
def launched(place: Place, project: Path) -> Iterator[Any]:
    """Starts capsules that are ended after the test."""
    started: list[Running] = []

    def launch(*turns: Mapping[str, Any], task: str | None = None, **more: Any) -> Running:
        folder = project / str(len(started))
        write_manifest(folder, replay(list(turns), **{"lifecycle": SERVING, **more}))
        arguments = [] if task is None else ["--task", task]
        started.append(place.start(*arguments, cwd=folder))
        return started[-1]

    yield launch
    for running in started:
        running.process.send_signal(signal.SIGCONT)
        running.end(signal.SIGKILL)


def session(running: Running) -> str:
    return str(running.ready["session_id"])


def call(running: Running, method: str, params: object, token: str | None = None) -> Any:
    headers = {"a2a-version": "1.0"}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return httpx.post(running.url, json=body, headers=headers, timeout=30).json()


def send(running: Running, text: str = "go", token: str | None = None) -> str:
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": text}]}
    return str(call(running, "SendMessage", {"message": message}, token)["result"]["task"]["id"])


def states(running: Running) -> list[str]:
    return [task["status"]["state"] for task in call(running, "ListTasks", {})["result"]["tasks"]]


class Watch:
    """A `mur watch` under way; what it has printed so far can be asked for."""

    def __init__(self, place: Place, cwd: Path, *arguments: str, **environ: str) -> None:
        self.process = subprocess.Popen(
            [*mur_command(), "watch", *arguments],
            cwd=cwd,
            env={**place.environ, **environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.output = ""
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        while piece := os.read(self.process.stdout.fileno(), 65536):
            self.output += piece.decode()

    def until(self, text: str, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while text not in self.output:
            assert time.monotonic() < end, self.output
            assert self.process.poll() is None, (self.output, self.end())
            time.sleep(0.02)

    def end(self, sent: signal.Signals | None = None) -> tuple[int, str]:
        """Status and standard error."""
        if sent is not None:
            self.process.send_signal(sent)
        status = self.process.wait(30)
        self._thread.join()
        assert self.process.stderr is not None and self.process.stdout is not None
        complaint = self.process.stderr.read()
        self.process.stderr.close()
        self.process.stdout.close()
        return status, complaint


def test_ps_lists_a_capsule_until_it_ends(place: Place, project: Path, launched: Any) -> None:
    running = launched({"text": "done"}, network=BEARER)
    listed = json.loads(place.mur("ps", "--json", cwd=project).stdout)["capsules"]
    (mine,) = [each for each in listed if each["session_id"] == session(running)]
    assert mine["status"] == "running"
    assert mine["pid"] == running.process.pid
    assert mine["url"] == running.ready["url"]
    assert mine["records_dir"] == running.ready["records_dir"]
    running.process.send_signal(signal.SIGSTOP)
    row = next(
        line
        for line in place.mur("ps", cwd=project).stdout.splitlines()
        if line.startswith(session(running))
    )
    assert row.split()[2] == "unreachable"
    running.process.send_signal(signal.SIGCONT)
    running.end(signal.SIGKILL)
    done = place.mur("ps", "--verbose", cwd=project)
    assert f"pruned: {session(running)} — no process holds pid {running.process.pid}" in done.stderr
    assert session(running) not in done.stdout


def test_a_record_is_gone_once_its_session_ended(
    place: Place, project: Path, launched: Any
) -> None:
    running = launched({"text": "done"})
    record = place.home / ".murmur" / "running" / f"{session(running)}.json"
    assert record.stat().st_mode & 0o777 == 0o600
    assert record.parent.stat().st_mode & 0o777 == 0o700
    assert "door_token" not in json.loads(record.read_text())
    running.end()
    assert not record.exists()


def test_stop_cancels_waits_for_the_trace_and_ends_the_process(
    place: Place, project: Path, launched: Any
) -> None:
    running = launched({"text": "slow", "delay_ms": 60_000})
    first, second = send(running), send(running)
    running.wait_for("task_start")
    below = descendants(running.process.pid)
    done = place.mur("stop", session(running), cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"stopped: {session(running)}",
        "capsule: scripted@0.1.0",
        "signal:  SIGTERM",
        *(f"canceled: {task}" for task in sorted([first, second])),
        "residue: nothing else was left running",
    ]
    assert running.process.wait(30) == 0
    assert running.trace()[-1]["event_type"] == "session_end"
    assert alive(below) == []
    assert not (place.home / ".murmur" / "running" / f"{session(running)}.json").exists()


def test_stop_of_a_capsule_that_does_not_answer_kills_it_and_says_what_is_unknown(
    place: Place, project: Path, launched: Any
) -> None:
    running = launched({"text": "done"})
    running.process.send_signal(signal.SIGSTOP)
    done = place.mur("stop", session(running), "--timeout", "0", cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[2] == "signal:  SIGKILL after 0s"
    assert lines[3].startswith("residue: unknown — the capsule could not be asked: ")
    assert running.process.wait(30) == -signal.SIGKILL
    assert session(running) not in place.mur("ps", cwd=project).stdout


def test_stop_names_a_task_whose_ending_was_never_recorded(
    place: Place, project: Path, launched: Any
) -> None:
    running = launched({"text": "slow", "delay_ms": 60_000})
    task = send(running)
    running.wait_for("task_start")
    trace = running.records / "trace.jsonl"
    # What the trace records from now on is not found where the record says it is.
    trace.rename(trace.with_name("elsewhere"))
    done = place.mur("stop", session(running), cwd=project)
    assert done.returncode == 0
    assert (
        f"unended: {task} the trace does not record how this task ended" in done.stdout.splitlines()
    )


def test_token_prints_what_the_door_takes(place: Place, project: Path, launched: Any) -> None:
    running = launched({"text": "done"}, network=BEARER)
    done = place.mur("token", session(running), cwd=project)
    token = done.stdout.removesuffix("\n")
    assert done.returncode == 0 and re.fullmatch(r"mdt1\.[\w-]+\.[\w-]+", token)
    assert call(running, "ListTasks", {}, token)["result"]["tasks"] == []
    reader = place.mur("token", session(running), "--credential", "reader", cwd=project)
    assert reader.stdout != done.stdout
    status, _, complaint = running.end()
    kept = "".join(
        path.read_text(errors="replace") for path in running.records.rglob("*") if path.is_file()
    )
    assert token not in kept + complaint + "".join(map(str, running.ready.values()))
    assert status == 0


def test_watch_prints_turns_calls_text_and_the_answer(
    place: Place, project: Path, launched: Any
) -> None:
    running = launched(
        shell_turn("sh", "echo hello; exit 3"),
        {"text": "All is done.", "stream": ["All is ", "done."]},
        capabilities={"shell": {"allow": ["sh"]}},
    )
    watch = Watch(place, project, session(running))
    send(running)
    watch.until("[completed]\n  All is done.\n")
    text = watch.output
    status, complaint = watch.end(signal.SIGINT)
    assert status == 130
    assert complaint.startswith(f"watching {session(running)}") and "mur stop" in complaint
    shown = re.sub(r"exit 3, [0-9]+ms", "exit 3, 12ms", text)
    assert shown.startswith(
        "[working]  inference turn 1\n"
        "[artifact] tool: sh [ok, exit 3, 12ms] | <untrusted-content source=tool:sh>\n"
    )
    assert "\n  hello\n" in shown
    assert shown.endswith(
        "  </untrusted-content>\n"
        "[working]  inference turn 2\n"
        "All is done.\n"
        "[completed]\n"
        "  All is done.\n"
    )
    assert running.process.poll() is None
    assert states(running) == ["TASK_STATE_COMPLETED"]


def test_watch_waits_through_a_stopped_and_continued_capsule(
    place: Place, project: Path, launched: Any
) -> None:
    running = launched({"text": "one"})
    watch = Watch(place, project, session(running))
    send(running)
    watch.until("[completed]")
    running.process.send_signal(signal.SIGSTOP)
    time.sleep(1)
    assert watch.process.poll() is None
    running.process.send_signal(signal.SIGCONT)
    send(running)
    end = time.monotonic() + 30
    while watch.output.count("[completed]") < 2:
        assert time.monotonic() < end, watch.output
        time.sleep(0.02)
    watch.end(signal.SIGINT)


def test_watch_of_a_capsule_that_exits_is_a_lost_connection(
    place: Place, project: Path, launched: Any
) -> None:
    running = launched({"text": "one"})
    watch = Watch(place, project, session(running))
    send(running)
    watch.until("[completed]")
    running.end()
    status, complaint = watch.end()
    assert status == 1
    assert re.search(
        rf"error\[E-IO-003\]: connection to {session(running)} lost after event id [0-9]+ — the "
        "capsule may still be running; run mur watch again to reattach",
        complaint,
    )


def test_watch_of_a_dropped_connection_names_where_and_ends(
    place: Place, project: Path, launched: Any
) -> None:
    """Through a relay that drops the connection after the first event."""
    running = launched({"text": "one"})
    with socket.create_server(("127.0.0.1", 0)) as relay:
        port = relay.getsockname()[1]
        watch = Watch(place, project, "--url", f"127.0.0.1:{port}")
        client, _ = relay.accept()
        host, _, door = running.ready["url"].rpartition(":")
        with client, socket.create_connection((host, int(door))) as upstream:
            request = client.recv(65536)
            if not request.endswith(b"}"):
                request += client.recv(65536)
            upstream.sendall(request)
            received = b""
            while b"connection-ack" not in received:
                received += upstream.recv(65536)
            client.sendall(received)
    status, complaint = watch.end()
    assert status == 1
    assert f"connection to 127.0.0.1:{port} lost before any event id arrived" in complaint


def test_watch_into_a_closed_pipe_ends_with_0_and_the_capsule_runs_on(
    place: Place, project: Path, launched: Any
) -> None:
    running = launched({"text": "one"})
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [*mur_command(), "watch", session(running)],
        cwd=project,
        env=place.environ,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writer)
    assert process.stderr is not None and process.stderr.readline().startswith("watching ses_")
    os.close(reader)
    send(running)
    assert process.wait(30) == 0
    assert process.stderr.read() == ""
    process.stderr.close()
    assert running.process.poll() is None


def test_an_authenticated_door_refuses_without_its_token_and_names_the_variable(
    place: Place, project: Path, launched: Any
) -> None:
    running = launched({"text": "done"}, network=BEARER)
    url = running.ready["url"]
    for command in (["watch", "--url", url], ["cancel", "--url", url, "tsk_1"]):
        done = place.mur(*command, cwd=project)
        assert done.returncode == 1
        assert "error[E-IO-003]" in done.stderr
        assert "HTTP 401" in done.stderr and "MURMUR_DOOR_TOKEN" in done.stderr
    reader = place.mur("token", session(running), "--credential", "reader", cwd=project).stdout
    environ = {"MURMUR_DOOR_TOKEN": reader.strip()}
    done = place.mur("cancel", "--url", url, "tsk_1", cwd=project, environ=environ)
    assert done.returncode == 1 and "HTTP 403" in done.stderr
    operator = place.mur("token", session(running), cwd=project).stdout.strip()
    watch = Watch(place, project, "--url", url, MURMUR_DOOR_TOKEN=operator)
    send(running, token=operator)
    watch.until("[completed]")
    watch.end(signal.SIGINT)
    watch = Watch(place, project, session(running))
    watch.until("[completed]")
    watch.end(signal.SIGINT)


def test_cancel_ends_one_task_and_the_queue_goes_on(
    place: Place, project: Path, launched: Any
) -> None:
    running = launched(
        {"when": {"newest": "slow"}, "text": "late", "delay_ms": 60_000}, {"text": "done"}
    )
    slow, queued = send(running, "slow"), send(running, "quick")
    running.wait_for("task_start")
    done = place.mur("cancel", session(running), slow, cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"task:    {slow}\nstate:   canceled\n"
    again = place.mur("cancel", "--url", running.ready["url"], slow, cwd=project)
    assert again.returncode == 0
    assert again.stdout == (
        f"task:    {slow}\nstate:   canceled\nnothing to cancel: the task had already ended\n"
    )
    end = time.monotonic() + 30
    while "TASK_STATE_COMPLETED" not in states(running):
        assert time.monotonic() < end
        time.sleep(0.05)
    done = place.mur("cancel", session(running), queued, cwd=project)
    assert "state:   completed" in done.stdout and done.returncode == 0
    unknown = place.mur("cancel", session(running), "tsk_unknown", cwd=project)
    assert unknown.returncode == 1
    assert "error[E-IO-003]: cancel of tsk_unknown failed: Task not found" in unknown.stderr
