"""The control surface of a live capsule: `mur control`, its checks, what it changes and records.

spec/door.md 19; CLI reference, *mur control*.
"""

import json
import os
import pty
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.endtoend.capsule import (
    Place,
    Running,
    files_below,
    mur_command,
    read_trace,
    replay,
    write_manifest,
)
from tests.endtoend.test_running_commands import send, session
from tests.providers import openai_server
from tests.providers.scripted import Server

VALUE = "sk-card-0c7b9e42aa10"


def manifest(endpoint: str, *turns: Any, **more: Any) -> dict[str, Any]:
    """Primary: the replay driver; alternate `other`: OpenAI's, keyed by a secret."""
    made = replay(list(turns) or [{"text": "from the primary"}])
    made["artifacts"].append(
        {
            "name": "local/driver-openai",
            "version": "0.1.0",
            "runtime": "driver",
            "gateway": {"endpoint": endpoint, "api_key": "${CARD_TOKEN}"},
        }
    )
    made["inference"] |= {
        "max_tokens": 4096,
        "retry": {"max_retries": 0},
        "alternates": [
            {"name": "other", "model": "big", "driver": {"artifact": "local/driver-openai"}}
        ],
    }
    made["context"] = {"max_tokens": 100_000}
    made["lifecycle"] = {"task_acceptance": "queue", "after_task": "sleep", "queue_depth": 8}
    made["control"] = {
        "settings": ["inference.max_tokens", "inference.driver"],
        "secrets": ["CARD_TOKEN"],
    }
    return {**made, **more}


@pytest.fixture
def server() -> Iterator[Server]:
    with openai_server.start([{"text": "from the other"}] * 4, VALUE) as started:
        yield started


@pytest.fixture
def running(place: Place, project: Path, server: Server) -> Iterator[Running]:
    write_manifest(project, manifest(server.url))
    started = place.start(cwd=project)
    yield started
    started.end(signal.SIGKILL)


@pytest.fixture
def token(place: Place, running: Running) -> str:
    path = place.home / ".murmur" / "running" / f"{session(running)}.control"
    assert path.stat().st_mode & 0o777 == 0o600
    return path.read_text()


def control(
    place: Place, cwd: Path, *arguments: str, given: bytes = b""
) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        [*mur_command(), "control", *arguments],
        cwd=cwd,
        env=dict(place.environ),
        input=given,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


def until(running: Running, event: str, count: int) -> list[dict[str, Any]]:
    end = time.monotonic() + 60
    while True:
        found = [line for line in running.trace() if line["event_type"] == event]
        if len(found) >= count:
            return found
        assert time.monotonic() < end, running.trace()
        time.sleep(0.02)


