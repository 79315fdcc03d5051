"""Script capsules, from their manifest to their end. spec/sessions.md 24."""

import json
import os
import shutil
import signal
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from murmur.inference.tests.upstream import Authority
from murmur.store.tests.components import manifest, native_zip, raw_zip
from tests.endtoend.capsule import Place, alive, descendants, read_trace, replay, write_manifest
from tests.probes.building import probe

DRIVER = {"name": "local/driver-replay", "version": "0.1.0", "runtime": "driver"}
EDITOR = {"name": "local/tool-editor", "version": "0.1.0", "runtime": "tool"}
Step = Sequence[Any]


class Script:
    """A project whose component is the probe."""

    def __init__(self, place: Place, project: Path) -> None:
        self.place = place
        self.project = project
        self.environ: dict[str, str] = {}
        self.work = project / "w"
        self.work.mkdir()
        shutil.copy(probe("script_probe"), project / "capsule.wasm")

    def write(self, **manifest: Any) -> None:
        write_manifest(self.project, {"name": "prober", "version": "0.1.0", **manifest})

    def run(self, *steps: Step, **manifest: Any) -> "subprocess.CompletedProcess[str]":
        self.write(**manifest)
        (self.work / "steps.json").write_text(json.dumps(steps))
        return self.place.mur("run", "--workdir", "w", cwd=self.project, environ=self.environ)

    def answers(self, *steps: Step, **manifest: Any) -> list[Any]:
        """What each step was answered; the script must end well."""
        done = self.run(*steps, **manifest)
        assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "status:  ok"), done.stderr
        answers: list[Any] = json.loads((self.work / "answers.json").read_text())
        return answers

    def trace(self) -> list[dict[str, Any]]:
        root = self.place.home / ".murmur" / "records" / str(self.work.resolve())[1:]
        newest = max(root.iterdir(), key=lambda each: each.name)
        return read_trace(newest)

    def lock(self) -> list[dict[str, Any]]:
        held: list[dict[str, Any]] = yaml.safe_load((self.project / "murmur.lock").read_text())[
            "artifacts"
        ]
        return held


@pytest.fixture
def script(place: Place, project: Path) -> Script:
    return Script(place, project)


def test_a_script_capsule_runs_its_component_binds_no_door_and_ends_with_it(
    script: Script,
) -> None:
    script.write()
    (script.work / "steps.json").write_text('[["environment"], ["files"]]')
    done = script.place.mur("run", "--workdir", "w", "--json", cwd=script.project)
    assert done.returncode == 0, done.stderr
    ready = json.loads(done.stdout)
    assert (ready["url"], ready["name"]) == ("", "prober")
    environment, files = json.loads((script.work / "answers.json").read_text())
    assert environment["ok"] == {
        "MURMUR_CAPSULE_NAME": "prober",
        "MURMUR_CAPSULE_VERSION": "0.1.0",
        "MURMUR_SESSION_ID": ready["session_id"],
        "MURMUR_CAPSULE_URL": "",
    }
    assert files["ok"] == ["answers.json", "steps.json"]
    start, end = script.trace()
    assert (start["event_type"], end["event_type"]) == ("session_start", "session_end")
    assert (start["model"], start["max_turns"], "model_limits" in start) == ("", None, False)
    assert start["tools_declared"] == []
    assert end["exit_status"] == "ok"
    home = script.place.home / ".murmur"
    assert not (home / "sessions" / ready["session_id"]).exists()
    assert not (home / "running" / f"{ready['session_id']}.json").exists()


def test_human_output_has_no_url_line(script: Script) -> None:
    done = script.run()
    lines = done.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["session", "status"]


def test_a_component_that_traps_ends_the_launch_trapped_with_e_run_001(script: Script) -> None:
    done = script.run(["fail"])
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "status:  trapped")
    assert "error[E-RUN-001]: capsule.wasm: capsule 'prober' trapped" in done.stderr
    assert "RuntimeError: told to" in done.stderr, "what it wrote is shown"
    assert script.trace()[-1]["exit_status"] == "trapped"


def test_a_component_past_its_deadline_is_ended_with_the_limits_name(script: Script) -> None:
    began = time.monotonic()
    done = script.run(["spin"], capabilities={"limits": {"deadline_seconds": 2}})
    assert time.monotonic() - began < 60
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "status:  trapped")
    assert "capabilities.limits.deadline_seconds" in done.stderr and "2s" in done.stderr


