"""Six of the default tools in whole sessions: their inputs, their refusals, and that what the
manifest grants them is enough and needed. spec/artifacts.md 16.3.
"""

import asyncio
import functools
import json
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.types import a2a_pb2 as pb

from tests.endtoend.agent import Agent, Call, unfenced
from tests.endtoend.capsule import Place, files_below, replay, write_manifest

KEY = "tvly-0123456789abcdef"


@pytest.fixture
def agent(place: Place, project: Path) -> Agent:
    return Agent(place, project)


class Server:
    """A real HTTP server on loopback."""

    def __init__(self, handler: Any) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _editor(operation: str, **members: Any) -> Call:
    return "tool-editor", {"operation": operation, **members}


def test_the_editor_does_all_that_it_documents_and_says_what_it_cannot(agent: Agent) -> None:
    (agent.work / "tests").mkdir()
    (agent.work / "tests/a.txt").write_text("kept\n")
    diff = "--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n"
    answers = agent.answers(
        _editor("create", dest_path="a.txt", content="1\n2\n"),
        _editor("patch", dest_path="a.txt", patch=diff),
        _editor("insert", dest_path="a.txt", line=0, content="0"),
        _editor("replace", dest_path="a.txt", old_string="1", new_string="one"),
        _editor("view", path="a.txt"),
        _editor("search", pattern="TWO", ignore_case=True),
        _editor("undo", dest_path="a.txt"),
        _editor("read_file", path="a.txt"),
        _editor("patch", dest_path="a.txt", patch=diff),
        _editor("write_file", dest_path="/etc/x", content=""),
        _editor("list_files", dir="tests"),
        _editor("patch", dest_path="tests/a.txt", patch="@@ -1 +1 @@\n-kept\n+changed\n"),
        capabilities={"filesystem": {"read_only": ["tests"]}},
    )

    assert [each["ok"] for each in answers] == [True] * 8 + [False, False, True]
    assert answers[4]["content"] == "     1\t0\n     2\tone\n     3\ttwo\n"
    assert answers[5]["matches"] == [{"path": "a.txt", "line": 3, "text": "two"}]
    assert answers[7]["content"] == "0\n1\ntwo\n"
    assert answers[8]["error_kind"] == "patch_failed" and "hunk 1" in answers[8]["message"]
    assert answers[9]["error_kind"] == "absolute_path"
    denied = [line for line in agent.trace() if line["event_type"] == "protected_path_denied"]
    assert [line["path"] for line in denied] == ["tests/a.txt"], "the tool was never called"
    assert (agent.work / "tests/a.txt").read_text() == "kept\n"
    assert "W-SEC-018" not in agent.complaint


def test_the_editor_sees_the_folder_that_its_entry_names_and_no_other(agent: Agent) -> None:
    (agent.work / "in").mkdir()
    (agent.work / "in/a").write_text("inside")
    (agent.work / "b").write_text("outside")

    inside, outside = agent.answers(
        _editor("read_file", path="a"),
        _editor("read_file", path="../b"),
        entries={"tool-editor": {"capabilities": {"filesystem": {"scope": "in"}}}},
    )

    assert inside["content"] == "inside"
    assert outside["error_kind"] == "outside_workdir"


def _git(operation: str, **members: Any) -> Call:
    return "tool-git", {"operation": operation, "repo": "r", **members}


AUTHOR = {"tool-git": {"config": {"author": {"name": "Ada", "email": "ada@example.com"}}}}
GIT = {"shell": {"allow": ["git"]}}


def _repository(folder: Path) -> None:
    run = functools.partial(subprocess.run, check=True, capture_output=True, cwd=folder)
    run(["git", "init", "--quiet", "--initial-branch=main", "."])
    (folder / "m.py").write_text("def one():\n    return 1\n")
    run(["git", "add", "m.py"])
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.com")
    run(["git", *identity, "commit", "--quiet", "--message=first"])


