"""An artifact's own manifest. spec/artifacts.md 7, 8.1 and 12."""

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.manifest.artifact import (
    ArtifactManifest,
    hook_contract_of,
    models_of,
    parse_artifact_manifest,
    upstream_auth_of,
)
from murmur.manifest.model_table import BadModelTable, ModelLimits

HEAD = "name: thing\nversion: '1.0.0'\n"


def parse(body: str) -> ArtifactManifest:
    return parse_artifact_manifest((HEAD + body).encode())


def refusal(body: str) -> MurmurError:
    with pytest.raises(MurmurError) as caught:
        parse(body)
    return caught.value


@pytest.mark.parametrize(
    ("body", "execution", "files"),
    [
        ("", "wasm", ()),
        ("runtime: tool", "wasm", ()),
        ("runtime: tool\nimplementation: native", "native", ()),
        ("runtime: hook\nimplementation: native", "wasm", ()),
        ("runtime: skill", "static", ("skill.md",)),
        ("runtime: skill\nrequires_files: []", "static", ()),
        ("runtime: capsule\nexecution: Static", "static", ()),
        ("runtime: skill\nexecution: WASM\nrequires_files: [a.wasm]", "wasm", ("a.wasm",)),
    ],
)
def test_the_packaging_is_declared_or_derived(
    body: str, execution: str, files: tuple[str, ...]
) -> None:
    manifest = parse(body)
    assert (manifest.execution, manifest.requires_files) == (execution, files)


