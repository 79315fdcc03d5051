"""Scopes, read-only paths and store names. spec/diagnostics.md 4.2."""

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.manifest.config import LONGEST, render_config
from murmur.manifest.segments import (
    check_context_name,
    check_read_only,
    check_scope,
    check_store,
)


@pytest.mark.parametrize("scope", [".", "./workdir", "cache", "a/../b", "a/b/../..", "a//b"])
def test_a_scope_inside_the_work_folder_is_accepted(scope: str) -> None:
    check_scope(scope, "capabilities.filesystem.scope")
    check_read_only([scope])


@pytest.mark.parametrize(
    ("scope", "reason"),
    [("/etc", "absolute"), ("..", "'..'"), ("a/../../b", "'..'"), ("./..", "'..'")],
)
def test_a_scope_that_leaves_it_is_refused(scope: str, reason: str) -> None:
    with pytest.raises(MurmurError) as refusal:
        check_scope(scope, "artifacts[0].capabilities.filesystem.scope")
    assert refusal.value.code == "E-CAP-002"
    for fact in ("artifacts[0]", repr(scope), reason):
        assert fact in refusal.value.message
    with pytest.raises(MurmurError) as refusal:
        check_read_only(["fine", scope])
    assert refusal.value.code == "E-CAP-012"
    assert repr(scope) in refusal.value.message and reason in refusal.value.message


@pytest.mark.parametrize(
    ("name", "rule"),
    [("", "empty"), ("a/b", "'/'"), ("/a", "'/'"), (".", "'.'"), ("..", "'.'"), (".a", "'.'")],
)
def test_a_store_name_is_one_path_segment(name: str, rule: str) -> None:
    check_store("shey")
    check_context_name("shey", "context.record_store")
    with pytest.raises(MurmurError) as refusal:
        check_store(name)
    assert refusal.value.code == "E-CAP-009" and rule in refusal.value.message
    with pytest.raises(MurmurError) as refusal:
        check_context_name(name, "--context")
    assert refusal.value.code == "E-CAP-011"
    assert rule in refusal.value.message and "--context" in refusal.value.message


def test_a_config_block_is_compact_json_in_declaration_order() -> None:
    block = {"types": {"z": 1, "a": [True, None]}, "read_recent": {"default": 20, "max": 1.5}}
    assert render_config("local/x", block) == (
        '{"types":{"z":1,"a":[true,null]},"read_recent":{"default":20,"max":1.5}}'
    )
    assert render_config("local/x", {"é": "ü"}) == '{"é":"ü"}'


@pytest.mark.parametrize(
    ("block", "facts"),
    [
        (None, ["no value, not a mapping"]),
        ([1], ["a list, not a mapping"]),
        ("x", ["a string, not a mapping"]),
        ({"a": {1: "x"}}, ["the key 1 (a number)"]),
        ({"a": [{None: 1}]}, ["the key null (no value)"]),
        ({"a": float("nan")}, ["no JSON"]),
        ({"a": "x" * LONGEST}, [str(LONGEST + 8), str(LONGEST)]),
    ],
)
def test_a_config_block_that_cannot_travel_is_refused(block: object, facts: list[str]) -> None:
    with pytest.raises(MurmurError) as refusal:
        render_config("local/x", block)
    assert refusal.value.code == "E-CAP-010"
    for fact in ["local/x", *facts]:
        assert fact in refusal.value.message


def test_a_config_block_of_exactly_the_limit_is_delivered() -> None:
    assert len(render_config("local/x", {"a": "x" * (LONGEST - 8)})) == LONGEST
