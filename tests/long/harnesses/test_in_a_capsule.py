"""Claude Code itself, contained by a capsule's run: its provider is a server of the test.

Codex takes no provider's address but from a configuration that its driver has it ignore.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.endtoend.capsule import Place, read_trace, write_manifest
from tests.long.harnesses.programs import CLAUDE
from tests.providers import anthropic_server
from tests.providers.scripted import Server

ARTIFACTS = ("driver-claude-code", "tool-editor")
COMPILE_SECONDS = 600
KEPT = ("LANG", "PATH", "PYTHONPATH", "MURMUR_TEST_MUR")
FILES = ("MURMUR_SANDBOX_HELPER", "MURMUR_LOCKDOWN_LIBRARY")
READS = {
    "text": "I look.",
    "tool_calls": [
        {
            "name": "mcp__claude_bridge__tool-editor",
            "input": {"operation": "read_file", "path": "note.txt"},
        }
    ],
}
SAYS = {"text": "Two lines."}


@pytest.fixture(scope="module")
def provider() -> Iterator[Server]:
    with anthropic_server.start([READS, SAYS, SAYS]) as server:
        yield server


def host_of(provider: Server) -> str:
    return provider.url.removeprefix("http://")


def led(place: Place, archive: Path, host: str, folder: Path) -> Path:
    """A driver's archive, built anew for a harness whose provider is elsewhere."""
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
    manifest = yaml.safe_load((folder / "murmur.yaml").read_text())
    manifest["harness_needs"]["hosts"] = [host]
    write_manifest(folder, manifest)
    (folder / "murmur-build.json").unlink()
    done = place.mur("build", str(folder), cwd=folder)
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.mur.zip"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, provider: Server) -> Iterator[Place]:
    """A home with a login and the artifacts that the capsule needs."""
    CLAUDE.real()
    home = tmp_path_factory.mktemp("home")
    CLAUDE.log_in(home)
    environ = {name: os.environ[name] for name in KEPT if name in os.environ}
    environ |= {name: os.path.abspath(os.environ[name]) for name in FILES if name in os.environ}
    made = Place(home, {**environ, "HOME": str(home)})
    folder = Path(os.environ["MURMUR_TEST_ARTIFACTS"]).absolute()
    driver, tool = (next(folder.glob(f"{name}-*.mur.zip")) for name in ARTIFACTS)
    driver = led(made, driver, host_of(provider), tmp_path_factory.mktemp("driver"))
    archives = [str(driver), str(tool)]
    for archive in archives:
        done = made.mur("publish", archive, cwd=home)
        assert done.returncode == 0, done.stderr
    done = made.mur("precompile", *archives, cwd=home, seconds=COMPILE_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    yield made


def run(place: Place, project: Path, provider: Server) -> list[dict[str, Any]]:
    """One task in the context `ctx`; its session's trace."""
    manifest = {
        "name": "contained",
        "version": "0.1.0",
        "artifacts": [
            {"name": "local/driver-claude-code", "version": "0.1.0", "runtime": "driver"},
            {"name": "local/tool-editor", "version": "0.1.0", "runtime": "tool"},
        ],
        "inference": {
            "transport": "process",
            "model": CLAUDE.model,
            "driver": {"artifact": "local/driver-claude-code"},
            "command": str(CLAUDE.real()),
        },
        "lifecycle": {"conversation": "threaded"},
        "capabilities": {
            "env": {"allow": ["HOME", "PATH", "ANTHROPIC_BASE_URL"]},
            "harness": {"paths": [{"path": "~/.claude", "access": "read-write"}]},
            "network": {"allow": [host_of(provider)]},
        },
        "trace": {"capture": "content"},
    }
    write_manifest(project, manifest)
    done = place.mur(
        *("run", "--workdir", "w", "--task", "How long is note.txt?", "--context", "ctx"),
        *("--verbose",),
        cwd=project,
        environ={"ANTHROPIC_BASE_URL": provider.url},
    )
    assert done.returncode == 0, done.stderr
    where = next(line for line in done.stdout.splitlines() if line.startswith("records: "))
    return read_trace(Path(where.removeprefix("records: ")))


def test_claude_code_works_in_a_capsule_and_goes_on_in_its_conversation(
    place: Place, provider: Server, tmp_path: Path
) -> None:
    work = tmp_path / "w"
    work.mkdir()
    (work / "note.txt").write_text("one\ntwo\n")

    first = {line["event_type"]: line for line in run(place, tmp_path, provider)}
    second = {line["event_type"]: line for line in run(place, tmp_path, provider)}

    assert first["harness_start"]["version_tested"] is True
    assert first["harness_session"]["auth"] == "subscription"
    assert "two" in json.dumps(first["tool_call"]["output"])
    assert (first["task_end"]["input_tokens"], first["task_end"]["output_tokens"]) == (22, 14)
    assert second["harness_start"]["session_mode"] == "resume"
    assert (second["task_end"]["input_tokens"], second["task_end"]["output_tokens"]) == (11, 7)
    for session in (first, second):
        assert (session["harness_exit"]["code"], session["harness_exit"]["killed"]) == (0, False)
