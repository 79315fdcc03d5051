"""`mur config set` and `mur beta`. CLI reference, the chapters of these names."""

import stat
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from murmur.cli import beta
from murmur.cli.tests.box import Box
from murmur.core.beta import FEATURES

SECRET = "sk-ant-very-secret-value"


def mine(box: Box) -> Path:
    return box.home / ".murmur" / "config.yaml"


def project(box: Box) -> Path:
    return box.cwd / ".murmur" / "config.yaml"


def test_a_key_goes_to_the_project_file_by_default(box: Box) -> None:
    line = box.ok("config", "set", "registry.index_url", "https://example.com/index.json")
    assert line == ["Set registry.index_url in ./.murmur/config.yaml"]
    written = yaml.safe_load(project(box).read_text())
    assert written == {"registry": {"index_url": "https://example.com/index.json"}}
    assert not mine(box).exists()


@pytest.mark.parametrize("flag", ["-g", "--global"])
def test_with_the_flag_it_goes_to_the_global_file(box: Box, flag: str) -> None:
    line = box.ok("config", "set", "inference.model", "claude-haiku-4-5", flag)
    assert line == ["Set inference.model in ~/.murmur/config.yaml"]
    assert yaml.safe_load(mine(box).read_text()) == {"inference": {"model": "claude-haiku-4-5"}}
    assert stat.S_IMODE(mine(box).stat().st_mode) == 0o600
    assert stat.S_IMODE(mine(box).parent.stat().st_mode) == 0o700
    assert not project(box).exists()


def test_setting_a_key_keeps_the_others(box: Box) -> None:
    project(box).parent.mkdir()
    project(box).write_text("other: {kept: 1}  # kept\nregistry:\n  default: x\n")
    box.ok("config", "set", "registry.index_url", "u")
    text = project(box).read_text()
    assert yaml.safe_load(text) == {
        "other": {"kept": 1},
        "registry": {"default": "x", "index_url": "u"},
    }
    assert "# kept" in text


@pytest.mark.parametrize("key", ["registry.index_url", "inference.provider", "inference.endpoint"])
def test_each_settable_key_is_set(box: Box, key: str) -> None:
    assert box.ok("config", "set", key, "v") == [f"Set {key} in ./.murmur/config.yaml"]


@pytest.mark.parametrize(
    "key",
    ["nonsense.field", "registry.sources", "beta.enabled", "containment", "sandbox.cgroup", ""],
)
def test_any_other_key_is_refused_and_nothing_is_written(box: Box, key: str) -> None:
    complaint = box.refused("E-CFG-002", "config", "set", key, "x")
    assert f"'{key}'" in complaint.splitlines()[0]
    assert "hint: supported keys: registry.index_url, inference.provider, " in complaint
    assert not project(box).exists() and not mine(box).exists()


def test_a_credential_is_global_only_and_never_printed(box: Box) -> None:
    key = "credentials.ANTHROPIC_API_KEY"
    complaint = box.refused("E-CFG-002", "config", "set", key, SECRET)
    assert f"'{key}'" in complaint and f"mur config set -g {key} <key>" in complaint
    assert SECRET not in complaint
    assert not project(box).exists()
    done = box.run("config", "set", "-g", key, SECRET)
    assert (done.returncode, done.stdout) == (0, f"Set {key} in ~/.murmur/config.yaml\n")
    assert SECRET not in done.stderr
    assert yaml.safe_load(mine(box).read_text()) == {"credentials": {"ANTHROPIC_API_KEY": SECRET}}


@pytest.mark.parametrize("name", ["", "lower", "1X", "A-B", "A.B", "Ä"])
def test_a_credential_with_another_kind_of_name_is_refused(box: Box, name: str) -> None:
    box.refused("E-CFG-002", "config", "set", "-g", f"credentials.{name}", "x")
    assert not mine(box).exists()


def test_a_running_capsule_sees_a_new_inode(box: Box) -> None:
    box.ok("config", "set", "-g", "credentials.KEY", "one")
    before = mine(box).stat().st_ino
    box.ok("config", "set", "-g", "credentials.KEY", "two")
    assert mine(box).stat().st_ino != before


