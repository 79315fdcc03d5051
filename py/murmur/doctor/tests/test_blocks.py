"""The blocks around the checklist. CLI reference, *mur doctor*; spec/registry.md 20."""

import os
import socket
from pathlib import Path

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.session.scope.unestablished import UNESTABLISHED

from .project import AGENT, Project, wasm

DRIVER = "artifacts:\n  - {name: local/drive, version: 0.1.0, runtime: driver%s}\n"
MODELS = "models: {m: {max_output_tokens: 10, context_window: 100}}\n"
ORDER = [
    "AppArmor / user namespaces",
    "Landlock",
    "cgroup scope: ",
    "Filesystem preopens",
    "Read-only paths",
    "Install grant",
    "Memory bound",
    "door: ",
    "Murmur home (",
    "Environment requirements",
    "Roster",
    "global store: ",
    "WIT level",
    "Checking ",
    "Model limits:",
    "Runtime directory",
    "Records directory",
    "Temporary folder",
    "0 checks passed, ",
    "Fix: ",
]


def agent(project: Project, more: str = "", entry: str = "") -> None:
    project.write(AGENT + DRIVER % entry + more)
    project.put(wasm("drive", runtime="driver", more=MODELS))


def everything_below(folder: Path) -> dict[str, tuple[int, int, int]]:
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        found[str(path)] = (status.st_mode, status.st_size, status.st_mtime_ns)
    return found


def test_every_block_stands_in_its_order(project: Project) -> None:
    project.write(
        AGENT
        + DRIVER % ", gateway: {endpoint: 'https://x.example', api_key: '${NO_SUCH_KEY}'}"
        + "capabilities: {filesystem: {read_only: [tests]}, spawn: {allow: [local/x]}}\n"
    )
    project.write("members: []\n", "roster.yaml")
    (project.machine.root / "old" / "1.0").mkdir(parents=True)
    (project.machine.root / "old" / "1.0" / "old-1.0.mur.zip").write_bytes(b"")
    told = project.doctor()
    found = []
    for start in ORDER:
        at = [i for i, line in enumerate(told.lines) if line.startswith(start)]
        assert at, start
        found.append(at[0])
    assert found == sorted(found)


def test_doctor_writes_nothing(project: Project, tmp_path: Path) -> None:
    agent(project, "capabilities: {shell: {allow: [ls]}}\n")
    before = everything_below(tmp_path)
    project.doctor()
    assert everything_below(tmp_path) == before


def test_a_project_is_found_from_below(project: Project) -> None:
    agent(project)
    below = project.folder / "a" / "b"
    below.mkdir(parents=True)
    told = project.doctor(start=below)
    assert told.status == 0
    assert any(line.startswith(f"Checking {project.folder}/murmur.yaml for") for line in told.lines)


def test_without_a_project_or_a_roster_it_is_a_setup_failure(project: Project) -> None:
    with pytest.raises(MurmurError) as refusal:
        project.doctor()
    assert refusal.value.code == "E-IO-001"


@pytest.mark.parametrize(
    ("manifest", "lock", "code"),
    [
        ("name: [\n", "", "E-MAN-002"),
        ("version: '1'\n", "", "E-MAN-001"),
        (AGENT + "config: {}\n", "", "E-MAN-003"),
        (AGENT, "lock_version: 2\n", "E-RUN-003"),
    ],
)
def test_a_setup_failure_prints_no_checklist(
    project: Project, capsys: pytest.CaptureFixture[str], manifest: str, lock: str, code: str
) -> None:
    project.write(manifest)
    if lock:
        project.write(lock, "murmur.lock")
    with pytest.raises(MurmurError) as refusal:
        project.doctor()
    assert refusal.value.code == code
    assert capsys.readouterr().out == ""


def test_what_a_run_would_refuse_is_a_warning_and_the_checklist_still_runs(
    project: Project,
) -> None:
    agent(
        project,
        "capabilities: {filesystem: {scope: ../out}, env: {allow: [AWS_REGION]}}\n",
    )
    told = project.doctor()
    assert "warning[E-CAP-002]: " in told.err
    assert "warning[E-CAP-016]: " in told.err and "mur run will refuse" in told.err
    assert told.block("Filesystem preopens") == ["  - local/drive (driver): <unresolved>"]
    assert told.status == 0 and told.lines[-1] == "All checks passed."


def test_preopens_name_the_folder_of_each_artifact(project: Project) -> None:
    agent(project, "", ", capabilities: {filesystem: {scope: repo}}")
    assert project.doctor().block("Filesystem preopens") == [
        "  - local/drive (driver): one subtree of the accessible workdir — "
        "capabilities.filesystem.scope: repo"
    ]
    agent(project)
    assert project.doctor().block("Filesystem preopens") == [
        "  - local/drive (driver): the whole accessible workdir — no "
        "capabilities.filesystem.scope declared"
    ]


