"""One row for each field of an artifact's own manifest. spec/artifacts.md 7."""

import json
from typing import Any

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.manifest.artifact import ArtifactManifest, parse_artifact_manifest
from murmur.manifest.models.packaged import PackagedBlock
from murmur.manifest.tests.rows import ABSENT, FILLED, MISSING, NAMES, TEXT, Code, Means, Pair

SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}}
# What is read only under a condition is taken as it stands, and checked by its reader.
AS_IT_STANDS: Pair = (({"a": 1}, "x", 7), ())

ROWS: dict[str, Pair] = {
    "name": (FILLED[0], (MISSING, *FILLED[1])),
    "version": (("1", "0.1.0", "latest"), (MISSING, "", 1.0, 2)),
    "runtime": (("tool", "hook", "capsule", "anything", None), (1, [], True)),
    "implementation": (("wasm", "native", Means(None, "wasm")), ("Native", "jit", "", 1)),
    "execution": (
        ("wasm", "native", "static", Means("STATIC", "static"), Means("Wasm", "wasm")),
        ("jit", "", 1, []),
    ),
    "requires_files": (
        (Means(["a", "b/c"], ["a", "b/c"]), Means([], []), Means(None, [])),
        ("a", [1], {"a": 1}),
    ),
    "description": ((*TEXT[0], Means(" trimmed ", "trimmed"), Means(None, "")), TEXT[1]),
    "tags": NAMES,
    "input_schema": (
        (SCHEMA, Means(json.dumps(SCHEMA), SCHEMA), Means("no json", None), Means(None, None)),
        (),
    ),
    "input": ((Means(SCHEMA, SCHEMA),), ()),
    "output_schema": ((SCHEMA, Means(json.dumps(SCHEMA), SCHEMA)), ()),
    "binding": AS_IT_STANDS,
    "execution_mode": AS_IT_STANDS,
    "commit_policy": AS_IT_STANDS,
    "upstream_auth": AS_IT_STANDS,
    "models": AS_IT_STANDS,
    "programs": AS_IT_STANDS,
    "harness_needs": AS_IT_STANDS,
}
# Where a field's value is found, when not under its own name.
RESULTS = {"input": ("input_schema", None), "binding": ("contract", 0)}
RESULTS |= {"execution_mode": ("contract", 1), "commit_policy": ("contract", 2)}


def _read(key: str, value: object) -> ArtifactManifest:
    whole: dict[str, Any] = {"name": "thing", "version": "1"}
    if value is ABSENT:
        del whole[key]
    else:
        whole[key] = value
    return parse_artifact_manifest(json.dumps(whole))


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, (good, _) in ROWS.items() for value in good], ids=str
)
def test_a_field_takes_this_value(key: str, value: object) -> None:
    given, expected = (value.value, value.result) if isinstance(value, Means) else (value, value)
    name, index = RESULTS.get(key, (key, None))
    found = getattr(_read(key, given), name)
    found = found if index is None else found[index]
    assert (list(found) if isinstance(found, tuple) else found) == expected


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, (_, bad) in ROWS.items() for value in bad], ids=str
)
def test_a_field_refuses_this_value(key: str, value: object) -> None:
    given, code = (value.value, value.code) if isinstance(value, Code) else (value, "E-MAN-003")
    with pytest.raises(MurmurError) as caught:
        _read(key, given)
    assert caught.value.code == code and key in caught.value.message
    file, line, column = caught.value.message.split(":")[:3]
    assert file == "murmur.yaml" and int(line) > 0 and int(column) > 0


def test_every_field_has_a_row() -> None:
    assert list(ROWS) == list(PackagedBlock.known_keys())


def test_its_capabilities_are_never_read() -> None:
    body = {"name": "a", "version": "1", "capabilities": {"shell": {"allow": []}}, "zzz": 1}
    assert parse_artifact_manifest(json.dumps(body)).warnings == ()