def test_settings_and_secrets_from_show_to_forget(
    place: Place, project: Path, running: Running, server: Server, token: str
) -> None:
    shown = control(place, project, "show", session(running))
    assert shown.stdout == (
        f"session:  {session(running)}\n"
        "settings:\n"
        "  inference.max_tokens   4096\n"
        "  inference.driver       primary\n"
        "secrets:\n"
        "  CARD_TOKEN             not set\n"
    )
    raw = json.loads(control(place, project, "show", "--json").stdout)
    assert raw["settings"][1]["choices"] == [
        {
            "name": "primary",
            "driver": "local/driver-replay",
            "model": "replay",
            "available": True,
        },
        {"name": "other", "driver": "local/driver-openai", "model": "big", "available": False},
    ]
    refused = control(place, project, "set", "inference.driver", "other")
    assert refused.returncode == 1 and refused.stdout == ""
    assert refused.stderr.startswith(f"error[E-RUN-042]: session {session(running)}: ")
    assert "PUT /control/settings/inference.driver was answered HTTP 409" in refused.stderr
    done = control(place, project, "secret", "CARD_TOKEN", given=f"{VALUE}\r\n".encode())
    assert done.stdout == "secret: CARD_TOKEN\nset:    yes (new)\n"
    again = control(place, project, "secret", "CARD_TOKEN", given=f"{VALUE}\n".encode())
    assert again.stdout.endswith("yes (replaced)\n")
    changed = control(place, project, "set", "inference.driver", "other", session(running))
    assert changed.stdout == (
        "setting:  inference.driver\n"
        "previous: primary\n"
        "value:    other\n"
        "applies:  next inference call\n"
    )
    control(place, project, "set", "inference.max_tokens", "2048")
    send(running)
    until(running, "task_end", 1)
    (request,) = server.requests
    assert VALUE in request.headers["authorization"]
    assert (running.records / "out" / "result.txt").read_text() == "from the other"
    held = control(place, project, "forget", "CARD_TOKEN")
    assert held.returncode == 1 and "HTTP 409" in held.stderr
    control(place, project, "set", "inference.driver", "primary")
    done = control(place, project, "forget", "CARD_TOKEN")
    assert done.stdout == "secret: CARD_TOKEN\nset:    no\n"
    send(running)
    until(running, "task_end", 2)
    assert (running.records / "out" / "result.txt").read_text() == "from the primary"
    status, output, complaint = running.end()
    assert status == 0
    lines = read_trace(running.records)
    start = lines[0]
    assert start["control"] == {
        "settings": ["inference.max_tokens", "inference.driver"],
        "secrets": ["CARD_TOKEN"],
    }
    assert [each["name"] for each in start["inference_choices"]] == ["primary", "other"]
    assert [each["credential_source"] for each in start["inference_choices"]] == [
        "keyless",
        "injected",
    ]
    changes = [line for line in lines if line["event_type"] == "control_change"]
    assert [(c["name"], c["action"], c.get("value")) for c in changes] == [
        ("CARD_TOKEN", "set", None),
        ("CARD_TOKEN", "set", None),
        ("inference.driver", "set", "other"),
        ("inference.max_tokens", "set", 2048),
        ("inference.driver", "set", "primary"),
        ("CARD_TOKEN", "forget", None),
    ]
    assert [c.get("replaced") for c in changes[:2]] == [False, True]
    applied = [line for line in lines if line["event_type"] == "control_applied"]
    assert [(a["name"], a["value"]) for a in applied] == [
        ("inference.max_tokens", 2048),
        ("inference.driver", "other"),
        ("inference.driver", "primary"),
    ]
    assert [a["change_id"] for a in applied] == [
        changes[3]["event_id"],
        changes[2]["event_id"],
        changes[4]["event_id"],
    ]
    caps = [line["max_output_tokens"] for line in lines if line["event_type"] == "inference"]
    assert caps == [2048, 2048]
    everything = (
        output
        + complaint
        + "".join(
            path.read_text(errors="replace") for path in files_below(project, running.records)
        )
    )
    assert VALUE not in everything and token not in everything
    assert not (place.home / ".murmur" / "running" / f"{session(running)}.control").exists()