def test_an_unknown_key_is_told_in_the_words_of_mur_run(project: Project) -> None:
    agent(project, "trase: {}\n")
    assert "[murmur-artifact] warning[W-SEC-019]: the unknown key 'trase'" in project.doctor().err


def test_the_door_line_says_who_may_call(project: Project) -> None:
    agent(project)
    assert "door: public (no network.authentication)" in project.doctor().lines
    agent(
        project,
        "network: {authentication: {scheme: bearer, credentials: "
        "{watch: {scopes: [GetTask, ListTasks]}, ask: {scopes: [SendMessage]}}}}\n",
    )
    told = project.doctor(bind="0.0.0.0")
    assert "door: bearer — operator, ask (SendMessage), watch (GetTask, ListTasks)" in told.lines
    assert "W-SEC-032" not in told.out + told.err


def test_a_public_door_off_loopback_is_warned_about(project: Project) -> None:
    agent(project)
    for bind in ("127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost"):
        assert "W-SEC-032" not in project.doctor(bind=bind).out
    for bind in ("0.0.0.0", "192.0.2.1", "::"):
        lines = project.doctor(bind=bind).lines
        at = lines.index("door: public (no network.authentication)")
        assert lines[at + 1].startswith(f"warning[W-SEC-032]: the door listens on {bind} ")
    agent(project, "lifecycle: {task_acceptance: none}\n")
    assert "SendMessage" not in project.doctor(bind="0.0.0.0").out


def test_the_daemon_of_a_spawning_capsule_is_in_one_of_three_states(
    project: Project, tmp_path: Path
) -> None:
    agent(project, "capabilities: {spawn: {allow: [local/x]}}\n")
    assert "mur-roost is not on PATH" in project.doctor(environ={"PATH": "/nowhere"}).err
    (tmp_path / "mur-roost").write_text("#!/bin/sh\n")
    (tmp_path / "mur-roost").chmod(0o755)
    path = {"PATH": str(tmp_path)}
    assert "MURMUR_ROOST_URL is not set" in project.doctor(environ=path).err
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        unanswered = project.doctor(environ={**path, "MURMUR_ROOST_URL": url})
        assert f"warning[E-RUN-019]: mur-roost at {url}" in unanswered.err
        listening.listen()
        answered = project.doctor(environ={**path, "MURMUR_ROOST_URL": url})
    assert "E-RUN-019" not in answered.err
    assert answered.status == unanswered.status == 0


def test_model_limits_are_resolved_as_at_launch(project: Project) -> None:
    agent(project)
    assert project.doctor().block("Model limits:") == [
        "  ✓ primary (local/drive@0.1.0, model m): output cap 10 (driver), context window 100 "
        "(driver), input ceiling none (none), input budget 90 (context_window_less_output_cap)"
    ]


def test_a_choice_without_an_output_cap_is_an_error(project: Project) -> None:
    project.write(AGENT + DRIVER % "")
    project.put(wasm("drive", runtime="driver"))
    told = project.doctor()
    assert told.block("Model limits:")[0].startswith("  ✗ error[E-RUN-052]: primary (local/drive@")
    assert told.status == 1 and "inference.max_tokens" in told.fixes[0]


def test_a_choice_without_room_for_input_is_an_error(project: Project) -> None:
    agent(project, "context: {max_tokens: 5}\n")
    told = project.doctor()
    assert told.block("Model limits:")[0].startswith("  ✗ error[E-RUN-055]: ")
    assert told.status == 1


def test_a_model_that_the_table_does_not_list_is_a_warning_under_doctors_name(
    project: Project,
) -> None:
    project.write(AGENT.replace("{model: m", "{max_tokens: 9, model: n") + DRIVER % "")
    project.put(wasm("drive", runtime="driver", more=MODELS))
    told = project.doctor()
    assert "[mur doctor] warning[W-RUN-009]: " in told.err
    assert told.tally == "1 check passed, 0 errors found, 1 warning."
    assert told.status == 0 and "context.max_tokens" in told.fixes[0]


def test_limits_of_a_driver_that_is_not_there_are_not_checked(project: Project) -> None:
    project.write(AGENT + DRIVER % "")
    lines = project.doctor().lines
    assert "Model limits: not checked, driver local/drive is not installed" in lines


def test_a_process_harness_has_no_limits_block(project: Project) -> None:
    agent(project)
    project.write(AGENT.replace("{model", "{transport: process, model") + DRIVER % "")
    assert "Model limits" not in project.doctor().out