def test_git_works_contained_and_runs_nothing_that_the_repository_names(agent: Agent) -> None:
    (agent.work / "r").mkdir()
    _repository(agent.work / "r")
    hook = agent.work / "r/.git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    (agent.work / "r/m.py").write_text("def one():\n    return 2\n")

    answers = agent.answers(
        _git("status"),
        _git("diff"),
        _git("add", paths=["m.py"]),
        _git("commit", message="second"),
        _git("symbol_history", symbol_id="m.py::one"),
        _git("branch", subcommand="create", name="side", ref="HEAD~1"),
        _git("create_worktree", dest="kept/x", branch="y"),
        _git("create_worktree", dest="trees/x", branch="x"),
        _git("merge", branch="side"),
        _git("tag", subcommand="create", name="v1", message="one"),
        _git("stash"),
        _git("log"),
        _git("checkout", ref="--help"),
        _git("commit", message="third"),
        ("tool-git", {"operation": "status", "repo": "none"}),
        capabilities={**GIT, "filesystem": {"read_only": ["kept"]}},
        entries=AUTHOR,
    )

    assert [each["ok"] for each in answers] == [True] * 11 + [False] * 3, answers
    assert answers[0]["entries"] == [{"path": "m.py", "unstaged": "modified"}]
    assert [each["subject"] for each in answers[4]["commits"]] == ["second", "first"]
    assert answers[10]["commits"][0]["author"] == "Ada"
    assert (agent.work / "trees/x/m.py").read_text() == "def one():\n    return 2\n"
    kinds = [each["error_kind"] for each in answers[11:]]
    assert kinds == ["invalid_input", "nothing_to_commit", "not_a_repository"]
    denied = [line for line in agent.trace() if line["event_type"] == "protected_path_denied"]
    assert [line["path"] for line in denied] == ["kept/x"], "nothing of it ran"
    assert "W-SEC-018" not in agent.complaint
    effects = [line.get("state_effect") for line in agent.trace() if "state_effect" in line]
    assert effects[:4] == ["read", "read", "mutate", "mutate"]


def test_git_needs_to_be_allowed(agent: Agent) -> None:
    (refused,) = agent.answers(_git("status"), entries=AUTHOR)

    assert refused["error_kind"] == "git_not_allowed"
    assert "capabilities.shell.allow" in refused["message"]


@pytest.fixture
def upstream(tmp_path: Path) -> Iterator[Server]:
    """A repository behind a real HTTP server."""
    source = tmp_path / "source"
    source.mkdir()
    _repository(source)
    served = tmp_path / "served"
    served.mkdir()
    run = functools.partial(subprocess.run, check=True, capture_output=True)
    run(["git", "clone", "--quiet", "--bare", str(source), str(served / "x.git")])
    run(["git", "update-server-info"], cwd=served / "x.git")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    with Server(functools.partial(Quiet, directory=str(served))) as server:
        yield server


def _programs() -> Path:
    """The folder of git's own programs."""
    told = subprocess.run(["git", "--exec-path"], check=True, capture_output=True, text=True)
    folder = Path(told.stdout.strip())
    if not (folder / "git-remote-http").exists():
        pytest.skip("this host's git has no git-remote-http")
    return folder


def test_git_reaches_a_remote_with_its_programs_and_the_host_granted_and_not_without(
    agent: Agent, upstream: Server
) -> None:
    folder = {"path": str(_programs()), "list_dir": True}
    shell = {**GIT["shell"], "interpreter_runtime": [{"binary": "git", "dirs": [folder]}]}
    network = {"network": {"allow": [upstream.url]}}
    clone = ("tool-git", {"operation": "clone", "url": f"{upstream.url}/x.git", "dest": "c"})

    (without_programs,) = agent.answers(clone, capabilities={**GIT, **network})
    assert without_programs["error_kind"] == "programs_not_granted", without_programs
    assert "interpreter_runtime" in without_programs["message"]
    (without_network,) = agent.answers(clone, capabilities={"shell": shell})
    assert without_network["error_kind"] == "network", without_network
    assert not (agent.work / "c").exists()
    cloned, fetched = agent.answers(
        clone,
        ("tool-git", {"operation": "fetch", "repo": "c"}),
        capabilities={"shell": shell, **network},
    )
    assert (cloned["branch"], fetched["remote"]) == ("main", "origin")
    assert (agent.work / "c/m.py").exists()


