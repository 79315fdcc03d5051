"""`mur build`, `mur publish`, `mur install` and `mur version` as programs. CLI reference."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from murmur.cli.tests.box import Box
from murmur.store.archive import Entry, archive_bytes
from murmur.store.lock import Lock, Pin, read_lock, write_lock
from murmur.store.names import FullName
from murmur.store.payload import open_payload
from murmur.store.stores import global_store, project_store

COMPONENT = b"\0asm\x0d\0\1\0"


class Project(Box):
    """A box whose current folder gets artifacts and a manifest."""

    def write_tool(self, folder: str = "tool", version: str = "0.1.0") -> None:
        target = self.cwd / folder
        target.mkdir(exist_ok=True)
        (target / "murmur.yaml").write_text(
            f"name: my-tool\nversion: {version}\nruntime: tool\nrequires_files: [capsule.wasm]\n"
        )
        (target / "capsule.wasm").write_bytes(COMPONENT)

    def write_project(self, *names: str) -> None:
        listed = "".join(f"  - {{name: {name}, version: 0.1.0}}\n" for name in names)
        (self.cwd / "murmur.yaml").write_text(
            "name: capsule\nversion: 0.1.0\nruntime: capsule\nartifacts:\n" + listed
        )


@pytest.fixture
def box(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_build_publish_and_install_lead_to_a_pinned_project(box: Project) -> None:
    box.write_tool()
    assert box.ok("build", "tool") == ["Built artifact: tool/my-tool-0.1.0.mur.zip (WIT level 3)"]
    assert box.ok("publish", "tool/my-tool-0.1.0.mur.zip") == ["Published local/my-tool@0.1.0"]
    box.write_project("local/my-tool")
    assert box.ok("install", "--no-precompile") == ["Installed local/my-tool@0.1.0 (project store)"]
    stored = project_store(box.cwd).find(FullName("local/my-tool"), "0.1.0", "linux-x86_64")
    assert stored is not None
    assert read_lock(box.cwd / "murmur.lock") == Lock(
        (Pin(FullName("local/my-tool"), "0.1.0", any=stored.open().sha256),)
    )
    (box.cwd / "deeper").mkdir()
    box.cwd = box.cwd / "deeper"
    assert box.ok("install", "--no-precompile") == [
        "Already installed local/my-tool@0.1.0 (project store)"
    ]


def test_build_in_the_current_folder_prints_a_path_in_it(box: Project) -> None:
    box.write_tool(".")
    assert box.ok("build") == ["Built artifact: ./my-tool-0.1.0.mur.zip (WIT level 3)"]
    assert box.ok("publish") == ["Published local/my-tool@0.1.0"]
    assert "local/my-tool@0.1.0" in box.refused("E-REG-003", "publish")


def test_a_skill_folder_builds_without_the_flag_and_with_it(box: Project) -> None:
    skill = box.cwd / "my-skill"
    skill.mkdir()
    (skill / "SKILL.md").write_text("text")
    line = "Built artifact: ./my-skill-0.1.0.mur.zip (WIT level 3)"
    assert box.ok("build", "my-skill") == box.ok("build", "--skill", "my-skill/") == [line]
    assert box.ok("build", "--skill", "wrapped", "--version", "1.2.0", "my-skill/") == [
        "Built artifact: ./wrapped-1.2.0.mur.zip (WIT level 3)"
    ]
    external = box.cwd / "external-skill.zip"
    external.write_bytes(archive_bytes([Entry("SKILL.md", b"text")]))
    assert box.ok("build", "--skill", "external-skill.zip") == [
        "Built artifact: ./external-skill-0.1.0.mur.zip (WIT level 3)"
    ]
    assert "ana/x" in box.refused("E-BLD-001", "build", "--skill", "ana/x", "my-skill")
    assert "My_Skill" in box.refused("E-BLD-001", "build", "--skill", "My_Skill", "my-skill")
    box.usage("build", "--skill", "./my-skill", "my-skill")
    box.usage("build", "a", "b")


def test_neither_a_manifest_nor_a_skill_is_e_io_001(box: Project) -> None:
    assert "murmur.yaml not found at ./murmur.yaml" in box.refused("E-IO-001", "build")


def test_registry_is_refused_with_exit_status_2_and_a_hint(box: Project) -> None:
    assert "global store" in box.usage("publish", "--registry", "x")
    assert "global store" in box.usage("install", "--registry")
    assert not list(box.home.iterdir())


def test_a_missing_local_artifact_prints_exactly_the_references_lines(box: Project) -> None:
    box.write_project()
    assert box.refused("E-REG-001", "install", "local/x@1.0.0") == (
        "error[E-REG-001]: artifact local/x@1.0.0 is not in the store, and no source serves the "
        "'local' scope\n"
        "  hint: a local/ artifact is installed from its .mur.zip file: "
        "mur install ./x-1.0.0.mur.zip\n"
    )
    assert sorted(path.name for path in box.cwd.iterdir()) == ["murmur.yaml"]


def test_payloads_for_other_platforms_only_are_named(box: Project) -> None:
    native = box.cwd / "native"
    (native / "bin").mkdir(parents=True)
    (native / "murmur.yaml").write_text(
        "name: my-native\nversion: 0.1.0\nruntime: tool\nimplementation: native\n"
        "requires_files: [bin/my-native]\n"
    )
    (native / "bin" / "my-native").write_text("#!/bin/sh\n")
    box.ok("build", "native")
    other = "darwin-x86_64"
    archive = "native/my-native-0.1.0.mur.zip"
    assert box.ok("publish", "--platform", other, archive) == ["Published local/my-native@0.1.0"]
    box.write_project("local/my-native")
    assert f"for {other} only" in box.refused("E-REG-001", "install")
    detected, published = box.ok("publish", archive)
    assert detected.startswith("Platform: ") and detected.endswith(" (auto-detected)")
    assert published == "Published local/my-native@0.1.0"
    assert box.ok("install") == ["Installed local/my-native@0.1.0 (project store)"]


def test_a_refused_install_leaves_the_project_as_it_was(box: Project) -> None:
    box.write_tool()
    box.ok("build", "tool")
    box.ok("publish", "tool/my-tool-0.1.0.mur.zip")
    box.write_project("local/my-tool", "ana/absent")
    assert "'ana' scope" in box.refused("E-REG-001", "install")
    assert not (box.cwd / ".murmur").exists() and not (box.cwd / "murmur.lock").exists()


def test_a_source_that_does_not_answer_is_never_reported_as_having_nothing(box: Project) -> None:
    box.environment["MUR_GITHUB_API_BASE"] = "ftp://127.0.0.1"
    box.write_project()
    assert "github:murmur-nexus/default-artifacts" in box.refused(
        "E-REG-006", "install", "murmur/tool-git@0.6.0"
    )
    box.refused("E-REG-006", "install", "murmur/tool-git")
    box.refused("E-REG-006", "install", "github:ana/tools@v1")
    box.refused("E-REG-006", "install", "--all-platforms", "murmur/tool-git@0.6.0")


def test_a_name_without_a_scope_is_e_reg_007(box: Project) -> None:
    box.write_project()
    assert "tool-git" in box.refused("E-REG-007", "install", "tool-git@0.6.0")


def test_outside_a_project_an_install_refuses_and_names_g(box: Project) -> None:
    assert "-g" in box.refused("E-IO-001", "install")
    box.write_tool()
    box.ok("build", "tool")
    box.refused("E-IO-001", "install", "tool/my-tool-0.1.0.mur.zip")
    assert box.ok("install", "-g", "--no-precompile", "tool/my-tool-0.1.0.mur.zip") == [
        "Installed local/my-tool@0.1.0 (global store)"
    ]
    assert not (box.cwd / "murmur.lock").exists()
    machine = global_store(box.home / ".murmur" / "artifacts")
    assert machine.find(FullName("local/my-tool"), "0.1.0", "linux-x86_64")
    assert box.ok("install", "--all-platforms", "local/my-tool@0.1.0") == [
        "Already installed local/my-tool@0.1.0 (global store)"
    ]
    box.usage("install", "--all-platforms")
    box.usage("install", "--all-platforms", "./x.mur.zip")


def test_a_project_install_without_precompiling_writes_nothing_under_home(box: Project) -> None:
    box.write_tool()
    box.ok("build", "tool")
    box.write_project()
    box.ok("install", "--no-precompile", "./tool/my-tool-0.1.0.mur.zip")
    assert not list(box.home.iterdir())


def test_an_unusable_home_is_e_io_004_before_any_store(box: Project) -> None:
    box.write_project("local/x")
    del box.environment["HOME"]
    box.refused("E-IO-004", "install")
    box.refused("E-IO-004", "install", "--no-precompile")
    box.environment["HOME"] = "relative"
    box.refused("E-IO-004", "publish", "x.mur.zip")


def test_an_adopted_entry_is_reported_after_the_lock_is_written(box: Project) -> None:
    box.write_tool()
    box.ok("build", "tool")
    box.write_project()
    data = (box.cwd / "tool" / "my-tool-0.1.0.mur.zip").read_bytes()
    sha256 = open_payload(data, "x").sha256
    pin = Pin(FullName("local/my-tool"), "0.1.0", any=sha256, origin="runtime", session="ses_1")
    write_lock(box.cwd / "murmur.lock", Lock((pin,)))
    assert box.ok("install", "--no-precompile", "./tool/my-tool-0.1.0.mur.zip") == [
        "Installed local/my-tool@0.1.0 (project store)",
        "Adopted local/my-tool@0.1.0 as operator-declared "
        "(it was pulled at runtime by session ses_1)",
    ]


def test_the_newest_fitting_local_version_is_installed_without_a_version(box: Project) -> None:
    for version in ("0.9.0", "0.10.0"):
        box.write_tool(version=version)
        box.ok("build", "tool")
        box.ok("publish", f"tool/my-tool-{version}.mur.zip")
    box.write_project()
    assert box.ok("install", "--no-precompile", "local/my-tool") == [
        "Installed local/my-tool@0.10.0 (project store)"
    ]


def test_a_closed_output_does_not_stop_an_install(box: Project) -> None:
    box.write_tool()
    box.ok("build", "tool")
    box.write_project()
    arguments = ["install", "--no-precompile", "./tool/my-tool-0.1.0.mur.zip"]
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "murmur.cli", *arguments],
            cwd=box.cwd,
            env=box.environment,
            stdout=writer,
            stderr=writer,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writer)
    assert done.returncode == 0 and (box.cwd / "murmur.lock").exists()


def test_a_full_output_is_e_io_003_unless_the_command_failed_itself(box: Project) -> None:
    with open("/dev/full", "w") as full:
        for arguments, code in ((["version"], "E-IO-003"), (["build"], "E-IO-001")):
            done = subprocess.run(
                [sys.executable, "-m", "murmur.cli", *arguments],
                cwd=box.cwd,
                env=box.environment,
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                timeout=60,
                check=False,
            )
            assert done.returncode == 1 and done.stderr.startswith(f"error[{code}]: ")
            assert done.stderr.count("error[") == 1


# --- mur version -------------------------------------------------------------------------------


def test_version_as_text_has_one_padded_row_per_package(box: Project) -> None:
    lines = box.ok("version")
    assert lines[0].startswith("mur ") and lines[2:5] == [
        "WIT level 3",
        "",
        "PACKAGE                  VERSION",
    ]
    assert lines[5] == "murmur:artifact-manager  0.1.0"
    assert lines[-1] == "murmur:tool-registry     0.2.0" and len(lines) == 21


def test_version_as_json_has_its_keys_in_order_and_only_registered_commands(box: Project) -> None:
    from murmur.cli.main import COMMANDS

    done = box.run("version", "--json")
    facts = json.loads(done.stdout)
    assert list(facts) == ["mur_version", "commit", "wit_level", "packages", "commands"]
    assert done.stdout == json.dumps(facts, indent=2) + "\n"
    assert list(facts["commands"]) == sorted(facts["commands"])
    assert facts["commands"]["version --json"] == 1
    assert {key.split()[0] for key in facts["commands"]} <= set(COMMANDS)
    assert facts["packages"][0] == {"package": "murmur:artifact-manager", "version": "0.1.0"}
    assert box.ok("--version") == [f"murmur-cli {facts['mur_version']}"]


def test_version_imports_nothing_heavy(box: Project) -> None:
    done = box.run("version", "--json", python=["-X", "importtime"])
    imported = {
        line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()
    }
    assert "murmur" in imported and "click" in imported
    assert not imported & {"wasmtime", "pydantic", "starlette", "yaml", "uvicorn", "asyncio", "h11"}
