"""A session below `sealed`, from its floor to its end. spec/containment.md 4, 6 and 13 to 16."""

import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from murmur.manifest.programs import Download
from murmur.store.content import Content
from murmur.store.platforms import host_platform
from murmur.store.programs import ProgramStore
from tests.endtoend.capsule import Place, read_trace, replay, shell_turn, write_manifest

TOOLS = ["bash", "cat", "ls", "id", "python3"]
SEARCH = "/usr/bin:/bin"
PTY = '-c \'import os; print(os.openpty()); print(open("/dev/zero", "rb").read(3))\''


class Run:
    """One finished launch: what it printed, its trace, and the text of each shell result."""

    def __init__(self, place: Place, done: Any) -> None:
        self.done = done
        lines = [each for each in done.stdout.splitlines() if each.startswith("records: ")]
        self.records = Path(lines[0].removeprefix("records: ")) if lines else Path("/nowhere")
        self.trace = read_trace(self.records)

    @property
    def start(self) -> dict[str, Any]:
        return self.event("session_start")

    def event(self, kind: str) -> dict[str, Any]:
        return next(each for each in self.trace if each["event_type"] == kind)

    @property
    def outputs(self) -> list[str]:
        return [each["output"] for each in self.trace if each["event_type"] == "tool_call"]


def sealed_run(
    place: Place,
    project: Path,
    commands: Sequence[tuple[str, str]],
    shell: dict[str, Any] | None = None,
    floor: str = "sealed",
    path: str = SEARCH,
    extra: Sequence[dict[str, Any]] = (),
    **more: Any,
) -> Run:
    """Runs shell calls one after another below a floor; skips where this host cannot reach it."""
    turns: list[dict[str, Any]] = [shell_turn(*each) for each in commands]
    granted: dict[str, Any] = {"shell": {"allow": TOOLS, **(shell or {})}, "containment": floor}
    granted |= more
    manifest = replay([*turns, {"text": "done"}], capabilities=granted)
    manifest["artifacts"] += extra
    manifest["trace"] = {"capture": "content"}
    manifest["lifecycle"] = {"shell_grace_secs": 90}
    write_manifest(project, manifest)
    done = place.mur("run", "--verbose", "--task", "go", cwd=project, environ={"PATH": path})
    for code in ("E-CAP-003", "E-CAP-005", "E-RUN-012"):
        if f"[{code}]" in done.stderr:
            pytest.skip(f"INCONCLUSIVE: {done.stderr.splitlines()[-2]}")
    return Run(place, done)


