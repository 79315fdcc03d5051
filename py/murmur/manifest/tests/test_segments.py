"""Scopes, read-only paths and store names. spec/diagnostics.md 4.2."""

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.manifest.capsule import Capsule
from murmur.manifest.config import LONGEST, render_config
from murmur.manifest.parse import load_capsule
from murmur.manifest.segments import (
    check_context_name,
    check_handle_lifetime,
    check_read_only,
    check_record_store,
    check_scope,
    check_staged,
    check_store,
)
from murmur.manifest.session import AfterTask


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


def _capsule(body: str) -> Capsule:
    return load_capsule("name: a\nversion: '1'\n" + body, "murmur.yaml").capsule


@pytest.mark.parametrize(
    ("ttl", "after_task", "declared"),
    [
        ("", "exit", None),
        (", max_ttl: 2h", "exit", None),
        (", max_ttl: 15m", "sleep", None),
        (", max_ttl: 900", "sleep", None),
        (", max_ttl: 16m", "sleep", "960 seconds"),
        (", max_ttl: 901", "sleep", "901 seconds"),
        ("", "sleep", "none is declared"),
    ],
)
def test_a_capsule_that_sleeps_hands_out_short_lived_handles(
    ttl: str, after_task: AfterTask, declared: str | None
) -> None:
    capsule = _capsule(f"exports: {{peer_files: {{root: out{ttl}}}}}")
    if declared is None:
        check_handle_lifetime(capsule, after_task)
        return
    with pytest.raises(MurmurError) as refusal:
        check_handle_lifetime(capsule, after_task)
    assert refusal.value.code == "E-CAP-008"
    assert "900 seconds" in refusal.value.message and declared in refusal.value.message


def test_a_record_store_is_judged_only_where_a_record_is_kept() -> None:
    check_record_store(_capsule("context: {record: off, record_store: a/b}"))
    check_record_store(_capsule(""))
    with pytest.raises(MurmurError) as refusal:
        check_record_store(_capsule("context: {record_store: a/b}"))
    assert refusal.value.code == "E-CAP-011" and "context.record_store" in refusal.value.message


def test_lifetimes_are_judged_before_paths() -> None:
    body = "exports: {peer_files: {root: out}}\ncapabilities: {filesystem: {read_only: [/x]}}"
    with pytest.raises(MurmurError) as refusal:
        check_staged(_capsule(body), "sleep")
    assert refusal.value.code == "E-CAP-008"
    with pytest.raises(MurmurError) as refusal:
        check_staged(_capsule(body), "exit")
    assert refusal.value.code == "E-CAP-012"