def test_an_api_key_in_the_project_file_is_written_with_a_warning_before(box: Box) -> None:
    done = box.run("config", "set", "inference.api_key", SECRET)
    assert (done.returncode, done.stdout) == (
        0,
        "Set inference.api_key in ./.murmur/config.yaml\n",
    )
    lines = done.stderr.splitlines()
    assert lines[0].startswith("warning: writing a literal inference.api_key to ./.murmur/")
    assert lines[1].startswith("note: ") and "credentials.<NAME>" in lines[1]
    assert SECRET not in done.stderr
    assert yaml.safe_load(project(box).read_text()) == {"inference": {"api_key": SECRET}}


@pytest.mark.parametrize("arguments", [("${MY_KEY}",), (SECRET, "-g")])
def test_a_reference_and_a_global_key_get_the_note_alone(
    box: Box, arguments: tuple[str, ...]
) -> None:
    done = box.run("config", "set", "inference.api_key", *arguments)
    assert done.returncode == 0
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == ["note"]


def test_a_file_that_cannot_be_parsed_is_refused_and_left(box: Box) -> None:
    project(box).parent.mkdir()
    project(box).write_text(f"credentials: {{K: {SECRET}\n")
    complaint = box.refused("E-IO-003", "config", "set", "inference.model", "m")
    assert SECRET not in complaint
    assert project(box).read_text() == f"credentials: {{K: {SECRET}\n"


def test_this_build_has_no_beta_features(box: Box) -> None:
    assert box.ok("beta", "list") == ["This build has no beta features."]


def test_a_feature_that_is_not_compiled_in_is_saved_with_a_warning(box: Box) -> None:
    done = box.run("beta", "enable", "blueprint")
    assert (done.returncode, done.stdout) == (0, "Beta feature 'blueprint' enabled.\n")
    assert done.stderr.startswith("Warning: 'blueprint' is not compiled into this build.")
    assert yaml.safe_load(mine(box).read_text()) == {"beta": {"enabled": ["blueprint"]}}
    assert stat.S_IMODE(mine(box).stat().st_mode) == 0o600
    before = mine(box).stat()
    done = box.run("beta", "enable", "blueprint")
    assert (done.returncode, done.stdout) == (0, "Beta feature 'blueprint' is already enabled.\n")
    assert mine(box).stat() == before


def test_disabling_is_idempotent(box: Box) -> None:
    box.run("beta", "enable", "one")
    box.run("beta", "enable", "two")
    assert box.ok("beta", "disable", "one") == ["Beta feature 'one' disabled."]
    assert box.ok("beta", "disable", "one") == ["Beta feature 'one' is already disabled."]
    assert yaml.safe_load(mine(box).read_text()) == {"beta": {"enabled": ["two"]}}


def test_enabling_keeps_the_rest_of_the_file(box: Box) -> None:
    mine(box).parent.mkdir()
    mine(box).write_text("credentials: {A: b}\nbeta:\n  enabled:\n    - old\n")
    box.run("beta", "enable", "new")
    assert yaml.safe_load(mine(box).read_text()) == {
        "credentials": {"A": "b"},
        "beta": {"enabled": ["old", "new"]},
    }


def test_features_are_listed_as_either_file_enables_them(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FEATURES, "blueprint", "Files in slots")
    monkeypatch.setitem(FEATURES, "dag-topology", "Graphs")
    monkeypatch.setenv("HOME", str(box.home))
    monkeypatch.chdir(box.cwd)
    project(box).parent.mkdir()
    project(box).write_text("beta: {enabled: [dag-topology]}\n")
    shown = CliRunner().invoke(beta.command, ["list"])
    assert shown.exit_code == 0
    assert shown.output.splitlines() == [
        "Beta features compiled into this build:",
        "",
        "  blueprint            disabled  Files in slots",
        "  dag-topology         enabled   Graphs",
        "",
        "Use `mur beta enable <name>` or `mur beta disable <name>` to opt in or out.",
    ]
