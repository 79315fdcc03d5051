"""The YAML reader: core schema scalars, bounds, duplicates, places."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from murmur.manifest.document import (
    MAX_CHARACTERS,
    MAX_DEPTH,
    MAX_VALUES,
    BadDocument,
    Place,
    parse_document,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("off", "off"),
        ("yes", "yes"),
        ("2024-01-01", "2024-01-01"),
        ("1_000", "1_000"),
        ("12:30", "12:30"),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("", None),
        ("null", None),
        ("-12", -12),
        ("007", 7),
        ("0o17", 15),
        ("0x1F", 31),
        ("1.5e3", 1500.0),
        (".5", 0.5),
        ("-.inf", float("-inf")),
        ("'5'", "5"),
        ('"true"', "true"),
        ("!!str 5", "5"),
        ("!!int 5", 5),
        ("! 5", "5"),
    ],
)
def test_a_scalar_means_what_the_core_schema_says(text: str, value: object) -> None:
    found = parse_document(f"a: {text}").value
    assert found == {"a": value}
    assert isinstance(found, dict) and type(found["a"]) is type(value)


@pytest.mark.parametrize(
    ("text", "reason", "place"),
    [
        ("a: 1\na: 2", "the key 'a' is given twice", Place(2, 1)),
        ("a: {b: 1, b: 1}", "the key 'b' is given twice", Place(1, 11)),
        ("a: [", "expected node content", Place(2, 1)),
        ("a: b: c", "mapping values are not allowed", Place(1, 5)),
        ("? [a]\n: b", "cannot be a key", Place(1, 3)),
        ("a: *b", "names nothing that ended before it", Place(1, 4)),
        ("a: &a [*a]", "names nothing that ended before it", Place(1, 8)),
        ("--- 1\n--- 2", "a second document", Place(2, 1)),
        ("a: !!python/name:os.system x", "is not accepted here", Place(1, 4)),
        ("!!set {a}", "is not accepted here", Place(1, 1)),
        ("a: !!int x", "is not accepted here", Place(1, 4)),
        ("a: \x07", "control characters", Place(1, 4)),
        ("a: 1\nb: \ud800", "surrogates", Place(2, 4)),
    ],
)
def test_a_bad_document_is_refused_with_its_place(text: str, reason: str, place: Place) -> None:
    with pytest.raises(BadDocument) as refusal:
        parse_document(text)
    assert reason in refusal.value.reason
    assert refusal.value.place == place


def test_aliases_are_counted_in_full() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in range(1, 9):
        aliases = ", ".join([f"*a{level - 1}"] * 10)
        lines.append(f"a{level}: &a{level} [{aliases}]")
    with pytest.raises(BadDocument, match=f"more than {MAX_VALUES} values"):
        parse_document("\n".join(lines))


def test_an_alias_has_the_value_of_its_anchor() -> None:
    assert parse_document("a: &x {b: [1]}\nc: *x").value == {"a": {"b": [1]}, "c": {"b": [1]}}


@pytest.mark.parametrize(
    "text",
    [
        "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1),
        "\n".join(" " * depth + "a:" for depth in range(MAX_DEPTH + 2)),
        "[" * 200_000,
    ],
)
def test_nesting_is_bounded(text: str) -> None:
    with pytest.raises(BadDocument):
        parse_document(text)


def test_size_is_bounded() -> None:
    with pytest.raises(BadDocument, match="longer than"):
        parse_document("#" * (MAX_CHARACTERS + 1))
    with pytest.raises(BadDocument, match="more than"):
        parse_document("[" + "1," * (MAX_VALUES + 1) + "]")


def test_every_key_and_item_has_its_place() -> None:
    document = parse_document("a:\n  b: [1,\n    {c: 2}]\n")
    assert document.place(("a", "b")) == Place(2, 3)
    assert document.place(("a", "b", 1)) == Place(3, 5)
    assert document.place(("a", "b", 1, "c")) == Place(3, 6)
    assert document.place(("a", "missing")) == Place(1, 1)
    assert document.place(("missing",)) == Place(1, 1)


# Line breaks of other standards and control characters are YAML's own business, not ours.
TEXT = st.text(
    st.characters(codec="utf-8", categories=("L", "M", "N", "P", "S", "Zs")), max_size=12
)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_json_is_read_as_the_values_it_spells(value: Any) -> None:
    assert parse_document(json.dumps(value, ensure_ascii=False)).value == value


@given(JSON)
def test_what_a_dumper_writes_is_read_back(value: Any) -> None:
    assert parse_document(yaml.safe_dump(value, allow_unicode=True)).value == value


@given(st.text(max_size=200) | st.text("{}[]:,-&*!|>'\"%@#? \nab01\t", max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse_document(text)
    except BadDocument as refusal:
        assert refusal.reason
