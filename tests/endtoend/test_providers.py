"""Tasks against servers that speak the providers' wire formats, through the program.

What a provider may answer is tried at large in tests/artifacts; here it is followed into a
session's trace, its retries and its keys.
"""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from murmur.inference.tests.upstream import Authority
from tests.endtoend.capsule import (
    TIMEOUT_SECONDS,
    Place,
    alive,
    descendants,
    files_below,
    read_trace,
    replay,
    write_manifest,
)
from tests.endtoend.connecting import connecting_proxy
from tests.endtoend.scenarios.scenario import records_of
from tests.providers import anthropic_server, deepseek_server, moonshotai_server, openai_server

KEY = "sk-test-5f1d9c0e7b3a4e21"
SCRIPT: Sequence[Mapping[str, Any]] = (
    {
        "thinking": "It wants a note.",
        "text": "I write it down.",
        "tool_calls": [
            {
                "name": "tool-editor",
                "input": {
                    "operation": "write_file",
                    "dest_path": "note.txt",
                    "content": "written by the model",
                },
            }
        ],
    },
    {"text": "It is in note.txt."},
)


@dataclass(frozen=True)
class Api:
    """One provider's API: its driver, a server of it, and where it takes the key."""

    driver: str
    server: ModuleType
    model: str = "test-model"
    header: str = "authorization"
    config: Mapping[str, Any] = field(default_factory=dict)

    def manifest(self, endpoint: str, api_key: str, **inference: Any) -> dict[str, Any]:
        manifest = replay([])
        manifest["artifacts"][0] = {
            "name": f"local/{self.driver}",
            "version": "0.1.0",
            "runtime": "driver",
            "gateway": {"endpoint": endpoint, "api_key": api_key},
        }
        manifest["inference"] = {
            "model": self.model,
            "max_tokens": 512,
            "driver": {"artifact": f"local/{self.driver}", "config": dict(self.config)},
            **inference,
        }
        manifest["context"] = {"max_tokens": 100000}
        manifest["trace"] = {"capture": "content"}
        return manifest


ANTHROPIC = Api("driver-anthropic", anthropic_server, header="x-api-key")
CHAT = Api("driver-openai", openai_server)
RESPONSES = Api("driver-openai", openai_server, "gpt-5.6-luna", config={"thinking": "enabled"})
DEEPSEEK = Api("driver-deepseek", deepseek_server)
MOONSHOT = Api("driver-moonshotai", moonshotai_server, config={"reasoning_effort": "low"})
APIS = [
    pytest.param(ANTHROPIC, id="anthropic"),
    pytest.param(CHAT, id="openai-chat"),
    pytest.param(RESPONSES, id="openai-responses"),
    pytest.param(DEEPSEEK, id="deepseek"),
    pytest.param(MOONSHOT, id="moonshotai"),
]


def traced(
    place: Place, project: Path, *arguments: str, environ: Mapping[str, str] | None = None
) -> tuple[int, dict[str, list[dict[str, Any]]], str]:
    """Runs the project's capsule to its end: exit status, its trace by event, what it printed."""
    running = place.start(*arguments, "--task", "Write a note.", cwd=project, environ=environ or {})
    try:
        output, complaint = running.process.communicate(timeout=TIMEOUT_SECONDS)
    finally:
        running.end()
    lines: dict[str, list[dict[str, Any]]] = {}
    for line in running.trace():
        lines.setdefault(line["event_type"], []).append(line)
    return running.process.returncode, lines, output + complaint


