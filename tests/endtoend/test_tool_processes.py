"""Host programs of a WASM tool, through a whole agent session. spec/artifacts.md 3, `process`."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.endtoend.capsule import Place, read_trace, replay, write_manifest
from tests.probes.building import probe

Step = Sequence[Any]

SERVER = """
import socket
with socket.create_server(("127.0.0.1", 7777)) as listener:
    while True:
        wire, _ = listener.accept()
        with wire:
            wire.sendall(b"heard " + wire.recv(100))
"""


class Agent:
    """A project with an agent whose one tool is the probe; every call is a turn of the script."""

    def __init__(self, place: Place, project: Path) -> None:
        self.place = place
        self.project = project
        (project / "w").mkdir()
        source = project / "tool"
        write_manifest(
            source,
            {
                "name": "tool-probe",
                "version": "0.1.0",
                "runtime": "tool",
                "requires_files": ["capsule.wasm"],
            },
        )
        shutil.copy(probe("tool_probe"), source / "capsule.wasm")
        built = place.mur("build", str(source), cwd=project)
        assert built.returncode == 0, built.stderr
        place.mur("publish", str(source / "tool-probe-0.1.0.mur.zip"), cwd=project)

    def write(self, calls: Sequence[Sequence[Step]], **manifest: Any) -> None:
        turns: list[dict[str, Any]] = [
            {"tool_calls": [{"name": "tool-probe", "input": {"steps": list(steps)}}]}
            for steps in calls
        ]
        capsule = replay([*turns, {"text": "done"}], trace={"capture": "content"}, **manifest)
        probing = {"name": "local/tool-probe", "version": "0.1.0", "runtime": "tool"}
        capsule["artifacts"] = [capsule["artifacts"][0], probing]
        write_manifest(self.project, capsule)

    def answers(self, *calls: Sequence[Step], **manifest: Any) -> list[list[Any]]:
        """What each call's steps were answered."""
        self.write(calls, **manifest)
        # The system's own programs: a shim in front of them would want a shell.
        done = self.place.mur(
            "run",
            *("--workdir", "w", "--task", "go"),
            cwd=self.project,
            environ={"PATH": "/usr/bin:/bin"},
        )
        assert done.returncode == 0, done.stderr
        called = [line for line in self.trace() if line["event_type"] == "tool_call"]
        return [json.loads(_unfenced(line["output"])) for line in called]

    def trace(self) -> list[dict[str, Any]]:
        work = (self.project / "w").resolve()
        root = self.place.home / ".murmur" / "records" / str(work)[1:]
        return read_trace(max(root.iterdir(), key=lambda each: each.name))


def _unfenced(text: str) -> str:
    return "\n".join(text.splitlines()[1:-1])


@pytest.fixture
def agent(place: Place, project: Path) -> Agent:
    return Agent(place, project)


def test_a_tool_runs_programs_contained_as_commands_are(agent: Agent) -> None:
    (agent.project / "outside.txt").write_text("secret")
    ((echoed, ended, outside, refused),) = agent.answers(
        [
            ["run", "cat", [], "given"],
            ["run", "sh", ["-c", "echo out; echo err >&2; kill -9 $$"], None],
            ["run", "cat", [str(agent.project / "outside.txt")], None],
            ["run", "rm", ["x"], None],
        ],
        capabilities={"shell": {"allow": ["cat", "sh"]}},
    )
    assert (echoed["ok"]["stdout"], echoed["ok"]["exit_code"]) == ("given", 0)
    assert (ended["ok"]["signal"], ended["ok"]["exit_code"]) == (9, None)
    assert (ended["ok"]["stdout"], ended["ok"]["stderr"]) == ("out\n", "err\n")
    assert "secret" not in outside["ok"]["stdout"] and outside["ok"]["exit_code"] != 0
    assert refused["err"]["value"]["rule"] == "capabilities.shell.allow"


def test_a_capsule_without_commands_refuses_every_program(agent: Agent) -> None:
    ((refused,),) = agent.answers([["run", "cat", [], None]])
    assert refused["err"]["value"]["rule"] == "capabilities.shell.allow"


def test_a_write_below_a_read_only_path_is_refused_by_that_rule(agent: Agent) -> None:
    ((refused,),) = agent.answers(
        [["run", "touch", ["tests/x"], None]],
        capabilities={"shell": {"allow": ["touch"]}, "filesystem": {"read_only": ["tests"]}},
    )
    assert refused["err"]["value"]["rule"] == "capabilities.filesystem.read_only"


def test_a_started_program_outlives_the_call_answers_on_its_port_and_dies_with_the_session(
    agent: Agent,
) -> None:
    (agent.project / "w" / "server.py").write_text(SERVER)
    wait = ["run", "sh", ["-c", "sleep 1"], None]
    started, talked, stopped = agent.answers(
        [
            ["start", "python3", ["server.py"], "server"],
            ["start", "python3", ["x"], "server"],
            wait,
        ],
        [["status"], ["converse", 7777, "hello"], ["converse", 7778, "hello"]],
        [["stop"], ["status"], ["start", "python3", ["server.py"], None]],
        capabilities={"shell": {"allow": ["python3", "sh", "sleep"]}},
    )
    assert started[0]["ok"].startswith("prc_")
    assert started[1]["err"]["value"]["rule"] == "name"
    assert talked[0]["ok"]["is"] == "state_running"
    assert talked[1]["ok"] == "heard hello"
    assert talked[2]["err"]["value"]["rule"] == "connect"
    assert stopped[0]["ok"]["signal"] in (9, 15)
    assert "err" in stopped[1] and stopped[2]["ok"].startswith("prc_")
    running = [each for each in Path("/proc").glob("[0-9]*/cmdline") if b"server.py" in _read(each)]
    assert running == [], "nothing is alive afterwards"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_no_more_than_eight_programs_run_at_once(agent: Agent) -> None:
    start = ["start", "sleep", ["600"], None]
    ((*allowed, refused),) = agent.answers(
        [start] * 9, capabilities={"shell": {"allow": ["sleep"]}}
    )
    assert all("ok" in each for each in allowed)
    assert refused["err"]["value"]["rule"] == "session-process-cap"


def test_a_deadline_ends_the_program_and_the_call(agent: Agent) -> None:
    agent.write(
        [[["run", "sleep", ["600"], None]]],
        capabilities={"shell": {"allow": ["sleep"]}, "limits": {"deadline_seconds": 3}},
    )
    done = agent.place.mur("run", "--workdir", "w", "--task", "go", cwd=agent.project)
    assert done.returncode == 0, done.stderr
    (call,) = [line for line in agent.trace() if line["event_type"] == "tool_call"]
    assert call["status"] == "error" and "3s execution deadline" in call["output"]