REFUSED = {
    "no token": ("GET", "/control", {}, b"", 401, "unauthenticated"),
    "no such path": ("GET", "/control/other", None, b"", 404, "unknown_path"),
    "an empty name": ("PUT", "/control/settings/", None, b"{}", 404, "unknown_path"),
    "an undeclared setting": ("PUT", "/control/settings/x", None, b"{}", 404, "undeclared_setting"),
    "an undeclared secret": ("PUT", "/control/secrets/X", None, b"x", 404, "undeclared_secret"),
    "a method": ("POST", "/control", None, b"x", 405, "method_not_allowed"),
    "a method of a setting": (
        "DELETE",
        "/control/settings/inference.max_tokens",
        None,
        b"",
        405,
        "method_not_allowed",
    ),
    "a long setting": (
        "PUT",
        "/control/settings/inference.max_tokens",
        None,
        b"1" * 1025,
        413,
        "body_too_large",
    ),
    "a long secret": (
        "PUT",
        "/control/secrets/CARD_TOKEN",
        None,
        b"x" * 8193,
        413,
        "body_too_large",
    ),
    "no body": (
        "PUT",
        "/control/settings/inference.max_tokens",
        None,
        b"",
        422,
        "missing_body",
    ),
    "no JSON type": (
        "PUT",
        "/control/settings/inference.max_tokens",
        {"content-type": "text/plain"},
        b'{"value":1}',
        415,
        "unsupported_media_type",
    ),
    "no value": (
        "PUT",
        "/control/settings/inference.max_tokens",
        None,
        b"[]",
        422,
        "invalid_value",
    ),
    "zero tokens": (
        "PUT",
        "/control/settings/inference.max_tokens",
        None,
        b'{"value":0}',
        422,
        "invalid_value",
    ),
    "a truth": (
        "PUT",
        "/control/settings/inference.max_tokens",
        None,
        b'{"value":true}',
        422,
        "invalid_value",
    ),
    "more than fits": (
        "PUT",
        "/control/settings/inference.max_tokens",
        None,
        b'{"value":100000}',
        422,
        "invalid_value",
    ),
    "an unknown driver": (
        "PUT",
        "/control/settings/inference.driver",
        None,
        b'{"value":"x"}',
        422,
        "undeclared_driver",
    ),
    "a driver without a key": (
        "PUT",
        "/control/settings/inference.driver",
        None,
        b'{"value":"other"}',
        409,
        "credential_unresolvable",
    ),
    "a secret with a line end": (
        "PUT",
        "/control/secrets/CARD_TOKEN",
        None,
        b"a\nb",
        422,
        "invalid_value",
    ),
    "an empty secret": ("PUT", "/control/secrets/CARD_TOKEN", None, b" ", 422, "invalid_value"),
}


def test_what_is_refused_and_how_it_is_recorded(running: Running, token: str) -> None:
    for case, (method, path, headers, body, status, reason) in REFUSED.items():
        sent = {"content-type": "application/json", "authorization": f"Bearer {token}"}
        if headers is not None:
            sent = {**sent, **headers} if headers else {}
        answer = httpx.request(
            method, running.url + path, headers=sent, content=body or None, timeout=10
        )
        assert answer.status_code == status, (case, answer.text)
        assert list(answer.json()) == ["error"] and token not in answer.text, case
        line = until(running, "control_refused", 1)[-1]
        assert (line["status"], line["reason"]) == (status, reason), case
        assert ("token_id" in line) == (status != 401), case
        if status == 401:
            assert answer.headers["www-authenticate"] == 'Bearer realm="murmur-control"'
            assert "kind" not in line and "name" not in line
        if status == 405:
            assert answer.headers["allow"]
    assert len(until(running, "control_refused", len(REFUSED))) == len(REFUSED)


def test_a_door_token_is_no_control_token_and_the_other_way_round(
    place: Place, project: Path, server: Server
) -> None:
    bearer = {"authentication": {"scheme": "bearer"}}
    write_manifest(project, manifest(server.url, network=bearer))
    running = place.start(cwd=project)
    try:
        control_token = (
            place.home / ".murmur" / "running" / f"{session(running)}.control"
        ).read_text()
        door_token = place.mur("token", session(running), cwd=project).stdout.strip()
        for path, token in (("/control", door_token), ("/resources/files", control_token)):
            answer = httpx.get(running.url + path, headers={"authorization": f"Bearer {token}"})
            assert answer.status_code == 401
        card = httpx.get(running.url + "/.well-known/agent-card.json").text
        assert "control" not in card
        done = control(place, project, "show")
        assert done.returncode == 0, done.stderr
    finally:
        running.end()


def test_a_secret_comes_over_loopback_alone_and_settings_from_anywhere(
    place: Place, project: Path, server: Server
) -> None:
    here = [
        str(each[4][0])
        for each in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)
        if not str(each[4][0]).startswith("127.")
    ]
    if not here:
        pytest.skip("this machine has no address off loopback")
    write_manifest(project, manifest(server.url))
    running = place.start("--bind", "0.0.0.0", cwd=project)
    try:
        path = place.home / ".murmur" / "running" / f"{session(running)}.control"
        port = running.ready["url"].rpartition(":")[2]
        url = f"http://{here[0]}:{port}/control"
        headers = {"authorization": f"Bearer {path.read_text()}"}
        answer = httpx.put(f"{url}/secrets/CARD_TOKEN", headers=headers, content=VALUE)
        assert answer.status_code == 403
        assert until(running, "control_refused", 1)[0]["reason"] == "not_loopback"
        assert httpx.get(url, headers=headers).status_code == 200
        answer = httpx.put(
            f"{url}/settings/inference.max_tokens", headers=headers, json={"value": 100}
        )
        assert answer.json() == {
            "name": "inference.max_tokens",
            "previous": 4096,
            "value": 100,
            "applies_from": "next_inference_call",
        }
    finally:
        running.end()