def test_the_wit_level_lists_what_is_installed_and_what_does_not_fit(project: Project) -> None:
    agent(project)
    project.put(wasm("built-tool", level=3), globally=True)
    project.put(wasm("newer", level=9), globally=True)
    project.put(
        wasm(
            "stale-hook",
            version="0.3.0",
            runtime="hook",
            exports=("murmur:hook/lifecycle@0.8.0",),
            imports=("murmur:runtime/inference@0.3.0", "murmur:runtime/bare"),
        ),
        globally=True,
    )
    told = project.doctor()
    shown = "\n".join(told.lines)
    assert "  this mur serves WIT level 3:\n    PACKAGE                  VERSION\n" in shown
    rows = told.lines[told.lines.index("  installed:") + 1 :]
    rows = rows[: rows.index("")]
    assert [" ".join(row.split()) for row in rows[:4]] == [
        "local/built-tool@0.1.0 global built at 3 fits level 3",
        "local/drive@0.1.0 project built at 3 (derived) fits level 3",
        "local/newer@0.1.0 global built at 9 (newer than this mur knows) fits level 3",
        "local/stale-hook@0.3.0 global built at none (derived) does not fit level 3",
    ]
    assert (
        len({row.index("fit") - ("does not " in row) * len("does not ") for row in rows[:4]}) == 1
    )
    assert rows[4:] == [
        "  ⚠  local/stale-hook@0.3.0   global    exports murmur:hook/lifecycle@0.8.0 — this mur "
        "serves murmur:hook@0.9.0",
        "  ⚠  local/stale-hook@0.3.0   global    imports murmur:runtime/bare (unversioned) — this "
        "mur serves murmur:runtime@0.4.0",
        "  ⚠  local/stale-hook@0.3.0   global    imports murmur:runtime/inference@0.3.0 — this "
        "mur serves murmur:runtime@0.4.0",
        "  mur run refuses these at launch (warning[W-REG-003], "
        "https://docs.murmur.nexus/reference/diagnostics/#w-reg-003)",
    ]
    assert told.tally == "1 check passed, 0 errors found, 1 warning."
    assert told.fixes == [
        "mur install -g local/stale-hook@<a release built against murmur:hook@0.9.0, "
        "murmur:runtime@0.4.0>"
    ]
    assert told.status == 0


def test_empty_stores_hold_nothing(project: Project) -> None:
    project.write(AGENT + DRIVER % "")
    assert "    none installed" in project.doctor().lines


def test_a_flat_directory_is_named_and_nothing_else(project: Project) -> None:
    agent(project)
    flat = project.machine.root / "tool-x" / "0.1.0"
    flat.mkdir(parents=True)
    (flat / "tool-x-0.1.0.mur.zip").write_bytes(b"old")
    told = project.doctor()
    line = f"global store: {flat}: old layout, nothing reads it, safe to delete"
    assert line in told.lines and told.status == 0


def test_a_roster_of_the_wrong_shape_is_refused_in_its_block(project: Project) -> None:
    agent(project)
    project.write("members: 3\n", "roster.yaml")
    told = project.doctor()
    block = told.block("Roster")
    assert block[0] == f"  file: {project.folder}/roster.yaml"
    assert block[1].startswith("  ✗  roster.yaml:")
    assert "error[E-ROS-001]: " in told.err and told.status == 1


def test_a_formation_directory_is_checked_alone_and_never_passes_unadmitted(
    project: Project,
) -> None:
    project.write(
        "roster_version: 1\nmembers: [{name: a, capsule: local/a, version: 1.0.0, entry: true}]\n",
        "roster.yaml",
    )
    told = project.doctor()
    assert told.lines[:2] == [
        f"No murmur.yaml in {project.folder}: checking its roster.yaml. Run mur doctor in a "
        "member's source directory to check that member's artifacts.",
        "",
    ]
    assert told.block("Roster") == [
        f"  file: {project.folder}/roster.yaml",
        f"  ✗  {UNESTABLISHED['roster']}",
    ]
    assert told.tally == "0 checks passed, 1 error found." and told.status == 1
    assert "Landlock" not in told.out


def test_without_a_home_its_blocks_are_not_reported(project: Project) -> None:
    agent(project)
    told = project.doctor(environ={"HOME": ""})
    assert any(line.startswith("Murmur home: not reported, ") for line in told.lines)
    assert told.block("Runtime directory")[0].startswith("  not reported: ")
    assert "warning[E-IO-004]: " in told.err
    assert told.status == 0


def test_a_home_in_the_workdir_is_warned_about(project: Project, tmp_path: Path) -> None:
    agent(project)
    home = project.folder / "workdir"
    home.mkdir()
    told = project.doctor(environ={"HOME": str(home)})
    assert "warning[W-SEC-033]" in told.err and told.status == 0


def test_a_script_capsule_has_no_door_to_warn_about(project: Project) -> None:
    project.write("name: s\nversion: '1'\n")
    assert "W-SEC-032" not in project.doctor(bind="0.0.0.0").out


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_store_that_cannot_be_read_is_said_so(project: Project) -> None:
    agent(project)
    project.machine.root.mkdir(parents=True)
    project.machine.root.chmod(0)
    try:
        told = project.doctor()
    finally:
        project.machine.root.chmod(0o755)
    assert "  not checked (global store): Permission denied" in told.lines
    assert told.status == 0
