"""What the hook refuses, and what it lets through."""

import json

import pytest
from murmur_hooking.settings import VARIABLE, BadConfig
from protect_tool.deciding import Policy, read_policy, refusal


def _policy(**config: object) -> Policy:
    return read_policy({VARIABLE: json.dumps(config)} if config else {})


def _call(given: object, *, tool: str = "tool-editor", **config: object) -> str | None:
    return refusal(_policy(**config), tool, json.dumps(given))


def test_a_destination_below_a_protected_path_is_refused() -> None:
    assert _call({"operation": "write_file", "dest_path": "tests/a.py", "content": "x"}) == (
        "tests/a.py is protected by tests/ (key dest_path); it can still be read"
    )
    assert _call({"path": "src/test_a.py", "content": "x"}) is not None
    assert _call({"edits": [{"path": "conftest.py", "new_str": "x"}]}) is not None


def test_reading_a_protected_path_and_writing_elsewhere_is_let_through() -> None:
    assert _call({"operation": "read_file", "path": "tests/a.py"}) is None
    assert _call({"dest_path": "src/a.py", "content": "x"}) is None


def test_only_the_named_tools_are_looked_at() -> None:
    given = {"dest_path": "tests/a", "content": "x"}
    assert _call(given, tools=["tool-editor"]) is not None
    assert _call(given, tool="other", tools=["tool-editor"]) is None


def test_an_input_that_is_no_json_is_refused() -> None:
    assert refusal(_policy(), "t", "{") == "its input cannot be read"


def test_settings_that_cannot_be_followed_are_named() -> None:
    with pytest.raises(BadConfig, match=r"config\.tools"):
        _policy(tools="tool-editor")
