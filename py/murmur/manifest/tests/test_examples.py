"""Every example of the two references means what they say, or is refused as they say.

The examples stand in `examples/`, without their comments; a fragment of a manifest is completed by
a name and a version.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.manifest.artifact import models_of, parse_artifact_manifest
from murmur.manifest.capsule import Capsule
from murmur.manifest.config import render_config
from murmur.manifest.grants import (
    InterpreterDirectory,
    InterpreterRuntime,
    ReadGrant,
    StagedRuntime,
    StateGrant,
)
from murmur.manifest.model_table import ModelLimits
from murmur.manifest.network import narrow, parse_rules
from murmur.manifest.parse import load_capsule
from murmur.manifest.roster import load_roster
from murmur.manifest.segments import check_handle_lifetime
from murmur.manifest.session import ContextRetain, Lifecycle, TraceRetain
from murmur.read_only.declarations import read_declarations

HERE = Path(__file__).parent / "examples"
HEAD = "name: demo\nversion: '1'\n"


def text_of(name: str) -> str:
    text = (HERE / f"{name}.yaml").read_text()
    return text if text.startswith("name:") else HEAD + text


def capsule_of(name: str, old_spellings: int = 0) -> Capsule:
    loaded = load_capsule(text_of(name), "murmur.yaml", "9.9.9")
    assert [warning.code for warning in loaded.warnings] == ["W-MAN-001"] * old_spellings
    return loaded.capsule


def _artifact() -> None:
    manifest = parse_artifact_manifest(text_of("artifact"))
    assert (manifest.name, manifest.version) == ("my-tool", "0.1.0")
    assert (manifest.runtime, manifest.execution) == ("tool", "static")
    assert manifest.requires_files == ("config.json",)


def _shape(name: str) -> Capsule:
    capsule = capsule_of(name, 5)
    assert [entry.name for entry in capsule.artifacts] == ["local/some-tool", "murmur/hook-debug"]
    granted = capsule.capabilities
    assert granted.network_allow == ("https://api.github.com",) and not granted.unix_sockets
    assert granted.peer_fetch is not None and granted.peer_fetch.allow == ("localhost:41234",)
    assert granted.filesystem_scope == "./workdir" and granted.env_allow == ("MY_APP_REGION",)
    assert granted.shell is not None and granted.shell.allow == ("bash", "python3")
    assert (granted.shell.strip_env, granted.shell.baseline_env) == (("AWS_*",), ("PATH",))
    assert capsule.network.internal_port == 14159
    context = capsule.context
    assert (context.max_tokens, context.record, context.record_store) == (200000, "on", "shey")
    assert context.retain == ContextRetain(2000, 90 * 86400)
    assert (
        capsule.trace.retain == TraceRetain(50, 14 * 86400) and capsule.trace.capture == "content"
    )
    observed = capsule.observability
    assert observed.otel_endpoint == "http://localhost:4318" and observed.eval is not None
    assert observed.eval.dataset_id == "my-dataset"
    assert [(s.type, s.name, s.max, s.expected) for s in observed.eval.scorers] == [
        ("exit_ok", "success_check", None, None),
        ("max_turns", "turn_limit", 5, None),
        ("max_tokens", "token_budget", 100000, None),
        ("tool_sequence", "tool_order", None, ("bash", "python")),
    ]
    inference = capsule.inference
    assert inference is not None and inference.model == "claude-opus-4-5"
    assert inference.driver is not None and inference.driver.config == {"some_flag": True}
    assert inference.driver.artifact == "murmur/driver-anthropic"
    compaction = inference.compaction
    assert (compaction.threshold, compaction.model) == (0.85, "claude-haiku-4-5")
    assert (
        compaction.system_prompt == "Keep what is unfinished.\n" and not compaction.dump_summaries
    )
    assert inference.system_prompt == "Answer briefly."
    assert capsule.lifecycle == Lifecycle("queue", "sleep", 2, 60, "threaded")
    files, peers = capsule.exports.files, capsule.exports.peer_files
    assert files is not None and (files.root, files.max_bytes) == ("out/", 10485760)
    assert peers is not None and (peers.root, peers.max_ttl) == ("out/handoff/", 900)
    check_handle_lifetime(capsule, "sleep")
    return capsule


def _shape_interpreter() -> None:
    shell = _shape("shape-interpreter").capabilities.shell
    assert shell is not None and shell.interpreter_runtime == (
        InterpreterRuntime(
            "python3",
            (
                InterpreterDirectory("/usr/lib/python3.11", True),
                InterpreterDirectory("/usr/lib/python3.11/lib-dynload", False),
            ),
        ),
    )


def _shape_staged() -> None:
    shell = _shape("shape-staged").capabilities.shell
    assert shell is not None and len(shell.staged_runtime) == 1
    assert isinstance(shell.staged_runtime[0], StagedRuntime)
    assert shell.staged_runtime[0].source_path.startswith("/opt/")


def _version_pin() -> None:
    capsule = capsule_of("version-pin")
    assert capsule.mur_version == capsule.version_pin == "1.0.0"


def _hook_grants() -> None:
    silent, telemetry, gate, recall, notes = capsule_of("hook-grants", 5).artifacts
    assert silent.capabilities is None and silent.runtime == "hook"
    granted = telemetry.capabilities
    assert granted is not None and granted.network_allow == ("https://telemetry.example.com",)
    assert granted.filesystem_scope == "hook-state"
    assert gate.capabilities is not None and gate.capabilities.task_io == ReadGrant(True)
    assert recall.capabilities is not None and recall.capabilities.conversation == ReadGrant(True)
    assert notes.capabilities is not None and notes.capabilities.state == StateGrant(None)


def _narrowing() -> None:
    capsule = capsule_of("narrowing", 3)
    broad, scoped, corpus = capsule.artifacts
    ceiling = parse_rules(capsule.capabilities.network_allow)
    assert broad.capabilities is None and len(ceiling) == 2
    assert scoped.capabilities is not None and scoped.capabilities.filesystem_scope == "cache"
    kept, dropped = narrow(parse_rules(scoped.capabilities.network_allow), ceiling)
    assert kept == ceiling[:1] and dropped == ()
    assert corpus.capabilities is not None and corpus.capabilities.state == StateGrant("shey")


def _config_block() -> None:
    (entry,) = capsule_of("config-block", 1).artifacts
    assert entry.config is not None
    assert render_config(entry.name, entry.config.value) == (
        '{"types":{"utterance":{"schema":{"type":"object","required":["text"]}}},'
        '"read_recent":{"default":20,"max":100}}'
    )


def _local_sources() -> None:
    file, folder, tool = capsule_of("local-sources", 3).artifacts
    assert (file.name, file.source) == ("local/house-style", "./skills/house-style/skill.md")
    assert {entry.version for entry in (file, folder, tool)} == {"local"}
    assert file.local_source and folder.local_source and tool.local_source
    assert file.prompt_payload and not tool.prompt_payload


def _plan() -> None:
    assert capsule_of("plan").capabilities.plan_submit


def _driver_config() -> None:
    inference = capsule_of("driver-config", 2).inference
    assert inference is not None and inference.driver is not None
    assert inference.driver.config == {"max_retries": 3, "request_timeout_seconds": 60}


def _entry_configs() -> None:
    (driver,) = capsule_of("driver-entry-config", 1).artifacts
    assert driver.config is not None and driver.runtime == "driver"
    text = render_config(driver.name, driver.config.value)
    assert text == '{"prompt_cache":"enabled","prompt_cache_ttl":"1h"}'


def _tool_entry_config() -> None:
    (tool,) = capsule_of("tool-entry-config", 1).artifacts
    assert tool.config is not None and tool.capabilities is not None
    assert tool.config.value == {"read_recent": {"default": 20, "max": 100}}


def _http_old_spelling() -> None:
    text = text_of("http-old-spelling")
    text += "artifacts: [{name: murmur/driver-anthropic, version: '1', runtime: driver}]\n"
    capsule = load_capsule(text, "murmur.yaml").capsule
    assert capsule.inference is not None and capsule.inference.max_tokens == 4096
    assert capsule.inference.max_session_tokens == 2000000
    gateway = capsule.artifacts[0].gateway
    assert gateway is not None and gateway.endpoint == "https://api.anthropic.com"
    assert gateway.api_key == "${ANTHROPIC_API_KEY}" and not gateway.keyless
    assert capsule_of("http-old-spelling", 3).artifacts == ()


def _process_old_spelling() -> None:
    inference = capsule_of("process-old-spelling", 1).inference
    assert inference is not None and inference.driver is not None and inference.driver_implied
    assert inference.driver.artifact == "murmur/driver-claude-code"
    assert (inference.command, inference.max_turns) == ("claude", 10)


def _prompts() -> None:
    inline = capsule_of("prompt-inline").inference
    assert inline is not None and inline.system_prompt == "Review the change.\nAnswer in JSON."
    file = capsule_of("prompt-file").inference
    assert file is not None and file.system_prompt_file == "conventions.md"


def _hooks() -> None:
    assert capsule_of("hook", 1).observability.otel_endpoint == "http://localhost:4318"
    (entry,) = capsule_of("hook-overflow", 1).artifacts
    assert (entry.name, entry.on_overflow) == ("murmur/hook-grafana", "block")


def _read_only() -> None:
    assert capsule_of("read-only").capabilities.read_only == ("tests", "bench/fixtures")


def _schemas() -> None:
    annotated = read_declarations(parse_artifact_manifest(text_of("schema-annotations")).parameters)
    edits, note = annotated.root.properties["edits"], annotated.root.properties["note"]
    assert edits.items is not None and edits.items.properties["path"].destination and note.opaque
    derived = read_declarations(parse_artifact_manifest(text_of("schema-derived")).parameters)
    assert derived.derived is not None
    assert [entry.text for entry in derived.derived] == ["{repo_path}/.murmur"]


def _lifecycles() -> None:
    assert capsule_of("lifecycle-defaults").lifecycle == Lifecycle()
    assert capsule_of("lifecycle-input").lifecycle.input_timeout_secs == 300
    assert capsule_of("lifecycle-background").lifecycle == Lifecycle(
        "queue", "sleep", shell_grace_secs=2
    )
    assert capsule_of("lifecycle-delegation").lifecycle == Lifecycle(
        "queue", "sleep", 4, delegation_deadline_secs=120
    )
    assert capsule_of("lifecycle-threaded").lifecycle == Lifecycle(
        "queue", "sleep", 2, conversation="threaded"
    )


def _formation() -> None:
    roster = load_roster((HERE / "roster.yaml").read_text())
    assert roster.entry.name == "lead" and roster.callees("lead") == ("worker",)
    lead, worker = capsule_of("member-lead"), capsule_of("member-worker")
    assert [f"local/{each.name}" for each in (lead, worker)] == [m.capsule for m in roster.members]
    for each in (lead, worker):
        assert each.network.authentication is not None and each.driver_entry is not None
        assert each.driver_entry.gateway is not None
    assert lead.exports.peer_tasks is None and worker.exports.peer_tasks is not None
    assert worker.exports.peer_tasks.accept


def _model_table() -> None:
    manifest = parse_artifact_manifest(text_of("model-table"))
    assert models_of(manifest) == {"some-model-id": ModelLimits(8192, 200000, 180000)}


MEANINGS: dict[str, Callable[[], object]] = {
    "artifact": _artifact,
    "shape-interpreter": _shape_interpreter,
    "shape-staged": _shape_staged,
    "version-pin": _version_pin,
    "hook-grants": _hook_grants,
    "narrowing": _narrowing,
    "config-block": _config_block,
    "local-sources": _local_sources,
    "plan": _plan,
    "driver-config": _driver_config,
    "driver-entry-config": _entry_configs,
    "tool-entry-config": _tool_entry_config,
    "http-old-spelling": _http_old_spelling,
    "process-old-spelling": _process_old_spelling,
    "prompt-inline": _prompts,
    "prompt-file": _prompts,
    "hook": _hooks,
    "hook-overflow": _hooks,
    "read-only": _read_only,
    "schema-annotations": _schemas,
    "schema-derived": _schemas,
    "lifecycle-defaults": _lifecycles,
    "lifecycle-input": _lifecycles,
    "lifecycle-background": _lifecycles,
    "lifecycle-delegation": _lifecycles,
    "lifecycle-threaded": _lifecycles,
    "roster": _formation,
    "member-lead": _formation,
    "member-worker": _formation,
    "model-table": _model_table,
}

# The reference's own long example breaks two rules that its comments state.
REFUSED: dict[str, tuple[str, str]] = {
    "shape-as-printed": (
        "capabilities.shell.interpreter_runtime[0].binary",
        "'python3' is not in shell.allow",
    ),
    "shape-both-runtimes": (
        "capabilities.shell.staged_runtime[0].binary",
        "'python3' also has an interpreter_runtime grant",
    ),
}


@pytest.mark.parametrize("name", MEANINGS)
def test_an_example_means_what_the_reference_says(name: str) -> None:
    MEANINGS[name]()


@pytest.mark.parametrize("name", REFUSED)
def test_an_example_that_breaks_a_rule_is_refused_with_the_documented_code(name: str) -> None:
    field, reason = REFUSED[name]
    with pytest.raises(MurmurError) as caught:
        load_capsule(text_of(name), "murmur.yaml")
    assert caught.value.code == "E-MAN-003"
    assert caught.value.message.startswith("murmur.yaml:")
    assert field in caught.value.message and reason in caught.value.message


def test_no_example_is_left_out() -> None:
    assert {path.stem for path in HERE.glob("*.yaml")} == {*MEANINGS, *REFUSED}
