"""Writes of tool calls. seeds/manifest-schema.md, Read-only paths, the table's tool rows."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.read_only.check import Write, refusal_text, tool_write
from murmur.read_only.declarations import read_declarations
from murmur.read_only.keys import CONTENTS, DESTINATIONS, PATHS
from murmur.read_only.subtrees import Subtrees

WORK = Subtrees("/nonexistent/work", ("tests",))
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}


def call(given: object, schema: object = NOTHING, base: str | None = None) -> Write | None:
    return tool_write(WORK, read_declarations(schema), given, base)


@pytest.mark.parametrize("key", [*DESTINATIONS, "Dest-Path", "OUTPUT_PATH", "newPath"])
def test_a_destination_key_is_a_write(key: str) -> None:
    assert call({key: "tests/a"}) == Write("tests/a", "tests", f"key {key}")
    assert call({key: "src/a"}) is None


@pytest.mark.parametrize("key", [*PATHS, "File-Path", "FILENAME"])
@pytest.mark.parametrize("content", [*CONTENTS, "New-String"])
def test_a_path_key_is_a_write_only_beside_content(key: str, content: str) -> None:
    assert call({key: "tests/a", content: "x"}) == Write("tests/a", "tests", f"key {key}")
    assert call({key: "tests/a", content: None}) is None
    assert call({key: "tests/a"}) is None


def test_the_pairing_is_judged_object_by_object() -> None:
    assert call({"path": "tests/a", "edit": {"content": "x"}}) is None
    assert call({"edits": [{"path": "src/a"}, {"path": "tests/b", "patch": "x"}]}) is not None
    assert call({"a": {"b": [[{"to": "tests/c"}]]}}) is not None
    assert call({"to": ["tests/a"]}) is None
    assert call(["tests/a"]) is None


EDITS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"path": {"type": "string", "format": "murmur-destination"}},
            },
        },
        "note": {"type": "object", "format": "murmur-opaque"},
    },
}


def test_a_declared_destination_is_checked_and_its_place_is_named() -> None:
    found = call({"edits": [{"path": "src/a"}, {"path": "tests/a"}]}, EDITS)
    assert found == Write(
        "tests/a", "tests", "declared destination edits[].path", location="edits[].path"
    )
    assert "edits[].path" in refusal_text("editor", found)


def test_an_opaque_subtree_is_left_alone_and_its_sibling_is_not() -> None:
    assert call({"note": {"dest": "tests/a"}}, EDITS) is None
    assert call({"other": {"dest": "tests/a"}}, EDITS) is not None


def test_a_destination_inside_an_opaque_subtree_is_still_checked() -> None:
    schema = {
        "type": "object",
        "properties": {
            "note": {
                "type": "object",
                "format": "murmur-opaque",
                "properties": {"where": {"type": "string", "format": "murmur-destination"}},
            }
        },
    }
    assert call({"note": {"where": "tests/a"}}, schema) is not None
    assert call({"note": {"dest": "tests/a"}}, schema) is None


def test_opaque_on_a_string_is_ignored() -> None:
    schema = {
        "type": "object",
        "properties": {"dest": {"type": "string", "format": "murmur-opaque"}},
    }
    assert call({"dest": "tests/a"}, schema) is not None


def test_opaque_at_the_top_leaves_declared_destinations_only() -> None:
    schema = {
        "type": "object",
        "format": "murmur-opaque",
        "properties": {"where": {"type": "string", "format": "murmur-destination"}},
    }
    assert call({"dest": "tests/a"}, schema) is None
    assert call({"where": "tests/a"}, schema) is not None


def test_an_annotation_behind_a_reference_is_not_resolved() -> None:
    schema = {
        "type": "object",
        "properties": {"where": {"$ref": "#/$defs/p"}, "dest": {"$ref": "#/$defs/p"}},
        "$defs": {"p": {"type": "string", "format": "murmur-destination"}},
    }
    assert call({"where": "tests/a"}, schema) is None
    assert call({"dest": "tests/a"}, schema) is not None


def test_an_optional_string_and_a_map_of_paths_may_be_destinations() -> None:
    destination = {"type": "string", "format": "murmur-destination"}
    schema = {
        "type": "object",
        "properties": {
            "where": {"anyOf": [destination, {"type": "null"}]},
            "all": {"type": "object", "additionalProperties": destination},
            "paths": {"type": ["array", "null"], "items": destination},
        },
    }
    assert call({"where": "tests/a"}, schema) is not None
    assert call({"where": None}, schema) is None
    found = call({"all": {"one": "tests/a"}}, schema)
    assert found is not None and found.location == "all.one"
    found = call({"paths": ["a", "tests/a"]}, schema)
    assert found is not None and found.location == "paths[]"


def derived(*entries: object) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "repo_path": {"type": "string"},
            "paths": {"type": "array", "items": {"type": "string"}},
            "edits": EDITS["properties"]["edits"],
        },
        "murmur-destinations": list(entries),
    }


@pytest.mark.parametrize(
    ("entry", "given", "path"),
    [
        ("{repo_path}/a", {"repo_path": "tests"}, "tests/a"),
        ("{repo_path}/tests/db", {"repo_path": "."}, "tests/db"),
        ("{repo_path}", {"repo_path": "tests"}, "tests"),
        ("{paths[]}", {"paths": ["src", "tests/x"]}, "tests/x"),
        ("{paths[]}/tests", {"paths": ["src", "./"]}, "tests"),
    ],
)
def test_a_derived_destination_is_checked(entry: str, given: Any, path: str) -> None:
    found = call(given, derived(entry))
    assert found is not None and found.path == path
    assert found.signal == f"derived destination {entry}"
    assert found.location == entry[1 : entry.index("}")]


@pytest.mark.parametrize(
    "entry",
    [
        "repo_path/.murmur",
        "{repo_path}/",
        "{repo_path}//a",
        "{repo_path}/a/../b",
        "{repo_path}/./b",
        "{repo_path}/a\\b",
        "{repo_path}x",
        "{}",
        "{repo_path[]}",
        "{paths}x",
        "{missing}",
        "{edits.path}",
        "{repo_path.x}",
        "{repo_path}{paths}",
        7,
        None,
    ],
)
def test_one_malformed_or_dangling_entry_discards_the_whole_list(entry: object) -> None:
    schema = derived("{repo_path}", entry)
    assert read_declarations(schema).derived is None
    assert call({"repo_path": "tests"}, schema) is None
    assert call({"dest": "tests"}, schema) is not None


def test_a_list_that_is_no_list_is_discarded() -> None:
    assert read_declarations({"type": "object", "murmur-destinations": "{x}"}).derived is None


def test_a_narrowed_tool_names_paths_from_its_own_folder() -> None:
    assert call({"dest": "a"}, base="/nonexistent/work/tests") is not None
    assert call({"dest": "tests/a"}, base="/nonexistent/work/cache") is None


@pytest.mark.parametrize(
    ("schema", "left"),
    [
        ({"properties": {"path": {"type": "string"}}}, ["path"]),
        ({"properties": {"Dest-Path": {}, "note": {"type": "string"}}}, ["Dest-Path"]),
        ({"properties": {"path": {"type": "integer"}}}, []),
        ({"properties": {"path": {"type": "string", "format": "murmur-destination"}}}, []),
        (
            {
                "properties": {
                    "path": {"type": "string", "format": "murmur-destination"},
                    "to": {"type": "string"},
                }
            },
            ["to"],
        ),
        ({"properties": {"to": {"type": "string", "format": "murmur-opaque"}}}, ["to"]),
        (
            {
                "properties": {
                    "edits": {
                        "type": "array",
                        "items": {"type": "object", "properties": {"path": {"type": "string"}}},
                    }
                }
            },
            ["edits[].path"],
        ),
        (
            {
                "properties": {
                    "edits": {
                        "type": "array",
                        "format": "murmur-opaque",
                        "items": {"type": "object", "properties": {"path": {"type": "string"}}},
                    }
                }
            },
            [],
        ),
        ({"properties": {"path": {"type": "string"}}, "murmur-destinations": []}, []),
        ({"properties": {"path": {"type": "string"}}, "murmur-destinations": ["x"]}, ["path"]),
        ({"type": "object", "format": "murmur-opaque", "properties": {"path": {}}}, []),
        (None, []),
    ],
)
def test_what_the_key_name_rules_alone_judge(schema: object, left: list[str]) -> None:
    assert read_declarations(schema).unjudged() == left


_WORDS = "type format properties items anyOf additionalProperties path to content edits "
_WORDS += "murmur-destinations"
_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["tests/a", "x", "string", "array"])
    | st.sampled_from(["murmur-destination", "murmur-opaque", "object", "{path}/a", "{path}"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(_WORDS.split()),
            inner,
            max_size=4,
        )
    ),
    max_leaves=25,
)


@given(_JSON, _JSON)
def test_any_schema_and_any_input_are_answered(schema: object, given: object) -> None:
    found = call(given, schema)
    assert found is None or (found.rule == "tests" and found.path.startswith("tests"))
    for place in read_declarations(schema).unjudged():
        assert place


@given(_JSON)
def test_nothing_in_a_schema_permits_a_declared_destination(given: object) -> None:
    """Adding a destination to any schema never makes a refused call pass."""
    plain, more = (
        {"type": "object"},
        {
            "type": "object",
            "properties": {"where": {"type": "string", "format": "murmur-destination"}},
        },
    )
    if call(given, plain) is not None:
        assert call(given, more) is not None


def test_a_deep_schema_and_a_deep_input_end() -> None:
    schema: Any = {"type": "string", "format": "murmur-destination"}
    value: Any = "tests/a"
    for _ in range(3000):
        schema = {"type": "object", "properties": {"a": schema}}
        value = {"a": value}
    call(value, schema)
    call({"dest": "tests/a", "x": value}, json.loads("[" * 500 + "]" * 500))
