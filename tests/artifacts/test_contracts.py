"""What the built artifacts name at their outermost level, and what their manifests say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from murmur.manifest.artifact import hook_contract_of, models_of, parse_artifact_manifest
from murmur.read_only.declarations import read_declarations
from murmur.store.component import read_contracts
from tests.artifacts.components import component

STREAM = "murmur:stream/events@0.1.0"
RUN = "murmur:tool/run@0.2.0"
PROCESS = "murmur:driver/process@0.4.0"
HTTP = "wasi:http/outgoing-handler"
HOOK = "murmur:hook/lifecycle@0.9.0"
INFERENCE = "murmur:runtime/inference@0.4.0"
RECALL = {
    "murmur:runtime/tokens@0.4.0",
    "murmur:task-io/read@0.1.0",
    "murmur:conversation/read@0.2.0",
}
# A hook's own interface is among its imports for the types that are used from it.
ARTIFACTS: dict[str, tuple[str, set[str]]] = {
    "driver-replay": (RUN, {STREAM}),
    "driver-anthropic": (RUN, {STREAM, HTTP}),
    "driver-deepseek": (RUN, {STREAM, HTTP}),
    "driver-moonshotai": (RUN, {STREAM, HTTP}),
    "driver-openai": (RUN, {STREAM, HTTP}),
    "driver-claude-code": (PROCESS, set()),
    "driver-codex": (PROCESS, set()),
    "tool-code-coverage": (RUN, set()),
    "tool-code-graph": (RUN, set()),
    "tool-corpus": (RUN, set()),
    "tool-create": (RUN, set()),
    "tool-editor": (RUN, set()),
    "tool-git": (RUN, {"murmur:process/process@0.1.0"}),
    "tool-registry-search": (RUN, {HTTP}),
    "tool-report": (RUN, set()),
    "tool-request-input": (RUN, {"murmur:task/task@0.1.0"}),
    "tool-tavily": (RUN, {HTTP}),
    "tool-test-report": (RUN, set()),
    "hook-compact": (HOOK, {HOOK, INFERENCE}),
    "hook-debug": (HOOK, {HOOK}),
    "hook-diff-summary": (HOOK, {HOOK}),
    "hook-eval": (HOOK, {HOOK, HTTP}),
    "hook-grafana": (HOOK, {HOOK, HTTP}),
    "hook-memory": (HOOK, {HOOK, *RECALL}),
    "hook-protect-shell": (HOOK, {HOOK}),
    "hook-protect-tool": (HOOK, {HOOK}),
    "hook-regression-verifier": (HOOK, {HOOK}),
    "hook-shell-desc": (HOOK, {HOOK}),
}
HOOKS = [name for name in ARTIFACTS if name.startswith("hook-")]


def manifest_of(name: str) -> bytes:
    root = Path(os.environ.get("ARTIFACTS_ROOT", "py/artifacts"))
    return (root / name / "murmur.yaml").read_bytes()


@pytest.mark.parametrize("name", ARTIFACTS)
def test_a_component_names_what_its_world_lets_it_and_no_more(name: str) -> None:
    exported, imports = ARTIFACTS[name]
    contracts = read_contracts(component(name).read_bytes())

    assert contracts is not None
    assert [export for export in contracts.exports if export.startswith("murmur:")] == [exported]
    ours = {each for each in contracts.imports if each.startswith("murmur:")}
    http = {each.partition("@")[0] for each in contracts.imports if each.startswith(HTTP)}
    assert ours | http == imports


@pytest.mark.parametrize("name", ARTIFACTS)
def test_a_manifest_names_its_artifact_and_packs_the_component(name: str) -> None:
    manifest = parse_artifact_manifest(manifest_of(name))

    assert manifest.name == name
    assert tuple(manifest.requires_files) == ("capsule.wasm",)


@pytest.mark.parametrize("name", HOOKS)
def test_a_hooks_contract_is_one_that_a_hook_may_have(name: str) -> None:
    manifest = parse_artifact_manifest(manifest_of(name))

    assert manifest.runtime == "hook"
    contract = hook_contract_of(manifest, name)
    assert contract.is_policy is name.startswith("hook-protect-")


@pytest.mark.parametrize(
    ("name", "header", "value"),
    [
        ("driver-anthropic", "x-api-key", "{key}"),
        ("driver-deepseek", "Authorization", "Bearer {key}"),
        ("driver-moonshotai", "Authorization", "Bearer {key}"),
        ("driver-openai", "Authorization", "Bearer {key}"),
    ],
)
def test_a_provider_driver_declares_where_its_key_goes(name: str, header: str, value: str) -> None:
    declared = parse_artifact_manifest(manifest_of(name)).upstream_auth

    assert declared == {"header": header, "value": value}


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("driver-anthropic", "claude-haiku-4-5-20251001"),
        ("driver-deepseek", "deepseek-flash"),
        ("driver-moonshotai", "kimi-k3"),
        ("driver-openai", "gpt-5.6-luna"),
        ("driver-replay", "replay"),
    ],
)
def test_a_drivers_table_holds_the_limits_of_its_usual_model(name: str, model: str) -> None:
    table = models_of(parse_artifact_manifest(manifest_of(name)))

    assert model in table
    for limits in table.values():
        assert limits.context_window is not None
        assert 0 < limits.max_output_tokens < limits.context_window
        assert (limits.max_input_tokens or 1) < limits.context_window


def test_the_replay_driver_declares_no_credential() -> None:
    assert parse_artifact_manifest(manifest_of("driver-replay")).upstream_auth is None


@pytest.mark.parametrize("name", [name for name in ARTIFACTS if name.startswith("tool-")])
def test_a_tools_schema_says_itself_what_the_tool_writes(name: str) -> None:
    schema = parse_artifact_manifest(manifest_of(name)).parameters

    assert read_declarations(schema).unjudged() == [], "W-SEC-018 would be printed"
    assert isinstance(schema["required"], list) and isinstance(schema["properties"], dict)
    assert set(schema["required"]) <= set(schema["properties"])


def test_tavilys_key_goes_into_the_header_that_its_provider_reads() -> None:
    declared = parse_artifact_manifest(manifest_of("tool-tavily")).upstream_auth

    assert declared == {"header": "Authorization", "value": "Bearer {key}"}


def test_the_editors_schema_marks_the_destination_it_writes() -> None:
    schema = parse_artifact_manifest(manifest_of("tool-editor")).input_schema

    assert isinstance(schema, dict)
    assert schema["required"] == ["operation"]
    assert schema["properties"]["dest_path"]["format"] == "murmur-destination"
    assert schema["murmur-destinations"] == ["{dest_path}"]
