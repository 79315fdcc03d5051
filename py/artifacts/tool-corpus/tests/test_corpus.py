"""tool-corpus: its operations, refusals, and what survives in its file (spec 16.3)."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from corpus_tool import lines, settings
from corpus_tool.corpus import keep
from corpus_tool.schema import check_schema, violations
from hypothesis import given
from hypothesis import settings as how
from hypothesis import strategies as st
from murmur_tooling.members import ToolError

NOTE = {
    "schema_version": 1,
    "schema": {
        "type": "object",
        "required": ["text"],
        "properties": {"text": {"type": "string", "minLength": 1}, "stars": {"type": "integer"}},
        "additionalProperties": False,
    },
}
CONFIG = {
    "config_version": "7",
    "types": {"note": NOTE, "any": {}},
    "read_recent": {"default": 2, "max": 3},
    "search": {"default_k": 1, "max_k": 2},
    "prefix_map": {"note": "note"},
}


class Corpus:
    """The tool on one folder with one config."""

    def __init__(self, folder: Path, config: object = CONFIG) -> None:
        self.folder = folder
        self.environ = {settings.VARIABLE: json.dumps(config)}

    def call(self, operation: str, **members: object) -> tuple[str, dict[str, Any]]:
        data = json.dumps({"operation": operation, **members})
        outcome = keep(data, lambda: self.folder, self.environ)
        return outcome.status, json.loads(outcome.data)

    def do(self, operation: str, **members: object) -> dict[str, Any]:
        status, data = self.call(operation, **members)
        assert status == "passed", data
        return data

    def refused(self, kind: str, operation: str, **members: object) -> str:
        status, data = self.call(operation, **members)
        assert status == ("error" if kind == "invalid_input" else "failed")
        assert data["error_kind"] == kind, data
        return str(data["message"])

    def note(self, text: str) -> str:
        return str(self.do("append", type="note", record={"text": text})["id"])

    @property
    def path(self) -> Path:
        return self.folder / lines.NAME


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path)


def texts(data: Mapping[str, Any]) -> list[str]:
    return [entry["record"]["text"] for entry in data["entries"]]


def test_what_was_appended_is_got_by_its_id(corpus: Corpus) -> None:
    made = corpus.do("append", type="note", record={"text": "é", "stars": 3})
    assert made["id"].startswith("note_") and made["seq"] == 1
    entry = corpus.do("get", id=made["id"])["entry"]
    assert entry["record"] == {"text": "é", "stars": 3}
    assert (entry["type"], entry["schema_version"], entry["at"]) == ("note", "1", made["at"])
    written = json.loads(corpus.path.read_text())
    assert (written["config_version"], written["previous"]) == ("7", None)
    assert corpus.do("append", type="any", record={})["id"].startswith("rec_")
    assert "note_0" in corpus.refused("not_found", "get", id="note_0")


def test_the_newest_come_first_as_many_as_the_config_allows(corpus: Corpus) -> None:
    for number in range(4):
        corpus.note(f"n{number}")
    corpus.do("append", type="any", record={"text": "other"})
    assert texts(corpus.do("read_recent")) == ["other", "n3"]
    assert texts(corpus.do("read_recent", type="note", limit=3)) == ["n3", "n2", "n1"]
    assert "from 1 to 3" in corpus.refused("invalid_input", "read_recent", limit=4)


def test_a_search_returns_what_fits_best(corpus: Corpus) -> None:
    corpus.note("the cat sat on the mat")
    corpus.note("a Cat, a cat!")
    corpus.do("append", type="any", record={"deep": [{"text": "cat"}]})
    corpus.note("nothing of it")
    found = corpus.do("search", query="CAT", type="note", k=2)
    assert texts(found) == ["a Cat, a cat!", "the cat sat on the mat"]
    assert found["searched"] == 3
    assert len(corpus.do("search", query="cat")["entries"]) == 1
    assert corpus.do("search", query="dog")["entries"] == []
    corpus.refused("invalid_input", "search", query=" ")
    corpus.refused("invalid_input", "search", query="cat", k=3)


def test_a_record_that_breaks_its_schema_is_refused_and_not_kept(corpus: Corpus) -> None:
    told = corpus.refused("schema_violation", "append", type="note", record={"stars": 1.5, "x": 1})
    for fact in ("text is missing", "record.stars", "x is not one of text, stars"):
        assert fact in told
    assert not corpus.path.exists()
    told = corpus.refused("invalid_input", "append", type="nota", record={})
    assert "'nota'" in told and "note, any" in told
    corpus.refused("invalid_input", "append", type="note", record="text")
    corpus.refused("invalid_input", "append", type="note")
    corpus.refused("invalid_input", "append", type="any", record={"half": "\ud800"})
    corpus.refused("too_large", "append", type="note", record={"text": "x" * lines.LINE_BYTES})
    assert not corpus.path.exists()


def test_a_torn_last_line_survives_and_costs_no_other(corpus: Corpus) -> None:
    first = corpus.note("first")
    whole = corpus.path.read_bytes()
    corpus.path.write_bytes(whole + whole[: len(whole) // 2])
    assert texts(corpus.do("read_recent")) == ["first"]
    verified = corpus.do("verify")
    assert verified["problems"] == [{"line": 2, "problem": "it is torn: its end is missing"}]
    second = corpus.do("append", type="note", record={"text": "second"})
    assert second["seq"] == 2
    assert corpus.path.read_bytes().startswith(whole + whole[: len(whole) // 2] + b"\n")
    assert texts(corpus.do("read_recent")) == ["second", "first"]
    assert corpus.do("get", id=first)["entry"]["seq"] == 1
    verified = corpus.do("verify")
    assert [problem["line"] for problem in verified["problems"]] == [2]
    assert verified["records"] == 2


def _damaged(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[Corpus], list[Any]]:
    def verify(corpus: Corpus) -> list[Any]:
        for number in range(3):
            corpus.note(f"n{number}")
        assert corpus.do("verify")["sound"] is True
        held = corpus.path.read_bytes().splitlines(keepends=True)
        corpus.path.write_bytes(b"".join(change(held)))
        data = corpus.do("verify")
        assert data["sound"] is False
        return [(problem["line"], problem["problem"]) for problem in data["problems"]]

    return verify


def test_verify_names_lines_changed_and_removed(tmp_path: Path) -> None:
    changed = _damaged(lambda held: [held[0], held[1].replace(b"n1", b"N1"), held[2]])
    removed = _damaged(lambda held: [held[0], held[2]])
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    follows = "it does not follow the sound line before it"
    found = changed(Corpus(tmp_path / "a"))
    assert found == [(2, "it does not fit its sha256"), (3, follows)]
    assert removed(Corpus(tmp_path / "b")) == [(2, follows)]


def test_verify_judges_records_by_the_schema_of_their_version(tmp_path: Path) -> None:
    Corpus(tmp_path).note("short")
    stricter = {**NOTE, "schema": {**NOTE["schema"], "required": ["stars"]}}  # type: ignore[dict-item]
    same = Corpus(tmp_path, {"types": {"note": stricter}})
    assert "stars is missing" in same.do("verify")["problems"][0]["problem"]
    newer = Corpus(tmp_path, {"types": {"note": {**stricter, "schema_version": 2}}})
    assert newer.do("verify")["sound"] is True
    gone = Corpus(tmp_path, {"types": {"other": {}}})
    assert "no type note" in gone.do("verify")["problems"][0]["problem"]


def _append_many(folder: Path, count: int) -> None:
    corpus = Corpus(folder)
    for number in range(count):
        corpus.note(f"{number} " + "x" * 10_000)


def test_writers_at_once_lose_nothing(corpus: Corpus) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_append_many, args=(corpus.folder, 20)) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    verified = corpus.do("verify")
    assert (verified["sound"], verified["records"]) == (True, 80)
    assert [path.name for path in corpus.folder.iterdir()] == [lines.NAME]


def test_without_a_store_or_a_config_the_operator_is_told_what_to_write(tmp_path: Path) -> None:
    def nothing() -> Path:
        raise ToolError("state_unavailable", "none")

    call = '{"operation":"verify"}'
    for state, environ, kind in (
        (nothing, {}, "state_unavailable"),
        (lambda: tmp_path, {}, "config_missing"),
        (lambda: tmp_path, {settings.VARIABLE: "{}"}, "config_missing"),
        (lambda: tmp_path / "gone", Corpus(tmp_path).environ, "state_unavailable"),
    ):
        data = call if kind == "config_missing" or not environ else _appending()
        told = json.loads(keep(data, state, environ).data)
        assert told["error_kind"] == kind


def _appending() -> str:
    return json.dumps({"operation": "append", "type": "any", "record": {}})


@pytest.mark.parametrize(
    ("config", "fact"),
    [
        ([], "config: it must be a mapping"),
        ({"types": []}, "config.types"),
        ({"types": ["a"]}, "config.types: it must be a mapping"),
        ({"typs": {}}, "config.typs: unknown"),
        ({"types": {"a": {"shema": {}}}}, "config.types.a.shema: unknown"),
        ({"types": {"a": {"schema": {"$ref": "#/x"}}}}, "config.types.a.schema.$ref"),
        ({"types": {"a": {"schema": {"type": "text"}}}}, "config.types.a.schema.type"),
        ({"types": {"a": {"schema": {"properties": {"b": 1}}}}}, "schema.properties.b"),
        ({"types": {"a": {"schema": {"pattern": "("}}}}, "schema.pattern"),
        ({"types": {"a": {"schema": {"minLength": -1}}}}, "schema.minLength"),
        ({"types": {"a": {"schema": {"multipleOf": 0}}}}, "schema.multipleOf"),
        ({"types": {"a": {"schema": {"anyOf": []}}}}, "schema.anyOf"),
        ({"types": {"a": {}}, "search": {"k": 1}}, "config.search.k"),
        ({"types": {"a": {}}, "search": {"max_k": 0}}, "config.search.max_k"),
        ({"types": {"a": {}}, "read_recent": {"default": 9, "max": 3}}, "9 is above max, 3"),
        ({"types": {"a": {}}, "prefix_map": {"b": "b"}}, "config.prefix_map.b"),
        ({"types": {"a": {}}, "prefix_map": {"a": "a b"}}, "config.prefix_map.a"),
        ({"types": {"a": {}, "b": {}}, "prefix_map": {"a": "x", "b": "x"}}, "one prefix"),
    ],
)
def test_a_config_that_says_something_else_is_refused_by_key(
    tmp_path: Path, config: object, fact: str
) -> None:
    kind = "config_missing" if config == {"types": []} else "config_invalid"
    assert fact in Corpus(tmp_path, config).refused(kind, "verify")


@pytest.mark.parametrize(
    ("schema", "fits", "breaks"),
    [
        ({"type": "integer"}, [1, 2.0], [True, 1.5, "1"]),
        ({"type": ["string", "null"]}, ["a", None], [1]),
        ({"enum": [1, "a", [1]]}, [1, 1.0, "a", [1]], [True, [True], "b"]),
        ({"const": {"a": 0}}, [{"a": 0}], [{"a": False}, {}]),
        ({"minimum": 1, "exclusiveMaximum": 3}, [1, 2.5, "x"], [0, 3]),
        ({"multipleOf": 3}, [6], [7]),
        ({"pattern": "^a"}, ["ab", 1], ["ba"]),
        ({"items": {"type": "string"}, "maxItems": 1}, [[], ["a"]], [[1], ["a", "b"]]),
        ({"uniqueItems": True}, [[1, True]], [[1, 1.0]]),
        ({"additionalProperties": {"type": "null"}, "minProperties": 1}, [{"a": None}], [{}]),
        ({"anyOf": [{"type": "null"}, {"minimum": 2}]}, [None, 2], [1]),
        ({"oneOf": [{"minimum": 1}, {"minimum": 2}]}, [1], [0, 2]),
        ({"allOf": [{"minimum": 1}, {"maximum": 1}]}, [1], [2]),
        ({"not": {"type": "string"}}, [1], ["a"]),
        (False, [], [None]),
    ],
)
def test_schemas_are_judged_as_the_standard_says(
    schema: object, fits: list[object], breaks: list[object]
) -> None:
    check_schema(schema, "schema")
    assert [list(violations(value, schema)) for value in fits] == [[] for _ in fits]
    assert all(list(violations(value, schema)) for value in breaks)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@how(max_examples=20, deadline=None)  # each append is one fsync
@given(
    st.lists(
        st.tuples(st.dictionaries(st.text(max_size=3), JSON), st.binary(max_size=8)), max_size=6
    )
)
def test_whatever_lies_between_them_records_are_found_again(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[tuple[dict[str, Any], bytes]]
) -> None:
    """Torn pieces between appends: the records stay, in order, forwards and backwards."""
    corpus = Corpus(tmp_path_factory.mktemp("corpus"))
    ids = []
    for record, torn in pieces:
        ids.append(corpus.do("append", type="any", record=record)["id"])
        with corpus.path.open("ab") as file:
            file.write(torn)
    forwards = [line.value["id"] for line in lines.lines(corpus.folder) if line.problem is None]
    backwards = [line.value["id"] for line in lines.newest_lines(corpus.folder)]
    assert forwards == ids
    assert backwards == ids[::-1]
    if any(torn for _, torn in pieces):
        return
    assert corpus.do("verify")["sound"] is True