@pytest.mark.parametrize("api", APIS)
def test_a_two_turn_tool_calling_task_completes_and_the_key_is_only_in_the_servers_log(
    place: Place, project: Path, api: Api
) -> None:
    work = project / "work"
    work.mkdir()
    with api.server.start(SCRIPT, KEY) as server:
        write_manifest(project, api.manifest(server.url, "${PROVIDER_KEY}"))
        status, trace, said = traced(
            place, project, "--workdir", "work", environ={"PROVIDER_KEY": KEY}
        )
        assert status == 0, said
        assert len(server.requests) == 2, said
        assert all(KEY in request.headers[api.header] for request in server.requests)
        second = server.requests[1].body
    assert "written by the model" in str(second)
    assert (work / "note.txt").read_text() == "written by the model"
    first, last = trace["inference"]
    assert (first["decision"], first["tool_name"]) == ("tool_call", "tool-editor")
    assert (last["decision"], last["stop_reason"]) == ("end_turn", "end_turn")
    for line in (first, last):
        assert (line["input_tokens_actual"], line["output_tokens_actual"]) == (11, 7)
        assert (line["provider_status"], line["max_output_tokens"]) == (200, 512)
        assert line["driver_config"] == api.config
    assert KEY not in said
    for path in files_below(project, place.home):
        assert KEY.encode() not in path.read_bytes(), path


def test_a_busy_provider_is_asked_again_when_it_said_and_each_wait_is_traced(
    place: Place, project: Path
) -> None:
    script = [
        {"status": 429, "headers": {"Retry-After": "1"}},
        {"status": 529},
        {"text": "I write nothing."},
    ]
    with DEEPSEEK.server.start(script, KEY) as server:
        retry = {"max_retries": 3, "initial_delay_ms": 5}
        write_manifest(project, DEEPSEEK.manifest(server.url, KEY, retry=retry))
        status, trace, said = traced(place, project)
    assert status == 0, said
    assert len(server.requests) == 3
    first, second = trace["inference_retry"]
    assert (first["attempt"], first["max_attempts"], first["provider_status"]) == (1, 4, 429)
    assert first["wait_ms"] == 1000
    assert (second["attempt"], second["provider_status"]) == (2, 529)
    assert second["wait_ms"] <= 11
    (line,) = trace["inference"]
    assert (line["attempts"], line["provider_status"]) == (3, 200)
    assert "retry_stopped" not in line


def test_a_wait_that_would_outlast_the_session_is_not_begun(place: Place, project: Path) -> None:
    with MOONSHOT.server.start([{"status": 429, "headers": {"Retry-After": "50"}}], KEY) as server:
        write_manifest(project, MOONSHOT.manifest(server.url, KEY))
        status, trace, said = traced(place, project, "--deadline", "40")
    assert status == 1, said
    assert len(server.requests) == 1
    (line,) = trace["inference"]
    assert line["retry_stopped"] == "deadline"
    assert not {"inference_retry", "deadline_reached"} & set(trace)


def test_a_key_replaced_in_the_config_while_a_capsule_runs_reaches_the_next_request(
    place: Place, project: Path
) -> None:
    """The provider stops to accept the first key between two turns."""
    new_key = "sk-test-0000aaaa1111bbbb"
    config = place.home / ".murmur" / "config.yaml"
    before = config.read_bytes() if config.exists() else None

    def second(request: object) -> Mapping[str, Any]:
        return SCRIPT[1]

    def first(request: object) -> Mapping[str, Any]:
        server.key = new_key
        done = place.mur("config", "set", "-g", "credentials.ROTATED_KEY", new_key, cwd=project)
        assert done.returncode == 0, done.stderr
        return SCRIPT[0]

    set_first = place.mur("config", "set", "-g", "credentials.ROTATED_KEY", KEY, cwd=project)
    assert set_first.returncode == 0, set_first.stderr
    try:
        with MOONSHOT.server.start([first, second], KEY) as server:
            write_manifest(project, MOONSHOT.manifest(server.url, "${ROTATED_KEY}"))
            status, trace, said = traced(place, project)
    finally:
        if before is None:
            config.unlink()
        else:
            config.write_bytes(before)
    assert status == 0, said
    sent = [request.headers["authorization"] for request in server.requests]
    assert sent == [f"Bearer {KEY}", f"Bearer {new_key}"]
    (change,) = trace["inference_credential"]
    assert (change["change"], change["trigger"]) == ("rotated", "file_changed")
    assert KEY not in said and new_key not in said


