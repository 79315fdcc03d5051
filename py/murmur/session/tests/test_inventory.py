"""What the model is offered. spec/sessions.md 11.1, 14.1; spec/artifacts.md 8."""

from typing import Any

import pytest

from murmur.session.inventory import (
    EMPTY_SCHEMA,
    Tool,
    ToolKind,
    by_name,
    first_line,
    missing_fields,
    refusal_text,
    schema_fault,
    schema_of,
    shell_tool,
)


def _tool(name: str, schema: dict[str, object] | None = None) -> Tool:
    return Tool(name, ToolKind.WASM, "1.0.0", "does it", schema or {}, f"local/{name}")


@pytest.mark.parametrize("declared", [None, "", "{", "[]", "1", 7, [], {}])
def test_a_schema_that_cannot_be_read_is_the_empty_one(declared: Any) -> None:
    assert schema_of(declared) == EMPTY_SCHEMA


def test_a_schema_may_be_a_mapping_or_json_text() -> None:
    assert schema_of({"type": "object"}) == schema_of('{"type": "object"}') == {"type": "object"}


def test_tools_stand_in_the_order_of_their_names() -> None:
    assert list(by_name([_tool("b"), shell_tool("sh"), _tool("a")])) == ["a", "b", "sh"]


def test_an_artifact_wins_over_a_shell_binary_of_its_name() -> None:
    assert by_name([shell_tool("git"), _tool("git")])["git"].kind is ToolKind.WASM


def test_an_empty_description_is_left_out() -> None:
    assert "description" not in Tool("t", ToolKind.WASM, "1", "", {}).declaration()
    assert _tool("t").declaration()["description"] == "does it"


def test_a_shell_tool_requires_its_command() -> None:
    tool = shell_tool("git")
    assert (tool.version, tool.schema["required"]) == ("0.0.0", ["command"])


@pytest.mark.parametrize(
    ("schema", "arguments", "missing"),
    [
        ({"required": ["b", "a"]}, {}, ["b", "a"]),
        ({"required": ["b", "a"]}, {"b": None}, ["a"]),
        ({"required": ["a"]}, [], ["a"]),
        ({"required": "a"}, {}, []),
        ({"required": ["a", 1]}, {}, []),
        ({}, {}, []),
    ],
)
def test_only_the_presence_of_required_fields_is_judged(
    schema: dict[str, object], arguments: object, missing: list[str]
) -> None:
    assert missing_fields(_tool("t", schema), arguments) == missing


def test_a_refusal_names_every_field_in_schema_order() -> None:
    assert refusal_text("t", ["a"]).startswith('t: missing required field "a"')
    assert refusal_text("t", ["b", "a"]).startswith('t: missing required fields "b", "a"')


def test_the_first_line_that_says_something_describes_a_skill() -> None:
    assert first_line("\n  \n # Manners \nBe kind.") == "# Manners"
    assert first_line("\n \n") == ""


@pytest.mark.parametrize(
    ("declared", "fault"),
    [
        (None, None),
        ({}, None),
        ({"required": ["x"]}, None),
        ('{"type": "object"}', None),
        ("{", "no JSON"),
        ("[]", "no object"),
        ([1], "no object"),
        ({"required": "x"}, "no list of strings"),
        ({"required": [1]}, "no list of strings"),
    ],
)
def test_a_schema_that_says_nothing_of_required_fields_is_a_fault(
    declared: object, fault: str | None
) -> None:
    found = schema_fault(declared)
    assert found is None if fault is None else found is not None and fault in found