@pytest.fixture(scope="module")
def looked(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Run:
    project = tmp_path_factory.mktemp("sealed")
    outside = project / "outside"
    outside.write_text("a secret")
    return sealed_run(
        place,
        project,
        [
            ("bash", f"cat {outside}; ls {project}; [ -e /root ] || echo no root folder"),
            ("bash", "id; cat /etc/passwd; cat /etc/shadow; echo $HOME"),
            ("bash", "echo kept > /tmp/mine && cat /tmp/mine; echo $TMPDIR; echo x > /usr/x"),
            ("python3", PTY),
            ("bash", "echo x > $MURMUR_RUNTIME_DIR/made; cat $MURMUR_RUNTIME_DIR/MURMUR.md"),
        ],
    )  # fmt: skip


def test_what_is_not_granted_does_not_exist(looked: Run) -> None:
    assert looked.done.returncode == 0, looked.done.stderr
    assert looked.outputs[0].count("No such file or directory") == 1  # ls lists what is scaffolding
    assert "a secret" not in looked.outputs[0]
    assert "no root folder" in looked.outputs[0]


def test_a_command_is_somebody_with_a_home(looked: Run) -> None:
    text = looked.outputs[1]
    name = "root" if os.getuid() == 0 else "capsule"
    assert f"uid={os.getuid()}({name})" in text
    assert f":{looked.records}/home:/bin/sh" in text
    assert "/etc/shadow: No such file or directory" in text


def test_tmp_is_the_sessions_own_and_usr_read_only(looked: Run) -> None:
    assert "kept\n/tmp\n" in looked.outputs[2]
    assert (looked.records / "tmp" / "mine").read_text() == "kept\n"
    assert not Path("/tmp/mine").exists()
    assert "Read-only file system" in looked.outputs[2] or "Permission" in looked.outputs[2]
    assert not Path("/usr/x").exists()


def test_devices_and_terminals_are_there(looked: Run) -> None:
    assert "b'\\x00\\x00\\x00'" in looked.outputs[3], looked.outputs[3]


def test_the_page_says_where_commands_are_and_cannot_be_written(looked: Run) -> None:
    assert "Read-only file system" in looked.outputs[4]
    assert "file system of their own" in looked.outputs[4]


def test_the_trace_says_sealed(looked: Run) -> None:
    start = looked.start
    assert (start["containment_declared"], start["containment_achieved"]) == ("sealed", "sealed")
    granted = start["effective_grants"]
    assert granted["enforcement_tier"] == "mountns+pivot_root+landlock+seccomp"
    assert granted["filesystem_boundary"] == {"restriction": "absent", "not_protected": []}
    assert granted["runtime_dir"]["enforced_by"] == "mountns+landlock"
    assert granted["temp_dir"]["tmpdir"] == "/tmp"
    shell = next(each for each in granted["routes"] if each["route"] == "shell")
    assert (shell["mechanism"], shell["under_class"]) == ("Sealed", True)
    log = (looked.records / "logs" / "bootstrap.log").read_text()
    assert "W-SEC-005" in log and "a root of their own" in log


def test_the_report_is_that_of_the_run(place: Place, project: Path) -> None:
    run = sealed_run(place, project, [("bash", "true")])
    environ = {"PATH": SEARCH}
    done = place.mur("run", "--explain-scope", "--json", cwd=project, environ=environ)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == run.start["effective_grants"]
    shown = place.mur("run", "--explain-scope", cwd=project, environ=environ).stdout
    assert "Not protected here" not in shown
    assert "  floor met: yes" in shown
    doctor = place.mur("doctor", cwd=project, environ=environ).stdout
    assert "mountns+landlock" in doctor


def test_a_staged_runtime_that_is_not_there_ends_the_session(place: Place, project: Path) -> None:
    staged = [{"binary": "python3", "source_path": "/opt/no-such-tree", "pin": "python-1"}]
    run = sealed_run(place, project, [("bash", "echo ran > ran")], {"staged_runtime": staged})
    assert run.done.returncode == 1
    assert "error[E-RUN-014]" in run.done.stderr
    assert "/opt/no-such-tree" in run.done.stderr and "No such file" in run.done.stderr
    assert not list(project.rglob("ran"))


def test_a_staged_runtime_is_in_the_root_and_can_be_executed(place: Place, project: Path) -> None:
    tree = project / "tree"
    (tree / "bin").mkdir(parents=True)
    shutil.copy("/usr/bin/env", tree / "bin" / "mine")
    (tree / "note").write_text("staged")
    staged = {
        "allow": [*TOOLS, "mine"],
        "staged_runtime": [{"binary": "mine", "source_path": str(tree), "pin": "mine-1"}],
    }
    text = f"mine -i x=''staged {tree}/bin/mine; cat {tree}/note; echo y > {tree}/note; ls {tree}"
    (project / "work").mkdir()
    run = sealed_run(place, project / "work", [("bash", text)], staged, path=f"{tree}/bin:{SEARCH}")
    assert "x=staged" in run.outputs[0] and "bin\nnote" in run.outputs[0], run.outputs
    assert (tree / "note").read_text() == "staged"
    assert run.start["effective_grants"]["staged_runtime_grants"] == [
        {"binary": "mine", "source_path": str(tree), "pin": "mine-1"}
    ]


@pytest.mark.parametrize("floor", ["scoped", "sealed"])
def test_host_paths_are_the_operators_and_never_executable(
    place: Place, project: Path, floor: str
) -> None:
    shared = project / "shared"
    shared.mkdir()
    (shared / "data").write_text("from the operator\n")
    (shared / "into").mkdir()
    config = place.home / ".murmur" / "config.yaml"
    config.write_text(
        f"host_paths: [{{path: {shared}, access: read}},"
        f" {{path: {shared}/into, access: read-write}}, {{path: {place.home}, access: read}}]\n"
    )
    config.chmod(0o600)
    try:
        text = (
            f"cat {shared}/data; echo no > {shared}/data; echo yes > {shared}/into/made; "
            f"cp /usr/bin/id {shared}/into/id; chmod +x {shared}/into/id; {shared}/into/id"
        )
        (project / "work").mkdir()
        allow = {"allow": ["bash", "cat", "cp", "chmod"]}
        run = sealed_run(place, project / "work", [("bash", text)], allow, floor)
    finally:
        config.unlink()
    assert run.done.returncode == 0, run.done.stderr
    assert "from the operator" in run.outputs[0]
    assert "uid=" not in run.outputs[0] and "Permission denied" in run.outputs[0]
    assert (shared / "data").read_text() == "from the operator\n"
    assert (shared / "into" / "made").read_text() == "yes\n"
    mechanism = "bind" if floor == "sealed" else "landlock"
    rows = run.start["effective_grants"]["host_paths"]
    assert rows[0] == {
        "path": str(shared),
        "declared": "read",
        "access": "read",
        "mechanism": mechanism,
        "credential_location": str(shared).startswith("/root/"),
    }
    assert (rows[1]["access"], rows[1]["mechanism"]) == ("read-write", mechanism)
    assert (rows[2]["mechanism"], rows[2]["credential_location"]) == ("none", True)


@pytest.mark.parametrize("floor", ["scoped", "sealed"])
def test_unix_sockets_are_there_where_they_are_granted(
    place: Place, project: Path, floor: str
) -> None:
    text = "-c 'import socket; socket.socket(socket.AF_UNIX); print(\"made\")'"
    granted: dict[str, Any] = {"network": {"unix_sockets": True}}
    assert (
        "made" in sealed_run(place, project, [("python3", text)], None, floor, **granted).outputs[0]
    )
    assert "made\n" not in sealed_run(place, project, [("python3", text)], None, floor).outputs[0]


@pytest.fixture(scope="module")
def needy_tool(place: Place, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Publishes the editor with a `programs:` block; the digest of the download that it pins."""
    project = tmp_path_factory.mktemp("needy")
    data = Path("/usr/bin/env").read_bytes()
    pinned = hashlib.sha256(data).hexdigest()
    download = {
        "platform": host_platform(),
        "url": "https://x.example/mine",
        "sha256": pinned,
    }
    [editor] = Path(os.environ["MURMUR_TEST_ARTIFACTS"]).absolute().glob("tool-editor-*.mur.zip")
    copy = project / "tool-needy-0.1.0.mur.zip"
    with zipfile.ZipFile(editor) as source, zipfile.ZipFile(copy, "w") as made:
        for entry in source.infolist():
            content = source.read(entry)
            if entry.filename == "murmur.yaml":
                manifest = yaml.safe_load(content)
                manifest["name"] = "tool-needy"
                manifest["programs"] = {
                    "mine": {"download": [download]},
                    "cat": {"needs": [{"etc": "hostname"}, {"library": "libc.so.6"}]},
                    "absent": {"needs": [{"etc": "hosts"}]},
                }
                content = yaml.safe_dump(manifest).encode()
            made.writestr(entry.filename, content)
    done = place.mur("publish", str(copy), cwd=project)
    assert done.returncode == 0, done.stderr
    store = ProgramStore(place.home / ".murmur" / "programs")
    wanted = Download(download["platform"], download["url"], pinned)
    store.commit(store.stage(wanted, "mine", Content.of(data)))
    return pinned


@pytest.mark.parametrize("floor", ["scoped", "sealed"])
def test_a_tools_programs_have_what_they_need_and_run_from_the_store(
    place: Place, project: Path, needy_tool: str, floor: str
) -> None:
    if not Path("/etc/hostname").exists():
        pytest.skip("no /etc/hostname here")
    commands = [("cat", "/etc/hostname"), ("mine", "-i A=pinned"), ("cat", "/etc/issue")]
    artifacts = [{"name": "local/tool-needy", "version": "0.1.0", "runtime": "tool"}]
    run = sealed_run(place, project, commands, {"allow": ["cat", "mine"]}, floor, extra=artifacts)
    assert run.done.returncode == 0, run.done.stderr
    assert Path("/etc/hostname").read_text().strip() in run.outputs[0]
    assert "A=pinned\n" in run.outputs[1].replace("-i A=pinned\n", "", 1), run.outputs[1]
    assert "Exit code: 1" in run.outputs[2]
    granted = run.start["effective_grants"]
    needs = {each["path"] for each in granted["declared_needs"]}
    assert "/etc/hostname" in needs and any("libc.so" in each for each in needs)
    assert "/etc/hosts" not in needs
    [row] = granted["pinned_programs"]
    assert (row["artifact"], row["program"], row["source"]) == (
        "local/tool-needy",
        "mine",
        "pinned",
    )
    assert row["sha256"] == needy_tool and row["path"].startswith(f"{place.home}/.murmur/programs/")
    explained = place.mur("run", "--explain-scope", "--json", cwd=project, environ={"PATH": SEARCH})
    assert json.loads(explained.stdout) == granted
    shown = place.mur("run", "--explain-scope", cwd=project, environ={"PATH": SEARCH}).stdout
    assert "    - local/tool-needy: /etc/hostname" in shown
    assert f"    - local/tool-needy: mine ({row['platform']}): pinned, {row['path']}" in shown