def test_a_terminal_is_asked_for_the_value_without_echo(
    place: Place, project: Path, running: Running
) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*mur_command(), "control", "secret", "CARD_TOKEN"],
        cwd=project,
        env=dict(place.environ),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    while b"value for CARD_TOKEN: " not in shown:
        shown += os.read(ours, 1024)
    os.write(ours, f"{VALUE}\n".encode())
    assert process.stdout is not None
    assert process.stdout.read() == "secret: CARD_TOKEN\nset:    yes (new)\n"
    assert process.wait(30) == 0
    process.stdout.close()
    try:
        while piece := os.read(ours, 1024):
            shown += piece
    except OSError:
        pass
    os.close(ours)
    assert VALUE.encode() not in shown


def test_the_agent_switches_its_own_driver_where_it_may(
    place: Place, project: Path, server: Server
) -> None:
    def switch(name: str) -> dict[str, Any]:
        return {"tool_calls": [{"name": "switch-driver", "input": {"driver": name}}]}

    made = manifest(server.url, switch("nobody"), switch("other"), {"text": "unused"})
    made["artifacts"][2]["gateway"]["api_key"] = VALUE
    made["control"] = {"agent_settings": ["inference.driver"]}
    write_manifest(project, made)
    done = place.mur("run", "--task", "go", "--lifecycle-after-task", "exit", cwd=project)
    assert done.returncode == 0, done.stderr
    assert len(server.requests) == 1
    root = place.home / ".murmur" / "records" / str(project).lstrip("/")
    records = max(path.parent for path in root.rglob("trace.jsonl"))
    assert not (place.home / ".murmur" / "running" / f"{records.name}.control").exists()
    lines = read_trace(records)
    refused = next(line for line in lines if line["event_type"] == "control_refused")
    assert (refused["principal"], refused["reason"]) == ("agent", "undeclared_driver")
    change = next(line for line in lines if line["event_type"] == "control_change")
    assert (change["principal"], change["value"]) == ("agent", "other")
    assert "token_id" not in change and "token_id" not in refused
    assert lines[0]["control"] == {
        "settings": [],
        "secrets": [],
        "agent_settings": ["inference.driver"],
    }


def test_a_capsule_without_control_answers_404_and_records_nothing(
    place: Place, project: Path
) -> None:
    write_manifest(project, replay([{"text": "done", "delay_ms": 20_000}]))
    running = place.start("--task", "go", cwd=project)
    try:
        answer = httpx.get(running.url + "/control")
        assert (answer.status_code, answer.content) == (404, b"")
        refused = control(place, project, "show", session(running))
        assert refused.returncode == 1 and "E-RUN-042" in refused.stderr
        assert not [line for line in running.trace() if line["event_type"] == "control_refused"]
    finally:
        running.end()


def test_w_run_003_names_an_alternate_without_a_key_and_the_launch_goes_on(
    place: Place, project: Path
) -> None:
    made = manifest("http://127.0.0.1:9")
    made["control"] = {"settings": ["inference.driver"]}
    del made["lifecycle"]
    write_manifest(project, made)
    done = place.mur("run", "--workdir", ".", "--task", "go", cwd=project)
    assert done.returncode == 0, done.stderr
    (line,) = [each for each in done.stderr.splitlines() if "warning[W-RUN-003]" in each]
    assert all(fact in line for fact in ("other", "local/driver-openai@0.1.0", "CARD_TOKEN"))
    root = place.home / ".murmur" / "records" / str(project.resolve())[1:]
    started = read_trace(next(root.iterdir()))[0]
    available = {each["name"]: each["available"] for each in started["inference_choices"]}
    assert available == {"primary": True, "other": False}