def test_a_deadline_falls_while_the_script_waits_for_a_program(script: Script) -> None:
    done = script.run(
        ["shell", "sleep", ["600"], []],
        capabilities={"limits": {"deadline_seconds": 2}, "shell": {"allow": ["sleep"]}},
    )
    assert done.returncode == 1 and "deadline_seconds" in done.stderr, done.stderr
    assert script.trace()[-1]["event_type"] == "session_end"


def test_sigterm_ends_a_script_at_once_and_leaves_no_session_end(script: Script) -> None:
    script.write()
    (script.work / "steps.json").write_text('[["spin"]]')
    running = script.place.start("--workdir", "w", cwd=script.project)
    record = script.place.home / ".murmur" / "running" / f"{running.ready['session_id']}.json"
    assert json.loads(record.read_text())["url"] is None
    below = descendants(running.process.pid)
    running.process.send_signal(signal.SIGTERM)
    assert running.process.wait(10) == -signal.SIGTERM
    assert [line["event_type"] for line in running.trace()] == ["session_start"]
    end = time.monotonic() + 10
    while alive(below) and time.monotonic() < end:
        time.sleep(0.05)
    assert alive(below) == []
    running.end()
    # The next launch takes away what that one left.
    assert script.run().returncode == 0
    assert not (script.place.home / ".murmur" / "sessions" / running.ready["session_id"]).exists()


@pytest.mark.parametrize(
    ("names", "found"), [((), "no .wasm file"), (("a.wasm", "b.wasm"), "a.wasm, b.wasm")]
)
def test_a_folder_without_exactly_one_component_is_e_run_004_naming_what_is_there(
    script: Script, names: Sequence[str], found: str
) -> None:
    component = script.project / "capsule.wasm"
    for name in names:
        shutil.copy(component, script.project / name)
    component.unlink()
    script.write()
    foreseen = script.place.mur("doctor", cwd=script.project)
    assert "E-RUN-004" in foreseen.stderr, foreseen.stderr
    before = sorted(os.listdir(script.project))
    done = script.place.mur("run", "--workdir", "w", cwd=script.project)
    assert (done.returncode, done.stdout) == (1, "status:  failed\n")
    assert "error[E-RUN-004]" in done.stderr and found in done.stderr, done.stderr
    assert sorted(os.listdir(script.project)) == before


def test_another_component_than_capsule_wasm_runs_when_it_is_the_only_one(script: Script) -> None:
    (script.project / "capsule.wasm").rename(script.project / "program.wasm")
    assert script.answers(["files"])[0]["ok"] == ["steps.json"]


def test_an_import_that_is_not_linked_is_e_run_002_naming_it(script: Script) -> None:
    # A tool's component: it imports murmur:task, which is served to tools alone.
    shutil.copy(probe("tool_probe"), script.project / "capsule.wasm")
    done = script.run()
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "status:  trapped")
    assert "error[E-RUN-002]: capsule.wasm imports murmur:" in done.stderr, done.stderr


def test_a_component_that_does_not_compile_is_e_run_001_before_anything_is_made(
    script: Script,
) -> None:
    (script.project / "capsule.wasm").write_bytes(b"\0asm\x0d\0\1\0garbage")
    done = script.run()
    assert done.returncode == 1 and "error[E-RUN-001]: capsule.wasm" in done.stderr, done.stderr
    assert sorted(os.listdir(script.project)) == ["capsule.wasm", "murmur.yaml", "w"]


def test_a_gateway_on_a_native_tool_is_e_cap_017_and_nothing_is_made(
    script: Script, tmp_path: Path
) -> None:
    archive = tmp_path / "my-native-0.1.0.mur.zip"
    archive.write_bytes(native_zip())
    script.place.mur("publish", str(archive), cwd=tmp_path)
    gateway = {"endpoint": "https://api.example.com", "keyless": True}
    native = {"name": "local/my-native", "version": "0.1.0", "gateway": gateway}
    done = script.run(artifacts=[native])
    assert (done.returncode, done.stdout) == (1, "status:  failed\n")
    assert "error[E-CAP-017]: local/my-native@0.1.0 is a native tool" in done.stderr, done.stderr
    assert sorted(os.listdir(script.project)) == ["capsule.wasm", "murmur.yaml", "w"]


def test_system_prompt_is_refused_for_a_script_and_nothing_is_made(script: Script) -> None:
    script.write()
    done = script.place.mur("run", "--system-prompt", "x", cwd=script.project)
    assert done.returncode == 1 and "error[E-IO-003]: --system-prompt" in done.stderr
    assert sorted(os.listdir(script.project)) == ["capsule.wasm", "murmur.yaml", "w"]