def test_what_create_makes_is_built_published_and_runs(agent: Agent) -> None:
    made = agent.answers(
        ("tool-create", {"type": "tool", "name": "made-tool"}),
        ("tool-create", {"type": "tool", "name": "made-native", "runtime": "native"}),
        ("tool-create", {"type": "hook", "name": "made-hook", "runtime": "wasm"}),
        ("tool-create", {"type": "skill", "name": "made-skill"}),
        ("tool-create", {"type": "tool", "name": "made-tool"}),
        ("tool-create", {"type": "driver", "name": "made-driver"}),
    )
    assert [each.get("error_kind") for each in made] == [None] * 4 + ["exists", "invalid_input"]
    names = ("made-tool", "made-native", "made-hook", "made-skill")
    for name in names:
        folder = agent.work / "tools" / name
        built = agent.place.mur("build", str(folder), cwd=agent.project)
        assert built.returncode == 0, built.stderr
        archive = str(folder / f"{name}-0.1.0.mur.zip")
        assert agent.place.mur("publish", archive, cwd=agent.project).returncode == 0

    roles = {"made-hook": "hook", "made-skill": "skill"}
    calls = [{"name": name, "input": {"message": "é"}} for name in names if name != "made-hook"]
    capsule = replay([{"tool_calls": calls}, {"text": "done"}], trace={"capture": "content"})
    capsule["artifacts"][1:] = [
        {"name": f"local/{name}", "version": "0.1.0", "runtime": roles.get(name, "tool")}
        for name in names
    ]
    capsule["capabilities"] = {"shell": {"allow": ["sh"]}}
    echoed, native = agent.run(capsule)
    assert echoed == {"message": "é"}
    assert json.loads(native["data"]) == {"message": "é"}
    events = [line["event_type"] for line in agent.trace()]
    assert "skill_call" in events and "hook_dispatch_error" not in events
    log = agent.records() / "logs" / "hook-made-hook.log"
    assert not log.exists() or log.read_text() == ""


def test_request_input_waits_for_whoever_sent_the_task(place: Place, project: Path) -> None:
    asking = {"name": "tool-request-input", "input": {"prompt": "Which colour?"}}
    blank = {"name": "tool-request-input", "input": {"prompt": ""}}
    turns: list[dict[str, Any]] = [
        {"tool_calls": [blank]},
        {"tool_calls": [asking]},
        {"text": "So be it."},
    ]
    serving = {"task_acceptance": "queue", "after_task": "sleep"}
    capsule = replay(turns, lifecycle=serving, trace={"capture": "content"})
    name = "local/tool-request-input"
    capsule["artifacts"][1] = {"name": name, "version": "0.1.0", "runtime": "tool"}
    write_manifest(project, capsule)
    running = place.start(cwd=project)
    try:
        asked, ended = asyncio.run(_asked_and_answered(running.url, "green, é"))
        assert asked == pb.TaskState.TASK_STATE_INPUT_REQUIRED
        assert ended == pb.TaskState.TASK_STATE_COMPLETED
        calls = [line for line in running.trace() if line["event_type"] == "tool_call"]
        assert unfenced(calls[0]["output"])["error_kind"] == "invalid_input"
        assert unfenced(calls[1]["output"]) == "green, é"
    finally:
        running.end(signal.SIGTERM)


async def _asked_and_answered(url: str, answer: str) -> tuple[int, int]:
    client = await ClientFactory(ClientConfig(streaming=True)).create_from_url(url)
    async with client:
        asked, task = await _until_settled(client, pb.Message(message_id="m1"), "Paint it.")
        reply = pb.Message(message_id="m2", task_id=task.id, context_id=task.context_id)
        ended, _ = await _until_settled(client, reply, answer)
        return asked, ended


async def _until_settled(client: Client, message: pb.Message, text: str) -> tuple[int, pb.Task]:
    """Sends a message; the state in which the task then waits or ends, and the task."""
    message.role = pb.Role.ROLE_USER
    message.parts.append(pb.Part(text=text))
    waiting = (pb.TaskState.TASK_STATE_INPUT_REQUIRED, pb.TaskState.TASK_STATE_COMPLETED)
    task = pb.Task()
    async for event in client.send_message(pb.SendMessageRequest(message=message)):
        if event.WhichOneof("payload") == "task":
            task = event.task
        if event.WhichOneof("payload") == "status_update":
            state = event.status_update.status.state
            if state in waiting:
                return state, task
    raise AssertionError("the stream ended before the task did")