@pytest.mark.parametrize(
    ("text", "code", "fact"),
    [
        (b"version: '1'\n", "E-MAN-001", "name"),
        (b"name: a\n", "E-MAN-001", "version"),
        (b"name: [\n", "E-MAN-002", "2:1"),
        (b"name: \xff\n", "E-MAN-002", "UTF-8"),
        (b"name: a\nversion: '1'\nexecution: jit\n", "E-MAN-003", "execution"),
        (b"name: a\nversion: '1'\nimplementation: jit\n", "E-MAN-003", "implementation"),
        (b"name: a\nversion: '1'\nrequires_files: x\n", "E-MAN-003", "requires_files"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_refused(text: bytes, code: str, fact: str) -> None:
    with pytest.raises(MurmurError) as caught:
        parse_artifact_manifest(text)
    assert caught.value.code == code
    assert caught.value.message.startswith("murmur.yaml") and fact in caught.value.message


@pytest.mark.parametrize(
    ("body", "parameters"),
    [
        (
            'input_schema: \'{"type":"object","required":["a"]}\'',
            {"type": "object", "required": ["a"]},
        ),
        ("input_schema: {type: object}", {"type": "object"}),
        ("input: {type: object, x: 1}", {"type": "object", "x": 1}),
        ("input_schema: {type: object}\ninput: {}", {"type": "object"}),
        ("", {"type": "object", "properties": {}}),
        ("input_schema: '{broken'", {"type": "object", "properties": {}}),
        ("input_schema: '[1]'", {"type": "object", "properties": {}}),
    ],
)
def test_the_schema_is_a_mapping_or_json_text(body: str, parameters: dict[str, object]) -> None:
    assert parse(body).parameters == parameters


def test_upstream_auth_is_read_when_it_is_asked_for() -> None:
    manifest = parse("upstream_auth: {header: Authorization, value: 'Bearer {key}'}")
    auth = upstream_auth_of(manifest, "a/b@1")
    assert (auth.header, auth.render("k{key}")) == ("Authorization", "Bearer k{key}")
    assert manifest.declares_upstream_auth and not parse("").declares_upstream_auth
    assert parse("upstream_auth: 3").upstream_auth == 3


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        ("", "declares no upstream_auth"),
        ("upstream_auth: [a]", "a list, not a mapping"),
        ("upstream_auth: {value: '{key}'}", "header is no value"),
        ("upstream_auth: {header: x-api-key}", "value is no value"),
        ("upstream_auth: {header: 3, value: '{key}'}", "header is a number"),
        ("upstream_auth: {header: 'x key', value: '{key}'}", "no valid header name"),
        ('upstream_auth: {header: "x\\r\\ny", value: "{key}"}', "no valid header name"),
        ("upstream_auth: {header: HOST, value: '{key}'}", "must not be HOST"),
        ("upstream_auth: {header: transfer-encoding, value: '{key}'}", "must not be"),
        ("upstream_auth: {header: x, value: 'Bearer'}", "exactly once"),
        ("upstream_auth: {header: x, value: '{key}{key}'}", "exactly once"),
        ('upstream_auth: {header: x, value: "{key}\\r\\nEvil: 1"}', "a character"),
    ],
)
def test_a_gateway_needs_a_well_formed_upstream_auth(block: str, reason: str) -> None:
    with pytest.raises(MurmurError) as caught:
        upstream_auth_of(parse(block), "acme/tool@1.0.0")
    assert caught.value.code == "E-RUN-025"
    assert "acme/tool@1.0.0" in caught.value.message and reason in caught.value.message


def test_inference_auth_is_the_old_name_of_upstream_auth() -> None:
    manifest = parse("inference_auth: {header: x-api-key, value: '{key}'}")
    assert upstream_auth_of(manifest, "a/b@1").header == "x-api-key"
    assert [w.code for w in manifest.warnings] == ["W-MAN-001"]
    caught = refusal("inference_auth: {header: x}\nupstream_auth: {header: x}")
    assert caught.code == "E-MAN-003"
    assert "inference_auth" in caught.message and "upstream_auth" in caught.message


def test_a_models_table_names_the_limits_of_each_model() -> None:
    table = "models:\n  m-1: {max_output_tokens: 8, context_window: 20, max_input_tokens: 12}\n"
    table += "  m-2: {max_output_tokens: 8, context_window: 20}\n"
    assert models_of(parse(table)) == {"m-1": ModelLimits(8, 20, 12), "m-2": ModelLimits(8, 20)}
    assert models_of(parse("")) == {}


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ("[m]", "a list"),
        ("{m: 3}", "models.m is a number"),
        ("{m: {max_output_tokens: 8}}", "models.m.context_window"),
        ("{m: {max_output_tokens: 0, context_window: 2}}", "models.m.max_output_tokens"),
        ("{m: {max_output_tokens: true, context_window: 2}}", "models.m.max_output_tokens"),
        ("{m: {max_output_tokens: 1.5, context_window: 2}}", "models.m.max_output_tokens"),
        ("{m: {max_output_tokens: 4294967296, context_window: 2}}", "max_output_tokens"),
        ("{m: {max_output_tokens: 1, context_window: 2, contxt: 3}}", "'contxt'"),
        ("{4.1: {max_output_tokens: 1, context_window: 2}}", "4.1"),
    ],
)
def test_a_malformed_models_table_is_refused_when_it_is_read(table: str, reason: str) -> None:
    with pytest.raises(BadModelTable) as caught:
        models_of(parse(f"models: {table}"))
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("body", "contract"),
    [
        ("", (None, "blocking", "none")),
        ("binding: on-shell\ncommit_policy: deny", ("on-shell", "blocking", "deny")),
        ("binding: on-task-end\nexecution_mode: async", ("on-task-end", "async", "none")),
        ("commit_policy: reopen-task", (None, "blocking", "reopen-task")),
    ],
)
def test_a_hook_contract_defaults_to_blocking_and_none(
    body: str, contract: tuple[str | None, str, str]
) -> None:
    found = hook_contract_of(parse(body), "a/h@1")
    assert (found.binding, found.execution_mode, found.commit_policy) == contract
    assert found.is_policy == (contract[2] == "deny")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "binding: on-task-end\ncommit_policy: replace-context",
            "hook a/h@1 invalid config: commit_policy 'replace-context' is not valid for binding "
            "'on-task-end'; binding 'on-task-end' honors commit_policy 'reopen-task'",
        ),
        (
            "commit_policy: deny",
            "hook a/h@1 invalid config: commit_policy 'deny' requires an explicit binding: "
            "'on-shell' or 'on-tool-call'; a hook with no binding: is dispatched at every event, "
            "including decision points it was not written to decide",
        ),
        ("binding: on-session-end\ncommit_policy: deny", "'on-session-end'"),
        ("binding: on-tool-call\nexecution_mode: async\ncommit_policy: deny", "async"),
        ("binding: on-stage\nexecution_mode: async", "on-stage"),
        ("binding: on-lunch", "'on-lunch'"),
        ("execution_mode: [async]", "execution_mode"),
    ],
)
def test_a_contract_that_no_hook_may_have_is_refused(body: str, reason: str) -> None:
    with pytest.raises(MurmurError) as caught:
        hook_contract_of(parse(body), "a/h@1")
    assert caught.value.code == "E-IO-003" and reason in caught.value.message
