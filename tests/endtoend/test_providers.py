"""Two-turn tool-calling tasks against servers that speak the providers' streaming formats."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.endtoend.capsule import Place, alive, descendants, files_below, replay, write_manifest
from tests.providers import anthropic_server, openai_server
from tests.providers.scripted import Server

KEY = "sk-test-5f1d9c0e7b3a4e21"
SCRIPT: Sequence[Mapping[str, Any]] = (
    {
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

Start = Callable[..., Server]


def _manifest(driver: str, endpoint: str, model: str, api_key: str) -> dict[str, Any]:
    manifest = replay([])
    manifest["artifacts"][0] = {
        "name": f"local/{driver}",
        "version": "0.1.0",
        "runtime": "driver",
        "gateway": {"endpoint": endpoint, "api_key": api_key},
    }
    manifest["inference"] = {
        "model": model,
        "max_tokens": 512,
        "driver": {"artifact": f"local/{driver}"},
    }
    manifest["context"] = {"max_tokens": 100000}
    manifest["trace"] = {"capture": "content"}
    return manifest


PROVIDERS = [
    pytest.param(anthropic_server.start, "driver-anthropic", "", "x-api-key", id="anthropic"),
    pytest.param(openai_server.start, "driver-openai", "", "authorization", id="openai"),
]


@pytest.mark.parametrize(("start", "driver", "suffix", "header"), PROVIDERS)
def test_a_two_turn_tool_calling_task_completes_and_the_key_is_only_in_the_servers_log(
    place: Place, project: Path, start: Start, driver: str, suffix: str, header: str
) -> None:
    work = project / "work"
    work.mkdir()
    with start(SCRIPT, KEY) as server:
        write_manifest(
            project, _manifest(driver, server.url + suffix, "test-model", "${PROVIDER_KEY}")
        )
        done = place.mur(
            "run",
            "--verbose",
            "--workdir",
            "work",
            "--task",
            "Write a note.",
            cwd=project,
            environ={"PROVIDER_KEY": KEY},
        )
        assert done.returncode == 0, done.stderr
        assert len(server.requests) == 2
        assert all(KEY in request.headers[header] for request in server.requests)
        second = server.requests[1].body
    assert "written by the model" in str(second)
    assert (work / "note.txt").read_text() == "written by the model"
    assert KEY not in done.stdout + done.stderr
    for path in files_below(project, place.home):
        assert KEY.encode() not in path.read_bytes(), path


@pytest.mark.parametrize(("start", "driver", "suffix", "header"), PROVIDERS)
def test_while_the_driver_waits_no_process_but_the_runtime_has_the_key(
    place: Place, project: Path, start: Start, driver: str, suffix: str, header: str
) -> None:
    slow = [{**SCRIPT[1], "delay_ms": 400}]
    with start(slow, KEY) as server:
        write_manifest(
            project, _manifest(driver, server.url + suffix, "test-model", "${PROVIDER_KEY}")
        )
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


@pytest.mark.parametrize(("start", "driver", "suffix", "header"), PROVIDERS)
def test_a_refused_key_ends_the_launch_with_e_run_027_and_then_e_run_040(
    place: Place, project: Path, start: Start, driver: str, suffix: str, header: str
) -> None:
    with start(SCRIPT, "another key") as server:
        write_manifest(project, _manifest(driver, server.url + suffix, "test-model", KEY))
        done = place.mur("run", "--task", "Say it.", cwd=project)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "status:  failed"
    codes = [line.split("]")[0] for line in done.stderr.splitlines() if line.startswith("error[")]
    assert codes == ["error[E-RUN-027", "error[E-RUN-040"]
    assert KEY not in done.stdout + done.stderr