def test_invoke_reaches_declared_tools_by_full_and_by_bare_name(script: Script) -> None:
    write = {"operation": "write_file", "dest_path": "x.txt", "content": "hello"}
    answers = script.answers(
        ["invoke", "tool-editor", json.dumps(write)],
        ["invoke", "local/tool-editor", '{"operation":"read_file","path":"x.txt"}'],
        ["invoke", "tool-other", "{}"],
        ["invoke", "driver-replay", "{}"],
        artifacts=[
            EDITOR,
            {"name": "local/driver-replay", "version": "0.1.0", "runtime": "driver"},
        ],
    )
    assert answers[0]["ok"]["status"] == "passed"
    assert "hello" in answers[1]["ok"]["data"]
    for refused in answers[2:]:
        assert "is not declared in manifest allowlist" in refused["err"]
    assert (script.work / "x.txt").read_text() == "hello"
    calls = [line for line in script.trace() if line["event_type"] == "tool_call"]
    assert [(call["tool_name"], call["status"]) for call in calls] == [("tool-editor", "ok")] * 2


def test_invoke_does_not_write_below_a_read_only_path(script: Script) -> None:
    write = {"operation": "write_file", "dest_path": "tests/x", "content": "hello"}
    (answer,) = script.answers(
        ["invoke", "tool-editor", json.dumps(write)],
        artifacts=[EDITOR],
        capabilities={"filesystem": {"read_only": ["tests"]}},
    )
    assert "tests" in answer["err"] and not (script.work / "tests").exists()
    assert "protected_path_denied" in [line["event_type"] for line in script.trace()]


def test_shell_runs_a_contained_program_without_a_shell_between(script: Script) -> None:
    outside = script.place.home / "outside.txt"
    outside.write_text("secret")
    answers = script.answers(
        ["shell", "sh", ["-c", "echo $A; echo err >&2; exit 3"], [["A", "b"], ["HOME", "/x"]]],
        ["shell", "cat", [str(outside)], []],
        ["shell", "rm", ["x"], []],
        ["shell", "sh", ["-c", "head -c 20000 /dev/zero | tr '\\0' x"], []],
        capabilities={"shell": {"allow": ["sh", "cat", "head", "tr"]}},
    )
    assert answers[0]["ok"] == {
        "exit_code": 3,
        "stdout": "b\n",
        "stderr": "err\n",
        "truncated": False,
        "full_output_path": None,
    }
    assert answers[1]["ok"]["exit_code"] != 0 and "secret" not in answers[1]["ok"]["stdout"]
    assert "capabilities.shell.allow" in answers[2]["err"]
    cut = answers[3]["ok"]
    assert cut["truncated"] and len(cut["stdout"]) == 16384
    assert "x" * 20000 in Path(cut["full_output_path"]).read_text()
    assert next(line for line in script.trace() if line["event_type"] == "shell")["exit_code"] == 3


def test_murmur_process_answers_a_script_that_it_is_unavailable(script: Script) -> None:
    (answer,) = script.answers(["process", "sh", []], capabilities={"shell": {"allow": ["sh"]}})
    assert answer["err"]["value"]["rule"] == "unavailable"


# --- messages --------------------------------------------------------------------------------


