"""Each code that comes up in a launch that goes on, or in a session that runs.

A launch prints many warnings at once, so a few launches provoke them all.
"""

import os
import zipfile
from pathlib import Path

import pytest
import yaml

from tests.endtoend.capsule import Place, read_trace, replay, shell_turn
from tests.endtoend.ground import Case, Done, Ground, check_warned

# One launch that grants much and declares what has no effect.
LOUD_CODES = {
    "W-MAN-001": ("driver-replay", "local/driver-replay"),
    "W-SEC-005": ("Landlock",),
    "W-SEC-006": ("local/hook-debug", "limits"),
    "W-SEC-007": ("local/tool-editor", "other.example"),
    "W-SEC-008": ("local/tool-editor", "limits"),
    "W-SEC-011": ("workdir_exec",),
    "W-SEC-014": ("capabilities.filesystem.records",),
    "W-SEC-016": ("capabilities.conversation",),
    "W-SEC-017": ("python3",),
    "W-SEC-019": ("'capabilitys'", "at the top level", "'capabilities'"),
    "W-SEC-022": ("shell.allow",),
    "W-SEC-024": ("APP_TOKEN",),
    "W-SEC-036": ("python3",),
}


@pytest.fixture(scope="module")
def ground(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return Ground(place, tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def loud(ground: Ground) -> Done:
    script, editor = replay([{"text": "done"}])["artifacts"]
    ground.capsule(
        artifacts=[
            {**script, "name": "driver-replay"},
            {
                **editor,
                "capabilities": {"network": {"allow": ["other.example"]}, "limits": {}},
            },
            {
                "name": "local/hook-debug",
                "version": "0.1.0",
                "runtime": "hook",
                "capabilities": {"limits": {"instances": 10}},
            },
        ],
        capabilities={
            "network": {"allow": ["example.com"]},
            "shell": {"allow": ["python3", "true"]},
            "filesystem": {"workdir_exec": True, "records": True, "read_only": ["tests"]},
            "env": {"allow": ["APP_TOKEN"]},
            "conversation": {"read": True},
        },
        capabilitys={},
    )
    return ground.run()


@pytest.mark.parametrize("code", LOUD_CODES)
def test_a_launch_that_grants_much_says_so(loud: Done, code: str) -> None:
    check_warned(Case(code, lambda _: loud, LOUD_CODES[code]), loud)


# One launch with keys: a driver whose provider nobody is, and a gateway that no ceiling counts.
KEYED_CODES = {
    "W-RUN-009": ("no-such-model",),
    "W-SEC-025": ("127.0.0.1",),
    "W-SEC-027": ("local/driver-anthropic",),
    "W-SEC-028": ("config.yaml", "0644"),
    "W-SEC-030": ("local/driver-openai@0.1.0",),
}


@pytest.fixture(scope="module")
def keyed(ground: Ground) -> Done:
    endpoint = "http://127.0.0.1:9"
    config = ground.place.home / ".murmur" / "config.yaml"
    config.write_text("credentials: {OTHER_KEY: sk-one}\n")
    config.chmod(0o644)
    try:
        ground.capsule(
            artifacts=[
                {
                    "name": "local/driver-anthropic",
                    "version": "0.1.0",
                    "runtime": "driver",
                    "gateway": {"endpoint": endpoint, "api_key": "sk-literal"},
                },
                {
                    "name": "local/driver-openai",
                    "version": "0.1.0",
                    "runtime": "tool",
                    "gateway": {"endpoint": endpoint, "api_key": "${OTHER_KEY}"},
                },
            ],
            capabilities={"network": {"allow": ["http://127.0.0.1:9"]}},
            inference={
                "model": "no-such-model",
                "max_tokens": 100,
                "retry": {"max_retries": 0},
                "driver": {"artifact": "local/driver-anthropic"},
            },
        )
        return ground.run()
    finally:
        config.unlink()


@pytest.mark.parametrize("code", KEYED_CODES)
def test_a_launch_with_keys_says_how_they_are_held(keyed: Done, code: str) -> None:
    check_warned(Case(code, lambda _: keyed, KEYED_CODES[code]), keyed, status=1)
    assert "sk-" not in keyed.stderr + keyed.stdout


def test_e_run_040_ends_a_launch_whose_task_failed(keyed: Done) -> None:
    assert (keyed.returncode, keyed.stdout.splitlines()[-1]) == (1, "status:  failed")
    last = keyed.stderr.splitlines()[-2:]
    assert last[0].startswith("error[E-RUN-040]: ") and "failed" in last[0]
    assert "out/result.txt" in last[1]


def test_w_sec_032_says_what_a_public_door_offers(ground: Ground) -> None:
    ground.capsule()
    done = ground.run("--bind", "0.0.0.0")
    check_warned(Case("W-SEC-032", lambda _: done, ("0.0.0.0", "SendMessage")), done)
    assert done.stderr.startswith("warning[W-SEC-032]: ")


def test_w_sec_018_names_what_a_tool_s_schema_leaves_to_its_name(ground: Ground) -> None:
    """The editor under another name, its list of destinations taken out of its schema."""
    [editor] = Path(os.environ["MURMUR_TEST_ARTIFACTS"]).glob("tool-editor-*.mur.zip")
    copy = ground.folder / "tool-writer-0.1.0.mur.zip"
    with zipfile.ZipFile(editor) as source, zipfile.ZipFile(copy, "w") as made:
        for entry in source.infolist():
            data = source.read(entry)
            if entry.filename == "murmur.yaml":
                manifest = yaml.safe_load(data)
                manifest["name"] = "tool-writer"
                del manifest["input_schema"]["murmur-destinations"]
                data = yaml.safe_dump(manifest).encode()
            made.writestr(entry.filename, data)
    assert ground.mur("publish", str(copy)).returncode == 0
    script = replay([{"text": "done"}])["artifacts"][0]
    ground.capsule(
        artifacts=[script, {"name": "local/tool-writer", "version": "0.1.0"}],
        capabilities={"filesystem": {"read_only": ["tests"]}},
    )
    done = ground.run()
    check_warned(Case("W-SEC-018", lambda _: done, ("local/tool-writer", "property path")), done)


def test_w_sec_023_says_that_no_command_will_find_the_session(ground: Ground) -> None:
    ground.capsule()
    running = ground.place.home / ".murmur" / "running"
    aside = running.with_name("aside")
    if running.exists():
        running.rename(aside)
    running.write_text("")
    try:
        done = ground.run()
    finally:
        running.unlink()
        if aside.exists():
            aside.rename(running)
    check_warned(Case("W-SEC-023", lambda _: done), done)


def test_w_sec_002_says_what_is_left_without_landlock(ground: Ground) -> None:
    ground.capsule(capabilities={"shell": {"allow": ["true"]}})
    done = ground.run(**ground.host(landlock="failed landlock_create_ruleset 38 landlock"))
    check_warned(Case("W-SEC-002", lambda _: done, ("landlock_create_ruleset",)), done)


def test_w_sec_035_says_that_commands_run_under_rlimits_alone(ground: Ground) -> None:
    ground.capsule(capabilities={"shell": {"allow": ["true"]}})
    config = ground.place.home / ".murmur" / "config.yaml"
    config.write_text("sandbox: {cgroup: optional}\n")
    config.chmod(0o600)
    try:
        done = ground.without_cgroups("run", "--task", "go")
    finally:
        config.unlink()
    check_warned(Case("W-SEC-035", lambda _: done, ("rlimits alone",)), done)


def test_a_project_cannot_waive_the_cgroup(ground: Ground) -> None:
    ground.capsule(capabilities={"shell": {"allow": ["true"]}})
    own = ground.write(".murmur/config.yaml", "sandbox: {cgroup: optional}\n")
    try:
        done = ground.without_cgroups("run", "--task", "go")
    finally:
        own.unlink()
    assert done.returncode == 1 and "error[E-RUN-012]" in done.stderr


def test_a_project_raises_the_containment_floor(ground: Ground) -> None:
    ground.capsule(capabilities={"filesystem": {"workdir_exec": True}})
    own = ground.write(".murmur/config.yaml", "containment: scoped\n")
    try:
        done = ground.run()
    finally:
        own.unlink()
    assert done.returncode == 1 and "error[E-CAP-003]" in done.stderr


def test_w_run_001_says_that_an_answer_is_a_fragment(ground: Ground) -> None:
    script, editor = replay([{"text": "half", "stop_reason": "max_tokens"}])["artifacts"]
    ground.capsule(artifacts=[script, editor])
    done = ground.run()
    check_warned(Case("W-RUN-001", lambda _: done, ("8192",)), done)


def test_e_run_013_tells_the_model_that_the_work_folder_is_full(ground: Ground) -> None:
    turns = [
        shell_turn("sh", "head -c 300000 /dev/zero > big"),
        shell_turn("sh", "true"),
        {"text": "it was too much"},
    ]
    ground.capsule(
        artifacts=replay(turns)["artifacts"],
        capabilities={
            "shell": {"allow": ["sh", "head"]},
            "resources": {"workdir_max_bytes": 100_000},
        },
        trace={"capture": "content"},
    )
    done = ground.run("--workdir", str(_empty(ground, "full")))
    assert done.returncode == 1
    assert "error[E-RUN-013]" in done.stderr
    lines = read_trace(_records(ground))
    assert lines[-1]["exit_status"] == "failed"


def _empty(ground: Ground, name: str) -> Path:
    folder = ground.folder / name
    folder.mkdir(exist_ok=True)
    return folder


def _records(ground: Ground) -> Path:
    """The records directory of the last session."""
    found = (ground.place.home / ".murmur" / "records").rglob("ses_*")
    return max((each for each in found if each.is_dir()), key=lambda each: each.name)
