"""A driver's `harness_needs:` block. spec/artifacts.md 13.7."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.manifest.grants import HarnessPath
from murmur.manifest.harness_needs import BadHarnessNeeds, parse_harness_needs


def test_paths_and_hosts_are_taken_over_in_their_order() -> None:
    found = parse_harness_needs(
        {
            "paths": [{"path": "~/.x", "access": "read-write"}, {"path": "/etc/x"}],
            "hosts": ["https://b.example", "a.example:8443"],
        }
    )
    assert found is not None
    assert found.paths == (HarnessPath("~/.x", "read-write"), HarnessPath("/etc/x", "read"))
    assert [rule.text for rule in found.hosts] == ["https://b.example", "a.example:8443"]


def test_no_block_says_nothing_and_an_empty_one_says_that_nothing_is_needed() -> None:
    assert parse_harness_needs(None, "tool") is None
    blocks: list[object] = [{}, {"paths": None}, {"paths": [], "hosts": []}]
    for empty in blocks:
        found = parse_harness_needs(empty)
        assert found is not None and found.paths == () and found.hosts == ()


def _path(**keys: object) -> dict[str, Any]:
    return {"paths": [{"path": "/x"}, keys]}


@pytest.mark.parametrize(
    ("block", "field", "reason"),
    [
        ([], "", "a list, not a mapping"),
        ("~/.x", "", "a string, not a mapping"),
        ({"path": []}, ".path", "none of paths, hosts"),
        ({7: []}, ".7", "none of paths, hosts"),
        ({"paths": {}}, ".paths", "a mapping, not a list"),
        ({"paths": ["~/.x"]}, ".paths[0]", "a string, not a mapping"),
        (_path(), ".paths[1].path", "no value, not a text"),
        (_path(path=""), ".paths[1].path", "blank"),
        (_path(path=7), ".paths[1].path", "a number"),
        (_path(path="x/y"), ".paths[1].path", "'x/y' begins with neither / nor ~/"),
        (_path(path="~root/x"), ".paths[1].path", "neither / nor ~/"),
        (_path(path="$HOME/x"), ".paths[1].path", "neither / nor ~/"),
        (_path(path="/a/../b"), ".paths[1].path", "'..'"),
        (_path(path="/a\0b"), ".paths[1].path", "zero byte"),
        (_path(path="/x"), ".paths[1].path", "'/x' is given twice"),
        (_path(path="/y", access="write"), ".paths[1].access", "'write' is neither read nor"),
        (_path(path="/y", access=True), ".paths[1].access", "a boolean"),
        (_path(path="/y", acess="read"), ".paths[1].acess", "none of path, access"),
        ({"hosts": "a.example"}, ".hosts", "a string, not a list"),
        ({"hosts": [{}]}, ".hosts[0]", "a mapping, not a text"),
        ({"hosts": ["a.example", "*.a.example"]}, ".hosts[1]", "wildcard"),
        ({"hosts": ["ftp://a.example"]}, ".hosts[0]", "'ftp://a.example'"),
    ],
)
def test_a_malformed_block_names_field_and_value(block: object, field: str, reason: str) -> None:
    with pytest.raises(BadHarnessNeeds) as refusal:
        parse_harness_needs(block)
    assert refusal.value.field == f"harness_needs{field}"
    assert reason in refusal.value.reason


@pytest.mark.parametrize("role", ["tool", "hook", "skill", None])
def test_only_a_driver_has_a_harness(role: str | None) -> None:
    with pytest.raises(BadHarnessNeeds, match=role or "of no role"):
        parse_harness_needs({}, role)


_TREES: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from(
        [None, True, 1, "", "/x", "~/.x", "/a/../b", "read", "read-write", "a.example"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["paths", "hosts", "path", "access"]), inner)
    ),
    max_leaves=12,
)


@given(_TREES)
def test_any_block_is_read_or_refused(block: object) -> None:
    try:
        found = parse_harness_needs(block)
    except BadHarnessNeeds as refusal:
        assert refusal.reason and refusal.field.startswith("harness_needs")
    else:
        assert (found is None) == (block is None)
        for each in found.paths if found is not None else ():
            assert each.path.startswith(("/", "~/")) and ".." not in each.path.split("/")
