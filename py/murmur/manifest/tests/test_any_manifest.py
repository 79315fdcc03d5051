"""Whatever a manifest holds, it is loaded or refused with a manifest's code and its file."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from murmur.core.diagnostics import MurmurError, render
from murmur.manifest.artifact import (
    hook_contract_of,
    models_of,
    parse_artifact_manifest,
    upstream_auth_of,
)
from murmur.manifest.model_table import BadModelTable
from murmur.manifest.models.base import Block
from murmur.manifest.models.capsule import CapsuleBlock
from murmur.manifest.models.packaged import PackagedBlock
from murmur.manifest.parse import load_capsule


def _keys(block: type[Block], seen: set[type[Block]]) -> set[str]:
    """Every key that `block` or a block below it knows."""
    if block in seen:
        return set()
    seen.add(block)
    keys = set(block.known_keys())
    for other in Block.__subclasses__():
        keys |= _keys(other, seen)
    return keys


_KNOWN = sorted(_keys(CapsuleBlock, set()) | {"provider", "include_tool_output", "registry"})
_WORDS = ["", " ", "1", "a/b", "tool-x", "10Mi", "1h", "process", "http", "hook", "driver", "skill"]
_WORDS += ["queue", "sleep", "${K}", "/a", "../a", "sh", "read-only", "bearer", "GetTask"]
_WORDS += ["https://a.example", "http://127.0.0.1:1/v1", "\x1b[2J"]
_SCALARS = st.sampled_from([None, True, False, 0, 1, -1, 1.5, 1 << 70, *_WORDS])
_KEYS = st.sampled_from([*_KNOWN, "\x1b[2J"]) | st.text(max_size=5)
_TREES: st.SearchStrategy[Any] = st.recursive(
    _SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=6),
    max_leaves=30,
)
_TOP = st.dictionaries(
    st.sampled_from([*CapsuleBlock.known_keys(), "config", "registry", "zzz"]),
    _TREES,
    max_size=5,
)
_CODES = ("E-MAN-001", "E-MAN-002", "E-MAN-003", "E-CAP-018")


@settings(max_examples=200)
@given(_TOP)
def test_any_capsule_manifest_is_loaded_or_refused(tree: dict[str, Any]) -> None:
    text = json.dumps({"name": "a", "version": "1", **tree})
    try:
        loaded = load_capsule(text, "/x/murmur.yaml")
    except MurmurError as refusal:
        assert refusal.code in _CODES
        assert all(line.isprintable() for line in render(refusal.diagnostic).split("\n"))
        assert refusal.code == "E-CAP-018" or refusal.message.startswith("murmur.yaml")
    else:
        loaded.capsule.as_dict()
        for warning in loaded.warnings:
            assert warning.code in ("W-MAN-001", "W-SEC-019")
            assert render(warning).isprintable()


@settings(max_examples=150)
@given(st.dictionaries(st.sampled_from(sorted(PackagedBlock.known_keys())), _TREES, max_size=6))
def test_any_artifact_manifest_is_read_or_refused(tree: dict[str, Any]) -> None:
    text = json.dumps({"name": "a", "version": "1", **tree})
    try:
        manifest = parse_artifact_manifest(text)
    except MurmurError as refusal:
        assert refusal.code in _CODES and refusal.message.startswith("murmur.yaml")
        assert all(line.isprintable() for line in render(refusal.diagnostic).split("\n"))
        return
    assert manifest.parameters is not None
    for read, refused in (
        (lambda: upstream_auth_of(manifest, "a/b@1"), "E-RUN-025"),
        (lambda: hook_contract_of(manifest, "a/b@1"), "E-IO-003"),
    ):
        try:
            read()
        except MurmurError as refusal:
            assert refusal.code == refused
    try:
        models_of(manifest)
    except BadModelTable as problem:
        assert str(problem)
