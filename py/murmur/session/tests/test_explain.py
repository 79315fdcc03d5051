"""`--explain-scope` as a function: what it reads, refuses, reports. spec/diagnostics.md 6.2."""

import json
from collections.abc import Mapping
from pathlib import Path

import fastjsonschema
import pytest

from murmur.core.diagnostics import MurmurError
from murmur.sandbox import cgroup
from murmur.sandbox.hierarchy import Facts
from murmur.session.explain import Explained, explain
from murmur.session.launch import Flags, read_launch
from murmur.session.scope.schema import scope_schema
from murmur.session.tests.manifests import EVERY_BLOCK, MINIMAL


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


def explained(
    folder: Path, text: str, flags: Flags | None = None, environ: Mapping[str, str] | None = None
) -> Explained:
    (folder / "project" / "murmur.yaml").write_text(text)
    variables = {"HOME": str(folder / "home"), "PATH": "/usr/bin:/bin", **(environ or {})}
    return explain(read_launch(flags or Flags(), variables))


def codes(found: Explained) -> set[str]:
    return {refused.code for refused in found.refusals}


def test_a_manifest_that_uses_every_block_gives_a_report_of_the_schema(folder: Path) -> None:
    found = explained(folder, EVERY_BLOCK)
    report = json.loads(json.dumps(found.report.as_json()))
    fastjsonschema.compile(scope_schema())(report)
    assert report["declared_containment"] == "scoped"
    assert report["shell_allow"] == ["bash", "python3", "node"]


def test_a_key_never_reaches_the_report(folder: Path) -> None:
    keys = {"EXAMPLE_KEY": "sk-very-secret", "TOOL_KEY": "sk-also-secret"}
    found = explained(folder, EVERY_BLOCK, environ=keys)
    shown = json.dumps(found.report.as_json())
    shown += "".join(refused.message + refused.hint for refused in found.refusals)
    shown += "".join(warned.message + warned.hint for warned in found.warnings)
    assert not [key for key in keys.values() if key in shown]
    assert "E-MAN-003" not in codes(found)
    assert "E-MAN-003" in codes(explained(folder, EVERY_BLOCK))


def test_nothing_is_made(folder: Path) -> None:
    explained(folder, EVERY_BLOCK)
    assert sorted(path.name for path in folder.rglob("*")) == ["home", "murmur.yaml", "project"]


def test_a_workdir_that_is_not_there_is_reported(folder: Path) -> None:
    found = explained(folder, MINIMAL, Flags(workdir=folder / "nowhere"))
    assert any("nowhere" in refused.message for refused in found.refusals)
    assert found.report.temp_dir.path.endswith("/nowhere/<session-id>/tmp")


def test_a_context_id_that_names_no_folder_is_reported(folder: Path) -> None:
    found = explained(folder, MINIMAL, Flags(context="../up"))
    assert "E-CAP-011" in [refused.code for refused in found.refusals]


def test_the_configuration_raises_the_floor_and_the_host_is_asked_once(folder: Path) -> None:
    (folder / "project" / ".murmur").mkdir()
    (folder / "project" / ".murmur" / "config.yaml").write_text("containment: sealed\n")
    found = explained(folder, MINIMAL, Flags(containment="scoped"))
    assert found.containment.floor.declared == "sealed"
    assert found.report.floor_met is False and found.report.shortfall_reason


def test_sandbox_cgroup_optional_without_a_hierarchy_is_a_warning_and_else_a_refusal(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroup, "delegated_facts", lambda: Facts(None, {}))
    text = MINIMAL + "capabilities: {shell: {allow: [ls]}}\n"
    refused = explained(folder, text)
    assert "E-RUN-012" in codes(refused)
    assert refused.report.cgroup_scope.status == "unavailable"
    assert refused.report.io_max.status == "unavailable" and refused.report.io_max.reason
    (folder / "home" / ".murmur").mkdir(0o700)
    config = folder / "home" / ".murmur" / "config.yaml"
    config.write_text("sandbox: {cgroup: optional}\n")
    config.chmod(0o600)
    waived = explained(folder, text)
    assert "E-RUN-012" not in codes(waived)
    assert "W-SEC-035" in {found.code for found in waived.warnings}
    assert waived.report.cgroup_scope.status == "unavailable"


def test_a_capsule_without_commands_needs_no_scope(folder: Path) -> None:
    report = explained(folder, MINIMAL).report
    assert report.cgroup_scope.status == report.io_max.status == "not-required"


def test_without_the_helper_the_report_says_that_nobody_could_ask(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MURMUR_SANDBOX_HELPER", "/nowhere/mur-sandbox")
    found = explained(folder, MINIMAL)
    assert "/nowhere/mur-sandbox" in found.containment.missing
    assert found.report.enforcement_tier == "none"


def test_a_class_that_is_none_is_refused(folder: Path) -> None:
    with pytest.raises(MurmurError) as refusal:
        explained(folder, MINIMAL, Flags(containment="tight"))
    assert refusal.value.code == "E-IO-003"


def test_a_ledger_that_could_not_be_used_is_reported_where_a_ceiling_needs_it(
    folder: Path,
) -> None:
    murmur = folder / "home" / ".murmur"
    murmur.mkdir()
    (murmur / "spend").write_text("")
    assert "E-RUN-026" not in codes(explained(folder, EVERY_BLOCK))
    (murmur / "config.yaml").write_text("spend: {machine_tokens_per_day: 1000}\n")
    assert "E-RUN-026" in codes(explained(folder, EVERY_BLOCK))
    (murmur / "spend").unlink()
    assert "E-RUN-026" not in codes(explained(folder, EVERY_BLOCK))
    assert not (murmur / "spend").exists()