def _search(**members: Any) -> Call:
    return "tool-registry-search", members


def test_registry_search_reads_the_index_of_a_file_and_of_a_url(
    agent: Agent, tmp_path: Path
) -> None:
    archives = tmp_path / "archives"
    archives.mkdir()
    source = next(agent.place.home.glob(".murmur/artifacts/**/tool-git*.mur.zip"), None)
    assert source is not None, "the store holds tool-git"
    shutil.copy(source, archives / "tool-git-0.1.0.mur.zip")
    index = agent.work / "index.json"
    indexed = agent.place.mur(
        "index",
        str(archives),
        *("--repo", "acme/artifacts", "--release", "v1", "-o", str(index)),
        cwd=agent.project,
    )
    assert indexed.returncode == 0, indexed.stderr

    class Releases(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            moved = self.path == "/latest"
            self.send_response(302 if moved else 200)
            body = b"" if moved else index.read_bytes()
            self.send_header("location" if moved else "content-type", "/index.json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    with Server(Releases) as server:
        url = f"{server.url}/latest"
        from_file, from_url, local, broken = agent.answers(
            _search(query="GIT", index="index.json"),
            _search(query="git", registry=url, limit=1),
            _search(query="git", index="local"),
            _search(query="git", index="murmur.lock"),
            capabilities={"network": {"allow": [server.url]}},
        )
        (denied,) = agent.answers(_search(query="git", index=url))

    (found,) = from_file["results"]
    assert (found["name"], found["version"]) == ("acme/tool-git", "0.1.0")
    assert "murmur:process/process@0.1.0" in found["interfaces"]
    assert from_url["results"] == from_file["results"]
    assert local["error_kind"] == "invalid_input" and "mur search" in local["message"]
    assert broken["error_kind"] == "not_found"
    assert denied["error_kind"] == "unreachable"
    assert "capabilities.network.allow" in denied["message"]


def test_tavily_searches_through_the_gateway_and_never_holds_the_key(agent: Agent) -> None:
    seen: list[tuple[str, str | None, Any]] = []

    class Provider(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            seen.append((self.path, self.headers["authorization"], asked))
            found = {"title": "T", "url": "https://x", "content": "c", "score": 0.5}
            answer: dict[str, Any] = {"query": asked["query"], "results": [found]}
            status = 200
            if asked["query"] == "too much":
                status, answer = 432, {"detail": {"error": "over your plan's limit"}}
            body = json.dumps({**answer, "response_time": 0.1, "usage": {"credits": 2}}).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    with Server(Provider) as server:
        gateway = {"endpoint": server.url, "api_key": "${TAVILY_KEY}"}
        config = {"search_depth": "advanced", "max_results": 3}
        found, refused, limited = agent.answers(
            ("tool-tavily", {"query": "murmur", "max_results": 2}),
            ("tool-tavily", {"query": "murmur", "max_results": 9}),
            ("tool-tavily", {"query": "too much"}),
            entries={"tool-tavily": {"gateway": gateway, "config": config}},
            environ={"TAVILY_KEY": KEY},
        )
        records = agent.records()
        (missing,) = agent.answers(
            ("tool-tavily", {"query": "murmur"}),
            entries={"tool-tavily": {"config": config}},
            capabilities={"network": {"allow": [server.url]}},
        )

    assert found["results"][0]["url"] == "https://x" and found["credits"] == 2
    path, authorization, asked = seen[0]
    assert (path, authorization) == ("/search", f"Bearer {KEY}")
    assert (asked["search_depth"], asked["max_results"]) == ("advanced", 2)
    assert refused["error_kind"] == "invalid_input" and "from 1 to 3" in refused["message"]
    assert limited["error_kind"] == "limit_reached" and "plan's limit" in limited["message"]
    assert len(seen) == 2, "what was refused was not sent"
    assert missing["error_kind"] == "gateway_missing"
    for file in files_below(records, agent.work):
        assert KEY.encode() not in file.read_bytes(), file