class Peer(BaseHTTPRequestHandler):
    """A capsule that answers every message with a finished task."""

    asked: list[tuple[dict[str, str], dict[str, Any]]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.asked.append(({k.lower(): v for k, v in self.headers.items()}, body))
        task = {"id": "tsk_1", "contextId": "ctx_1", "status": {"state": "TASK_STATE_COMPLETED"}}
        answer = json.dumps({"jsonrpc": "2.0", "id": body["id"], "result": {"task": task}})
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer.encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def peer(
    tls: ssl.SSLContext | None = None,
) -> Iterator[tuple[int, list[tuple[dict[str, str], dict[str, Any]]]]]:
    asked: list[tuple[dict[str, str], dict[str, Any]]] = []
    handler = type("Handler", (Peer,), {"asked": asked})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        if tls is not None:
            # The handshake waits for the handler, so that one that fails ends no server.
            server.socket = tls.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port, asked
        finally:
            server.shutdown()
            thread.join()


def test_a_message_reaches_a_listed_peer_and_no_other(script: Script) -> None:
    with peer() as (port, asked), peer() as (other, unasked):
        url = f"http://localhost:{port}"
        answers = script.answers(
            ["send", url, "msg_1", "ctx_1", "hello"],
            ["send", f"http://localhost:{other}", "msg_2", None, "hello"],
            ["send", f"http://127.0.0.1:{port}", "msg_3", None, "hello"],
            ["send", "file:///etc/passwd", "msg_4", None, "hello"],
            capabilities={"network": {"allow": [url]}},
        )
    assert answers[0]["ok"] == {"task_id": "tsk_1", "context_id": "ctx_1", "state": "completed"}
    for refused in answers[1:3]:
        assert refused["err"].startswith("network policy:")
    assert "err" in answers[3]
    ((headers, body),) = asked
    assert unasked == []
    assert (headers["a2a-version"], headers["x-murmur-task-origin"]) == ("1.0", "peer")
    assert body["method"] == "SendMessage"
    assert body["params"]["message"] == {
        "messageId": "msg_1",
        "contextId": "ctx_1",
        "role": "ROLE_USER",
        "parts": [{"text": "hello"}],
    }
    (sent,) = [line for line in script.trace() if line["event_type"] == "a2a_send"]
    assert (sent["peer_url"], sent["task_id"], sent["traceparent"]) == (url, "tsk_1", None)


def test_a_message_over_https_reaches_a_peer_whose_certificate_this_system_trusts(
    script: Script, authority: Authority
) -> None:
    with peer(authority.server) as (port, asked):
        url = f"https://localhost:{port}"
        capabilities = {"network": {"allow": [url]}}
        send = ["send", url, "msg_1", "ctx_1", "hello"]
        (refused,) = script.answers(send, capabilities=capabilities)
        assert "certificate verify failed" in refused["err"], refused
        assert asked == []
        script.environ["SSL_CERT_FILE"] = str(authority.certificate)
        (answered,) = script.answers(send, capabilities=capabilities)
    assert answered["ok"] == {"task_id": "tsk_1", "context_id": "ctx_1", "state": "completed"}
    assert len(asked) == 1


# --- what a running capsule installs ---------------------------------------------------------


def skill(name: str = "pulled-style") -> bytes:
    return raw_zip(
        ("murmur.yaml", manifest(name, "0.1.0", runtime="skill")), ("skill.md", b"Write plainly.\n")
    )


def test_a_pull_is_staged_listed_pinned_and_traced_and_later_launches_mark_it_untrusted(
    script: Script, tmp_path: Path
) -> None:
    archive = tmp_path / "pulled-style-0.1.0.mur.zip"
    archive.write_bytes(skill())
    assert script.place.mur("publish", str(archive), cwd=tmp_path).returncode in (0, 1)
    grant = {"install": {"skill": ["local/pulled-*"]}}
    answers = script.answers(
        ["pull", "local/pulled-style", "0.1.0"],
        ["list"],
        ["describe", "pulled-style"],
        ["invoke", "pulled-style", "{}"],
        ["pull", "local/tool-editor", "0.1.0"],
        ["search", "style"],
        ["diagnostics"],
        capabilities=grant,
    )
    summary = {"name": "local/pulled-style", "version": "0.1.0", "runtime": "wasm"}
    assert answers[0]["ok"] == summary and answers[1]["ok"] == [summary]
    assert answers[2]["ok"]["version"] == "0.1.0"
    assert "allowlist" in answers[3]["err"], "a pull widens no allowlist"
    assert answers[4]["err"].startswith("not-granted: ")
    assert answers[5]["ok"] == [summary]
    assert "install skill: local/pulled-*" in answers[6]["ok"]["capabilities"]
    session = answers[6]["ok"]["capsule_id"]
    (pin,) = script.lock()
    assert (pin["name"], pin["origin"], pin["session"]) == (
        "local/pulled-style",
        "runtime",
        session,
    )
    (pulled,) = [line for line in script.trace() if line["event_type"] == "artifact_pulled"]
    assert (pulled["name"], pulled["runtime"], pulled["origin"], pulled["session"]) == (
        "local/pulled-style",
        "skill",
        "runtime",
        session,
    )
    assert pulled["trust"] == "untrusted"
    # An agent that declares it stages it untrusted, and its text is fenced.
    declared = {"name": "local/pulled-style", "version": "0.1.0", "runtime": "skill"}
    calling = {"tool_calls": [{"name": "pulled-style", "input": {}}]}
    fenced = "<untrusted-content source=tool:pulled-style>\nWrite plainly."
    turns: list[dict[str, Any]] = [calling, {"text": "done", "expect": fenced}]
    agent = replay(turns)
    agent["artifacts"] = [agent["artifacts"][0], declared]
    write_manifest(script.project, agent)
    lock = script.project / "murmur.lock"
    held = yaml.safe_load(lock.read_text())
    sums = script.place.home / ".murmur" / "artifacts" / "local" / "driver-replay" / "0.1.0"
    held["artifacts"].append(
        {
            "name": DRIVER["name"],
            "resolved_version": "0.1.0",
            "sha256": {"any": (sums / "driver-replay-0.1.0.sha256").read_text().strip()},
            "origin": "operator",
        }
    )
    lock.write_text(yaml.safe_dump(held, sort_keys=False))
    done = script.place.mur("run", "--workdir", "w", "--task", "go", cwd=script.project)
    assert done.returncode == 0, done.stderr
    lines = script.trace()
    assert lines[0]["runtime_artifacts"] == [
        {
            "name": "local/pulled-style",
            "version": "0.1.0",
            "origin": "runtime",
            "session": session,
            "trust": "untrusted",
        }
    ]
    (call,) = [line for line in lines if line["event_type"] == "skill_call"]
    assert (call["origin"], call["trust"]) == ("runtime", "untrusted")
    # mur install adopts it.
    adopted = script.place.mur("install", cwd=script.project)
    assert f"pulled at runtime by session {session}" in adopted.stdout, adopted.stderr


def test_a_pulled_artifact_is_removed_again_with_its_pin(script: Script, tmp_path: Path) -> None:
    archive = tmp_path / "pulled-other-0.1.0.mur.zip"
    archive.write_bytes(skill("pulled-other"))
    script.place.mur("publish", str(archive), cwd=tmp_path)
    answers = script.answers(
        ["pull", "local/pulled-other", "0.1.0"],
        ["remove", "local/pulled-other"],
        ["list"],
        ["remove", "local/pulled-other"],
        ["remove", "local/driver-replay"],
        capabilities={"install": {"skill": ["local/pulled-*"]}},
    )
    assert [answer.get("ok") for answer in answers[1:4]] == [True, [], False]
    assert answers[4]["err"].startswith("not-granted: ")
    assert script.lock() == []


def test_a_capsule_that_runs_from_its_package_pulls_for_its_session_alone(
    script: Script, tmp_path: Path
) -> None:
    archive = tmp_path / "pulled-third-0.1.0.mur.zip"
    archive.write_bytes(skill("pulled-third"))
    script.place.mur("publish", str(archive), cwd=tmp_path)
    packed = {"execution": "wasm", "requires_files": ["capsule.wasm"]}
    script.write(**packed, capabilities={"install": {"skill": ["local/pulled-*"]}})
    for words in (("build", "."), ("publish", "prober-0.1.0.mur.zip")):
        done = script.place.mur(*words, cwd=script.project)
        assert done.returncode == 0, done.stderr
    steps = [
        ["pull", "local/pulled-third", "0.1.0"],
        ["list"],
        ["remove", "local/pulled-third"],
        ["remove", "local/pulled-third"],
        ["list"],
        ["pull", "local/pulled-third", "0.1.0"],
    ]
    away = tmp_path / "away"
    away.mkdir()
    for _ in range(2):
        (away / "steps.json").write_text(json.dumps(steps))
        named = ("--capsule", "local/prober", "--capsule-version", "0.1.0")
        done = script.place.mur("run", *named, "--workdir", str(away), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        pulled, listed, *removed, left, again = json.loads((away / "answers.json").read_text())
        assert listed["ok"] == [pulled["ok"]] and again["ok"] == pulled["ok"]
        assert [each["ok"] for each in removed] == [True, False] and left["ok"] == []
    assert sorted(each.name for each in away.iterdir()) == ["answers.json", "steps.json"]
    root = script.place.home / ".murmur" / "records" / str(away)[1:]
    first, second = [read_trace(each) for each in sorted(root.iterdir())]
    for trace in (first, second):
        lines = [line for line in trace if line["event_type"] == "artifact_pulled"]
        assert [(each["origin"], each["session"]) for each in lines] == [
            ("runtime", trace[0]["session_id"])
        ] * 2
        assert trace[0]["runtime_artifacts"] == []


def test_without_a_grant_every_pull_is_refused(script: Script) -> None:
    answers = script.answers(["pull", "local/tool-editor", "0.1.0"], ["diagnostics"])
    assert answers[0]["err"] == "not-granted: the capsule declares no capabilities.install"
    assert answers[1]["ok"]["capabilities"] == "install: nothing"
