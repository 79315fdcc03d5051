"""The JSON Schema says of a manifest's shape what the models say."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import fastjsonschema
import pytest
import yaml

from murmur.core.diagnostics import MurmurError
from murmur.manifest.artifact import parse_artifact_manifest
from murmur.manifest.explained import EXPLAINED, OLD_SPELLINGS
from murmur.manifest.models.base import Block
from murmur.manifest.models.capsule import CapsuleBlock
from murmur.manifest.models.packaged import PackagedBlock
from murmur.manifest.parse import load_capsule
from murmur.manifest.schema import artifact_schema, capsule_schema, default_of, explanations

ROOT = Path("pyproject.toml").resolve().parent


def inner(annotation: Any) -> Iterator[type[Block]]:
    if isinstance(annotation, type) and issubclass(annotation, Block):
        yield annotation
    for part in get_args(annotation):
        yield from inner(part)


def blocks(block: type[Block], seen: dict[type[Block], None]) -> dict[type[Block], None]:
    if block not in seen:
        seen[block] = None
        for field in block.model_fields.values():
            for below in inner(field.annotation):
                blocks(below, seen)
    return seen


BLOCKS = list(blocks(PackagedBlock, blocks(CapsuleBlock, {})))


@pytest.fixture(scope="module")
def valid() -> Any:
    return fastjsonschema.compile(capsule_schema(), use_default=False)


def accepted(valid: Any, document: object) -> bool:
    try:
        valid(document)
    except fastjsonschema.JsonSchemaException:
        return False
    return True


def loaded(document: object) -> bool:
    try:
        return not load_capsule(json.dumps(document), "murmur.yaml").warnings
    except MurmurError:
        return False


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.__name__)
def test_every_key_of_every_block_has_its_sentence(block: type[Block]) -> None:
    sentences = explanations(block)
    assert list(sentences) == list(block.known_keys())
    assert all(sentence.endswith(".") and "\n" not in sentence for sentence in sentences.values())


def test_no_sentence_is_left_without_its_block() -> None:
    named = {block.__name__ for block in BLOCKS}
    assert {name.partition("@")[0] for name in (*EXPLAINED, *OLD_SPELLINGS)} <= named


WHOLE: dict[str, Any] = {
    "name": "whole",
    "version": "1.0.0",
    "artifacts": [
        {
            "name": "a/driver",
            "version": "1",
            "runtime": "driver",
            "gateway": {"endpoint": "https://x.example", "api_key": "${KEY}"},
            "config": {"any": ["thing"]},
        },
        {"name": "a/hook", "version": "1", "runtime": "hook", "on_overflow": "block"},
        {"name": "a/skill", "runtime": "skill", "source": "./s"},
    ],
    "capabilities": {
        "network": {"allow": ["example.com"], "unix_sockets": False},
        "filesystem": {"scope": ".", "read_only": ["x"]},
        "shell": {
            "allow": ["python3"],
            "interpreter_runtime": [
                {"binary": "python3", "dirs": [{"path": "/usr/lib", "list_dir": True}]}
            ],
        },
        "containment": "scoped",
        "limits": {"deadline_seconds": 5},
        "resources": {"cgroup_cpu_percent": 150},
        "install": {"skill": ["*"], "from": ["stores"]},
    },
    "inference": {"model": "m", "driver": {"artifact": "a/driver"}, "compaction": {}},
    "lifecycle": {"task_acceptance": "queue", "after_task": "sleep", "queue_depth": 2},
    "network": {"internal_port": 8080, "authentication": {"scheme": "bearer"}},
    "context": {"max_tokens": 1000, "retain": {"max_age": "30d"}, "images": {"max_bytes": "2Mi"}},
    "trace": {"capture": "content", "retain": {"max_sessions": 3}},
    "exports": {"files": {"root": "out", "mode": "read-only", "max_bytes": 10}},
}


def test_a_manifest_of_many_blocks_is_valid_and_loads(valid: Any) -> None:
    assert accepted(valid, WHOLE)
    assert loaded(WHOLE)


def changed(path: str, value: object) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(WHOLE))
    *above, last = path.split(".")
    holder: Any = document
    for step in above:
        holder = holder[int(step)] if step.isdigit() else holder.setdefault(step, {})
    holder[last] = value
    return document


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("name", 3),
        ("name", " "),
        ("nmae", "x"),
        ("artifacts.0.runtime", "wasm"),
        ("artifacts.0.gateway.keyless", "yes"),
        ("artifacts.0.gateway.extra", 1),
        ("capabilities.containment", "tight"),
        ("capabilities.network.allow", "example.com"),
        ("capabilities.limits.memory_bytes", 0),
        ("capabilities.limits.memory_bytes", 1.5),
        ("capabilities.install.from", ["web"]),
        ("capabilities.shell", None),
        ("lifecycle.queue_depth", 0),
        ("lifecycle.after_task", "stop"),
        ("network.internal_port", 70000),
        ("context.seed_budget", 2),
        ("context.retain.max_age", "30w"),
        ("context.images.max_bytes", "2MB"),
        ("exports.files.mode", "read-write"),
        ("inference.compaction.threshold", 0),
    ],
)
def test_a_fault_of_shape_is_one_for_the_schema_and_for_mur(
    valid: Any, path: str, value: object
) -> None:
    document = changed(path, value)
    assert not accepted(valid, document)
    assert not loaded(document)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("description", None),
        ("trace.capture", None),
        ("capabilities.network", None),
        ("artifacts.0.config", None),
        ("context.retain.max_age", 5),
        ("context.seed_budget", 0.5),
        ("inference.retry", {"max_retries": 0}),
    ],
)
def test_what_is_right_is_right_for_both(valid: Any, path: str, value: object) -> None:
    document = changed(path, value)
    assert accepted(valid, document)
    assert loaded(document)


def test_old_spellings_are_accepted_and_marked(valid: Any) -> None:
    assert accepted(valid, changed("trace", {"include_tool_output": True}))
    trace = capsule_schema()["definitions"]["TraceBlock"]["properties"]
    assert trace["include_tool_output"]["deprecated"] is True


def test_a_default_is_what_a_manifest_without_the_key_means() -> None:
    capsule = load_capsule("{name: a, version: '1', inference: {model: m}}", "murmur.yaml").capsule
    properties = capsule_schema()["definitions"]["LifecycleBlock"]["properties"]
    assert properties["task_acceptance"]["default"] == capsule.lifecycle.task_acceptance
    assert properties["shell_grace_secs"]["default"] == capsule.lifecycle.shell_grace_secs
    limits = capsule_schema()["definitions"]["LimitsBlock"]["properties"]
    assert limits["memory_bytes"]["default"] == 512 << 20
    assert default_of(CapsuleBlock, "inference") is None


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("murmur*.yaml")), ids=str)
def test_the_examples_are_valid(valid: Any, path: Path) -> None:
    assert accepted(valid, yaml.safe_load(path.read_text()))


def test_an_artifacts_manifest_has_a_schema_of_its_own() -> None:
    check = fastjsonschema.compile(artifact_schema(), use_default=False)
    manifest = {"name": "t", "version": "1", "runtime": "tool", "requires_files": ["capsule.wasm"]}
    assert accepted(check, manifest)
    assert parse_artifact_manifest(json.dumps(manifest)).name == "t"
    assert not accepted(check, {**manifest, "requires_files": "capsule.wasm"})
    assert not accepted(check, {"version": "1"})
