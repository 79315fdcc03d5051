"""What a manifest makes its operator be told. spec/diagnostics.md 5.6 and 6.3."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur.core.diagnostics import Diagnostic, render
from murmur.manifest.artifact import ArtifactManifest, parse_artifact_manifest
from murmur.manifest.parse import load_capsule
from murmur.manifest.session import AfterTask
from murmur.manifest.warnings import READERS, Reader, manifest_warnings

HEAD = "name: demo\nversion: '1'\n"


def found(
    body: str,
    reader: Reader = "run",
    after_task: AfterTask | None = None,
    manifests: dict[str, ArtifactManifest] | None = None,
) -> list[Diagnostic]:
    capsule = load_capsule(HEAD + body, "murmur.yaml").capsule
    return list(manifest_warnings(capsule, reader, after_task=after_task, manifests=manifests))


def codes(body: str, reader: Reader = "run") -> list[str]:
    return [warning.code for warning in found(body, reader)]


def packed(**fields: object) -> ArtifactManifest:
    return parse_artifact_manifest(json.dumps({"name": "x", "version": "1", **fields}))


GATEWAY = "gateway: {endpoint: 'https://api.example.com/v1', api_key: '${K}'}"
READ_ONLY = "filesystem: {read_only: [tests]}"

EXAMPLES: dict[str, tuple[str, str, list[str]]] = {
    # code: (a manifest that fires it, one that does not, facts of the line)
    "W-SEC-006": (
        "artifacts: [{name: a/h, version: '1', runtime: hook, capabilities: {shell: {allow: [sh]}, "
        "limits: {instances: 1}, containment: scoped, network: {allow: []}}}]",
        "artifacts: [{name: a/h, version: '1', runtime: hook, capabilities: {network: {allow: []}, "
        "filesystem: {scope: s, records: true}, state: {}, task_io: {read: true}, "
        "conversation: {read: true}}}]",
        ["a/h", "shell, limits, containment"],
    ),
    "W-SEC-008": (
        "artifacts: [{name: a/t, version: '1', capabilities: {env: {allow: [X]}, spawn: {}, "
        "filesystem: {read_only: [x], records: true}}}]",
        "artifacts: [{name: a/t, version: '1', capabilities: {network: {allow: []}, "
        "filesystem: {scope: s}, state: {store: x}}}]",
        ["a/t", "env, spawn, filesystem.read_only, filesystem.records"],
    ),
    "W-SEC-009": (
        "capabilities: {shell: {allow: [py], interpreter_runtime: [{binary: py, dirs: "
        "[{path: /a, list_dir: true}, {path: /b, list_dir: false}]}]}}",
        "capabilities: {shell: {allow: [py]}}",
        ["py", "/a (list_dir), /b"],
    ),
    "W-SEC-011": (
        "capabilities: {filesystem: {workdir_exec: true}}",
        "capabilities: {filesystem: {workdir_exec: false}}",
        ["workdir_exec"],
    ),
    "W-SEC-014": (
        "capabilities: {state: {store: s}}",
        "artifacts: [{name: a/t, version: '1', capabilities: {state: {store: s}}}]",
        ["capabilities.state"],
    ),
    "W-SEC-016": (
        "capabilities: {conversation: {read: true}}",
        "artifacts: [{name: a/h, version: '1', runtime: hook, capabilities: "
        "{conversation: {read: true}}}]",
        ["capabilities.conversation"],
    ),
    "W-SEC-017": (
        f"capabilities: {{{READ_ONLY}, shell: {{allow: [jq, python3]}}}}",
        f"capabilities: {{{READ_ONLY}, shell: {{allow: [jq]}}}}",
        ["python3"],
    ),
    "W-SEC-024": (
        "capabilities: {env: {allow: [DB_PASSWORD, REGION]}}",
        "capabilities: {env: {allow: [REGION]}}",
        ["DB_PASSWORD", "api_key, token, secret, password", "COOKIE"],
    ),
    "W-SEC-025": (
        f"artifacts: [{{name: a/t, version: '1', {GATEWAY}}}]\n"
        "capabilities: {network: {allow: [api.example.com]}}",
        f"artifacts: [{{name: a/t, version: '1', {GATEWAY}}}]\n"
        "capabilities: {network: {allow: ['http://api.example.com', other.example.com]}}",
        ["api.example.com"],
    ),
    "W-SEC-030": (
        f"artifacts: [{{name: a/t, version: '1', {GATEWAY}}}]",
        f"artifacts: [{{name: a/d, version: '1', runtime: driver, {GATEWAY}}}]\n"
        "inference: {model: m, driver: {artifact: a/d}}",
        ["a/t@1"],
    ),
}


@pytest.mark.parametrize("code", EXAMPLES)
def test_a_warning_is_given_where_its_condition_holds_and_nowhere_else(code: str) -> None:
    fires, stays_silent, facts = EXAMPLES[code]
    lines = [render(warning) for warning in found(fires) if warning.code == code]
    assert len(lines) == 1
    for fact in facts:
        assert fact in lines[0]
    assert code not in codes(stays_silent)


@pytest.mark.parametrize("code", EXAMPLES)
@pytest.mark.parametrize("reader", ["run", "doctor", "explain"])
def test_each_command_prints_the_codes_that_the_table_gives_it(code: str, reader: Reader) -> None:
    printed = {
        "run": set(READERS),
        "doctor": {"W-SEC-009", "W-SEC-011", "W-SEC-024", "W-SEC-025", "W-SEC-030"},
        "explain": {"W-SEC-024", "W-SEC-025", "W-SEC-030"},
    }
    assert (code in codes(EXAMPLES[code][0], reader)) == (code in printed[reader])


def test_a_native_tool_is_governed_by_no_block_and_given_no_config() -> None:
    body = (
        "artifacts: [{name: a/t, version: '1', config: {}, "
        "capabilities: {network: {allow: []}, filesystem: {scope: s, read_only: [x]}}}]"
    )
    assert codes(body) == ["W-SEC-008"]
    native = packed(runtime="tool", implementation="native")
    given = found(body, manifests={"a/t": native})
    assert [warning.code for warning in given] == ["W-SEC-008", "W-SEC-015"]
    assert "declares network, filesystem, which" in given[0].message
    wasm = packed(runtime="tool", input_schema={"type": "object"})
    assert [w.code for w in found(body, manifests={"a/t": wasm})] == ["W-SEC-008"]


@pytest.mark.parametrize(
    ("names", "says"),
    [
        ({"path": {"type": "string"}}, "its property path"),
        ({"path": {"type": "string"}, "to": {"type": "string"}}, "its properties path, to"),
    ],
)
def test_a_schema_that_leaves_a_path_to_its_name_is_reported_once_a_tool(
    names: dict[str, Any], says: str
) -> None:
    body = "artifacts: [{name: a/t, version: '1'}]\ncapabilities: {filesystem: {read_only: [x]}}"
    tool = packed(runtime="tool", input_schema={"type": "object", "properties": names})
    (warning,) = found(body, manifests={"a/t": tool})
    assert warning.code == "W-SEC-018" and "a/t" in warning.message and says in warning.message
    writable = "artifacts: [{name: a/t, version: '1'}]"
    assert found(writable, manifests={"a/t": tool}) == []


@pytest.mark.parametrize(
    ("declared", "flag", "clause"),
    [
        ("exit", None, False),
        ("sleep", None, True),
        ("exit", "sleep", True),
        ("sleep", "exit", False),
    ],
)
def test_a_credential_shaped_name_has_a_further_clause_in_a_capsule_that_sleeps(
    declared: str, flag: AfterTask | None, clause: int
) -> None:
    body = f"capabilities: {{env: {{allow: [A_TOKEN]}}}}\nlifecycle: {{after_task: {declared}}}"
    (warning,) = found(body, after_task=flag)
    assert ("sleeps" in warning.message) == clause


def test_a_name_that_the_backstop_refuses_is_not_warned_about() -> None:
    assert codes("capabilities: {env: {allow: [GITHUB_TOKEN]}}") == []
    stripped = "capabilities: {env: {allow: [MY_TOKEN]}, shell: {allow: [sh], strip_env: ['MY_*']}}"
    assert codes(stripped) == []


def test_an_entry_of_the_artifact_s_own_list_is_matched_with_its_own_gateway() -> None:
    body = (
        f"artifacts: [{{name: a/t, version: '1', {GATEWAY}, capabilities: {{network: {{allow: "
        "['https://api.example.com']}}}, {name: a/u, version: '1', capabilities: {network: "
        "{allow: ['https://api.example.com']}}}]"
    )
    assert codes(body) == ["W-SEC-025", "W-SEC-030"]


def test_the_order_is_that_of_staging() -> None:
    bodies = (
        f"artifacts: [{{name: a/t, version: '1', {GATEWAY}, capabilities: {{spawn: {{}}}}}}]",
        "capabilities: {state: {}, conversation: {read: true}, env: {allow: [A_TOKEN]}, network: "
        "{allow: [api.example.com]}, filesystem: {read_only: [x], workdir_exec: true}, shell: "
        "{allow: [sh], interpreter_runtime: [{binary: sh, dirs: [{path: /a, list_dir: true}]}]}}",
    )
    assert codes("\n".join(bodies)) == [
        "W-SEC-014",
        "W-SEC-016",
        "W-SEC-009",
        "W-SEC-011",
        "W-SEC-017",
        "W-SEC-024",
        "W-SEC-008",
        "W-SEC-025",
        "W-SEC-030",
    ]


_ROLES = st.sampled_from(["tool", "hook", "driver"])
_BLOCKS = st.fixed_dictionaries(
    {},
    optional={
        "network": st.just({"allow": ["a.example", "\x1b[2J"]}),
        "filesystem": st.just({"read_only": ["x"], "records": True}),
        "shell": st.just({"allow": ["bash"]}),
        "env": st.just({"allow": ["A_TOKEN", "\x1b[2J_TOKEN"]}),
        "state": st.just({}),
        "spawn": st.just({"allow": ["local/kid"]}),
        "limits": st.just({}),
    },
)


@settings(max_examples=100)
@given(_BLOCKS, st.lists(st.tuples(_ROLES, _BLOCKS), max_size=3))
def test_any_grants_are_answered_and_doctor_says_no_more_than_run(
    wide: dict[str, Any], entries: list[tuple[str, dict[str, Any]]]
) -> None:
    artifacts = [
        {"name": f"a/x{index}", "version": "1", "runtime": role, "capabilities": own}
        for index, (role, own) in enumerate(entries)
    ]
    whole = {"name": "a", "version": "1", "capabilities": wide, "artifacts": artifacts}
    capsule = load_capsule(json.dumps(whole), "murmur.yaml").capsule
    every = manifest_warnings(capsule, "run")
    assert set(manifest_warnings(capsule, "explain")) <= set(manifest_warnings(capsule, "doctor"))
    assert set(manifest_warnings(capsule, "doctor")) <= set(every)
    assert all(render(warning).isprintable() for warning in every)
