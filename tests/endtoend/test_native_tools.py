"""A native tool in whole sessions: its protocol, and that it is contained. spec/artifacts.md 9."""

import json
import os
import shutil
import signal
import subprocess
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.endtoend.capsule import Place, alive, descendants, read_trace, replay, write_manifest

SOURCE = Path(__file__).with_name("native_tool.c")


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The tool as the build made it, else compiled here."""
    named = os.environ.get("MURMUR_TEST_NATIVE_TOOL")
    if named:
        return Path(named).read_bytes()
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    made = tmp_path_factory.mktemp("native") / "native-tool"
    subprocess.run([compiler, "-static", "-O1", "-o", str(made), str(SOURCE)], check=True)
    return made.read_bytes()


@pytest.fixture(scope="session")
def tool(place: Place, program: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The tool, published once."""
    _publish(place, tmp_path_factory.mktemp("published"), program)


def _publish(place: Place, folder: Path, program: bytes, name: str = "native-tool") -> None:
    manifest = {
        "name": name,
        "version": "0.1.0",
        "runtime": "tool",
        "implementation": "native",
        "description": "Says where it runs.",
        "input_schema": {
            "type": "object",
            "properties": {"do": {"type": "string"}},
            "required": ["do"],
        },
    }
    archive = folder / f"{name}.mur.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("murmur.yaml", yaml.safe_dump(manifest))
        info = zipfile.ZipInfo(f"bin/{name}")
        info.external_attr = 0o755 << 16
        packed.writestr(info, program)
    done = place.mur("publish", str(archive), cwd=folder)
    assert done.returncode == 0, done.stderr


def _manifest(do: str, name: str = "native-tool", **more: Any) -> dict[str, Any]:
    called = {"tool_calls": [{"name": name, "input": {"do": do}}]}
    turns: list[dict[str, Any]] = [called, {"text": "done"}]
    manifest = replay(turns, trace={"capture": "content"}, **more)
    manifest["artifacts"].append({"name": f"local/{name}", "version": "0.1.0", "runtime": "tool"})
    return manifest


def _call(place: Place, project: Path, do: str, **more: Any) -> Mapping[str, Any]:
    """The `tool_call` line of one call."""
    write_manifest(project, _manifest(do, **more))
    done = place.mur(
        "run", "--verbose", "--task", "go", cwd=project, environ={"OPENAI_API_KEY": "sk-secret"}
    )
    if "E-CAP-005" in done.stderr or "E-RUN-012" in done.stderr:
        pytest.skip(f"this host cannot contain commands: {done.stderr.splitlines()[-2]}")
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("records: "))
    trace = read_trace(Path(line.removeprefix("records: ")))
    return next(line for line in trace if line["event_type"] == "tool_call")


def _data(call: Mapping[str, Any]) -> str:
    return str(call["output"]).split("\n", 1)[1].rsplit("\n</untrusted-content>", 1)[0]


def test_a_native_tool_gets_its_input_and_a_commands_surroundings(
    place: Place, project: Path, tool: None
) -> None:
    call = _call(place, project, "tell")
    assert (call["status"], call["state_effect"], call["resource_id"]) == ("ok", "read", "r1")
    told = json.loads(_data(call))
    assert (told["arguments"], told["key"], told["config"], told["open"]) == (1, "", "", 0)
    assert told["cwd"].startswith(str(project)) and told["home"].endswith("/home")
    sent = json.dumps({"data": '{"do":"tell"}', "log_path": None})
    assert told["given"] == len(sent)
    lock = yaml.safe_load((project / "murmur.lock").read_text())
    assert "native-tool" in json.dumps(lock)


@pytest.mark.parametrize(
    ("do", "status", "shown"),
    [
        ("fail", "error", "told to fail"),
        ("say-nothing", "error", "a complaint"),
        ("say-text", "ok", "just words\n"),
    ],
)
def test_what_it_prints_decides_and_else_how_it_exits(
    place: Place, project: Path, tool: None, do: str, status: str, shown: str
) -> None:
    call = _call(place, project, do)
    assert (call["status"], _data(call)) == (status, shown)


def test_a_native_tool_is_contained_as_a_command_is(
    place: Place, project: Path, tool: None
) -> None:
    call = _call(place, project, "escape")
    assert json.loads(_data(call)) == {"secret": 0, "outside": 0}
    assert not Path("/var/tmp/native-tool-was-here").exists()


def test_one_that_meets_a_limit_is_an_error_naming_it(
    place: Place, project: Path, tool: None
) -> None:
    call = _call(place, project, "burn", capabilities={"resources": {"cpu_seconds": 1}})
    assert call["status"] == "error"
    assert "E-RUN-011" in call["output"] and "capabilities.resources.cpu_seconds" in call["output"]
    assert "untrusted-content" not in call["output"]


def test_w_sec_015_says_that_a_native_tool_gets_no_config(
    place: Place, project: Path, tool: None
) -> None:
    manifest = _manifest("tell")
    manifest["artifacts"][-1] |= {"config": {"a": 1}, "capabilities": {"env": {"allow": ["HOME"]}}}
    write_manifest(project, manifest)
    done = place.mur("run", "--task", "go", cwd=project)
    assert done.returncode == 0, done.stderr
    assert "warning[W-SEC-015]" in done.stderr and "local/native-tool" in done.stderr
    assert "warning[W-SEC-008]" in done.stderr


def test_sigterm_ends_a_native_tool_with_its_task(place: Place, project: Path, tool: None) -> None:
    write_manifest(project, _manifest("burn"))
    running = place.start("--task", "go", cwd=project)
    running.wait_for("inference")
    time.sleep(0.5)
    below = descendants(running.process.pid)
    status, _, _ = running.end(signal.SIGTERM)
    assert status == 1
    assert alive(below) == []
    assert [line["event_type"] for line in running.trace()][-2:] == ["task_end", "session_end"]


def test_one_for_another_platform_is_refused_before_anything_is_made(
    place: Place, project: Path
) -> None:
    mach_o = bytes.fromhex("cffaedfe 0c000001") + bytes(64)  # 64-bit, arm64
    _publish(place, project, mach_o, "foreign-tool")
    write_manifest(project, _manifest("tell", "foreign-tool"))
    done = place.mur("run", "--task", "go", cwd=project)
    assert done.returncode == 1
    assert "error[E-RUN-021]" in done.stderr
    for fact in ("local/foreign-tool", "darwin-aarch64", "linux-"):
        assert fact in done.stderr
    assert not (project / "workdir").exists() and not (project / "murmur.lock").exists()
