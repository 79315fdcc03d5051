"""Old spellings run, and each use is reported once. design/decisions.md 1."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.core.diagnostics import MurmurError
from murmur.manifest.capsule import Capsule
from murmur.manifest.lowering import SpelledTwice, WrongTransport, lower
from murmur.manifest.parse import load_capsule

HEAD = "name: demo\nversion: '0.1.0'\n"
DRIVER = "artifacts: [{name: a/d, version: '1', runtime: driver%s}]\n"
OLD = "inference: {model: m, driver: {artifact: a/d}, %s}\n"


def load(body: str) -> tuple[Capsule, list[str]]:
    loaded = load_capsule(HEAD + body, "murmur.yaml")
    assert all(w.code == "W-MAN-001" for w in loaded.warnings)
    return loaded.capsule, [w.message for w in loaded.warnings]


def refusal(body: str) -> MurmurError:
    with pytest.raises(MurmurError) as caught:
        load_capsule(HEAD + body, "murmur.yaml")
    return caught.value


def test_endpoint_and_api_key_become_the_drivers_gateway() -> None:
    capsule, warnings = load(
        DRIVER % "" + OLD % "endpoint: https://api.example.com, api_key: '${KEY}'"
    )
    gateway = capsule.artifacts[0].gateway
    assert gateway is not None
    assert (gateway.endpoint, gateway.api_key, gateway.keyless) == (
        "https://api.example.com",
        "${KEY}",
        False,
    )
    assert len(warnings) == 2
    assert "inference.endpoint" in warnings[0] and "artifacts[a/d].gateway.endpoint" in warnings[0]
    assert "inference.api_key" in warnings[1] and "artifacts[a/d].gateway.api_key" in warnings[1]
    assert "KEY" not in warnings[1]


def test_an_endpoint_without_api_key_is_keyless() -> None:
    capsule, _ = load(DRIVER % "" + OLD % "endpoint: http://localhost:11434")
    gateway = capsule.artifacts[0].gateway
    assert gateway is not None and gateway.keyless and gateway.api_key is None


def test_api_key_fills_a_gateway_that_has_an_endpoint_only() -> None:
    capsule, _ = load(DRIVER % ", gateway: {endpoint: 'https://x.example'}" + OLD % "api_key: k")
    gateway = capsule.artifacts[0].gateway
    assert gateway is not None and gateway.api_key == "k" and not gateway.keyless


@pytest.mark.parametrize(
    ("body", "old", "new"),
    [
        (
            DRIVER % ", gateway: {endpoint: 'https://x.example', keyless: true}"
            + OLD % "endpoint: https://x.example",
            "inference.endpoint",
            "artifacts[0].gateway.endpoint",
        ),
        (
            DRIVER % ", gateway: {endpoint: 'https://x.example', api_key: k}" + OLD % "api_key: k",
            "inference.api_key",
            "artifacts[0].gateway.api_key",
        ),
        (
            DRIVER % ", gateway: {endpoint: 'https://x.example', keyless: true}"
            + OLD % "api_key: k",
            "inference.api_key",
            "artifacts[0].gateway.keyless",
        ),
        (
            DRIVER % "" + OLD % "provider: {artifact: a/d}",
            "inference.provider.artifact",
            "inference.driver.artifact",
        ),
        (
            "trace: {capture: content, include_tool_output: true}",
            "trace.include_tool_output",
            "trace.capture",
        ),
    ],
)
def test_old_and_new_spelling_of_one_field_together_are_refused(
    body: str, old: str, new: str
) -> None:
    caught = refusal(body)
    assert caught.code == "E-MAN-003"
    assert f": {old}: " in caught.message and new in caught.message


def test_a_message_quotes_the_spelling_the_author_wrote() -> None:
    caught = refusal(DRIVER % "" + OLD % "endpoint: http://api.example.com")
    assert caught.message.startswith("murmur.yaml:4:48: inference.endpoint: ")
    caught = refusal(DRIVER % "" + OLD % "api_key: k")
    assert ": inference.endpoint: " in caught.message


@pytest.mark.parametrize("field", ["endpoint: https://x.example", "api_key: k"])
def test_the_old_fields_stay_refused_under_process(field: str) -> None:
    caught = refusal(f"inference: {{transport: process, {field}}}")
    assert caught.code == "E-MAN-003"
    assert field.split(":", maxsplit=1)[0] in caught.message and "process" in caught.message


def test_bare_names_mean_local_and_first_party_ones_murmur() -> None:
    capsule, warnings = load(
        "artifacts:\n"
        "- {name: murmur-driver-anthropic, version: '1', runtime: driver}\n"
        "- {name: tool-x, version: '1'}\n"
        "- {name: style, source: ./s, runtime: skill}\n"
        "inference:\n"
        "  model: m\n"
        "  driver: {artifact: murmur-driver-anthropic}\n"
        "  system_prompt_artifact: style\n"
        "capabilities: {spawn: {allow: [kid, acme/kid]}}\n"
    )
    assert [entry.name for entry in capsule.artifacts] == [
        "murmur/driver-anthropic",
        "local/tool-x",
        "local/style",
    ]
    assert capsule.driver_entry is capsule.artifacts[0]
    assert capsule.inference is not None
    assert capsule.inference.system_prompt_artifact == "local/style"
    assert capsule.capabilities.spawn_allow == ("local/kid", "acme/kid")
    assert len(warnings) == 6
    assert "artifacts[0].name: murmur-driver-anthropic" in warnings[0]
    assert "artifacts[0].name: murmur/driver-anthropic" in warnings[0]


@pytest.mark.parametrize(
    ("command", "driver"),
    [
        ("codex", "murmur/driver-codex"),
        ("/opt/bin/codex", "murmur/driver-codex"),
        ("claude", "murmur/driver-claude-code"),
        ("/opt/codex/mine", "murmur/driver-claude-code"),
    ],
)
def test_a_command_alone_picks_the_default_process_driver(command: str, driver: str) -> None:
    capsule, warnings = load(f"inference: {{transport: process, command: {command}}}\n")
    inference = capsule.inference
    assert inference is not None and inference.driver is not None
    assert inference.driver.artifact == driver
    assert inference.driver_implied and inference.command == command
    assert len(warnings) == 1


def test_a_command_beside_a_driver_is_no_old_spelling() -> None:
    capsule, warnings = load(
        "inference: {transport: process, command: codex, driver: {artifact: a/d}}\n"
    )
    assert capsule.inference is not None and not capsule.inference.driver_implied
    assert warnings == []


def test_provider_artifact_is_the_driver() -> None:
    capsule, warnings = load(DRIVER % "" + "inference: {model: m, provider: {artifact: a/d}}\n")
    assert capsule.driver_entry is capsule.artifacts[0]
    assert len(warnings) == 1 and "inference.provider.artifact" in warnings[0]


@pytest.mark.parametrize(("value", "capture"), [("true", "content"), ("false", "meta")])
def test_include_tool_output_is_a_capture_level(value: str, capture: str) -> None:
    capsule, warnings = load(f"trace: {{include_tool_output: {value}}}\n")
    assert capsule.trace.capture == capture
    assert len(warnings) == 1


def test_a_top_level_mur_version_is_no_old_spelling() -> None:
    assert load("mur_version: '1.0.0'\ndeploy: {mur_version: '2.0.0'}\n")[1] == []


_OLD = ["endpoint", "api_key", "provider", "command", "include_tool_output", "name"]
_NEW = ["inference", "trace", "artifacts", "capabilities", "spawn", "allow", "driver", "artifact"]
_NEW += ["gateway", "keyless", "transport", "alternates", "system_prompt_artifact", "capture"]
_KEYS = st.sampled_from(_OLD + _NEW)
_VALUES = st.sampled_from([None, True, 3, "", "process", "http", "codex", "a/d", "tool-x", "x y"])
_TREES: st.SearchStrategy[Any] = st.recursive(
    _VALUES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=5),
    max_leaves=20,
)


@given(st.dictionaries(_KEYS, _TREES, max_size=5))
def test_lowering_takes_any_shape_and_changes_nothing_it_was_given(tree: dict[str, Any]) -> None:
    before = copy.deepcopy(tree)
    try:
        lower(tree)
    except (SpelledTwice, WrongTransport):
        pass
    assert tree == before