@pytest.mark.parametrize("api", [APIS[0], APIS[3]])
def test_while_the_driver_waits_no_process_but_the_runtime_has_the_key(
    place: Place, project: Path, api: Api
) -> None:
    slow = [{**SCRIPT[1], "delay_ms": 400}]
    with api.server.start(slow, KEY) as server:
        write_manifest(project, api.manifest(server.url, "${PROVIDER_KEY}"))
        running = place.start("--task", "Say it.", cwd=project, environ={"PROVIDER_KEY": KEY})
        try:
            running.wait_for("task_start")
            while not server.requests and running.process.poll() is None:
                pass
            below = descendants(running.process.pid)
            assert below
            for pid in alive(below):
                try:
                    environment = Path(f"/proc/{pid}/environ").read_bytes()
                    arguments = Path(f"/proc/{pid}/cmdline").read_bytes()
                except OSError:
                    continue
                assert KEY.encode() not in environment + arguments
            assert running.process.wait(timeout=60) == 0
        finally:
            running.end()


@pytest.mark.parametrize("api", [APIS[0], APIS[3]])
def test_a_refused_key_ends_the_launch_with_e_run_027_and_then_e_run_040(
    place: Place, project: Path, api: Api
) -> None:
    with api.server.start(SCRIPT, "another key") as server:
        write_manifest(project, api.manifest(server.url, KEY))
        done = place.mur("run", "--task", "Say it.", cwd=project)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "status:  failed"
    codes = [line.split("]")[0] for line in done.stderr.splitlines() if line.startswith("error[")]
    assert codes == ["error[E-RUN-027", "error[E-RUN-040"]
    assert KEY not in done.stdout + done.stderr
    trace = read_trace(records_of(place, project))
    (failed,) = [line for line in trace if line["event_type"] == "task_failed"]
    assert failed["cause"] == "credential_rejected"


def test_a_provider_over_https_is_held_to_the_authorities_that_this_system_trusts(
    place: Place, project: Path, authority: Authority
) -> None:
    with anthropic_server.start([SCRIPT[1]], KEY, authority.server) as server:
        write_manifest(project, ANTHROPIC.manifest(server.url, KEY, retry={"max_retries": 0}))
        status, trace, said = traced(place, project)
        assert status == 1, said
        assert "its certificate is not accepted" in trace["inference"][0]["error"]
        assert server.requests == []
        trusting = {"SSL_CERT_FILE": str(authority.certificate)}
        status, trace, said = traced(place, project, environ=trusting)
    assert status == 0, said
    assert server.requests[0].headers["x-api-key"] == KEY


def test_a_provider_is_reached_through_the_operators_proxy_which_reads_no_key(
    place: Place, project: Path, authority: Authority
) -> None:
    password = "proxy-pass-7f3e"
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(anthropic_server.start([SCRIPT[1]], KEY, authority.server))
        proxy = stack.enter_context(connecting_proxy(int(server.url.rpartition(":")[2])))
        write_manifest(project, ANTHROPIC.manifest("https://api.example.com", KEY))
        environ = {
            "HTTPS_PROXY": f"http://me:{password}@127.0.0.1:{proxy.port}",
            "SSL_CERT_FILE": str(authority.certificate),
        }
        status, _, said = traced(place, project, environ=environ)
    assert status == 0, said
    assert server.requests[0].headers["host"] == "api.example.com"
    assert proxy.asked[0].startswith(b"CONNECT api.example.com:443 HTTP/1.1\r\n")
    assert b"proxy-authorization: Basic " in proxy.asked[0]
    assert KEY.encode() not in proxy.passed
    assert password not in said
    for path in files_below(project, place.home):
        assert password.encode() not in path.read_bytes(), path
