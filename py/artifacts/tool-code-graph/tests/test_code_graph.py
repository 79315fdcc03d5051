"""tool-code-graph: two real packages, five languages, and what is no repository (spec 16.3)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import click
import pytest
import starlette
from code_graph import indexing
from code_graph.blanking import blanked
from code_graph.brace_source import read_braces
from code_graph.graph import answer
from code_graph.linking import Linker
from code_graph.python_source import read_python
from hypothesis import given, settings
from hypothesis import strategies as st


def call(folder: Path, operation: str, **members: object) -> tuple[str, dict[str, Any]]:
    members.setdefault("repo_path", ".")
    outcome = answer(json.dumps({"operation": operation, **members}), folder)
    return outcome.status, json.loads(outcome.data)


def ask(folder: Path, operation: str, **members: object) -> dict[str, Any]:
    status, data = call(folder, operation, **members)
    assert status == "passed", data
    return data


@pytest.fixture(scope="module")
def checkouts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """click and starlette as their wheels hold them, indexed."""
    folder = tmp_path_factory.mktemp("checkouts")
    for package in (click, starlette):
        assert package.__file__ is not None
        source = Path(package.__file__).parent
        left_out = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, folder / source.name / source.name, ignore=left_out)
        done = ask(folder, "index_repository", repo_path=source.name)
        assert done["skipped"] == [] and done["symbols"] > 500 and done["edges"] > 1000
        assert (folder / done["database"]).is_file()
    return folder


def _uses(data: dict[str, Any], way: str) -> set[tuple[str, str, str]]:
    return {(each["symbol_id"], each["kind"], each["certainty"]) for each in data[way]}


def test_clicks_calls_are_followed_through_self_types_and_imports(checkouts: Path) -> None:
    parse = ask(checkouts, "get_symbol", repo_path="click", symbol_id="click/core.py#Command.main")
    assert ("click/core.py#Command.make_context", "calls", "exact") in _uses(parse, "outgoing")
    parser = "click/parser.py#_OptionParser.parse_args"
    told = ask(checkouts, "get_symbol", repo_path="click", symbol_id=parser)
    # `parser = self.make_parser(ctx)`, whose annotation says what it returns.
    used = ("click/core.py#Command.parse_args", "calls", "exact")
    assert used in _uses(told, "incoming")
    way = ask(
        checkouts,
        "explain_path",
        repo_path="click",
        **{"from": "click/core.py#Command.main", "to": parser},
    )
    assert [step["to"] for step in way["steps"]] == [
        "click/core.py#Command.make_context",
        "click/core.py#Command.parse_args",
        parser,
    ]
    none = {"from": parser, "to": "click/core.py#Command.main"}
    assert ask(checkouts, "explain_path", repo_path="click", **none)["found"] is False


def test_starlettes_classes_inherit_and_are_imported(checkouts: Path) -> None:
    name = "starlette/responses.py#Response"
    told = ask(checkouts, "get_symbol", repo_path="starlette", symbol_id=name)
    incoming = _uses(told, "incoming")
    assert ("starlette/responses.py#JSONResponse", "inherits", "exact") in incoming
    assert ("starlette/routing.py", "imports", "exact") in incoming
    reached = ask(checkouts, "impact_analysis", repo_path="starlette", symbol_id=name, depth=1)
    assert "starlette/routing.py" in reached["files"] and reached["affected_count"] > 50
    assert {each["depth"] for each in reached["affected"]} == {1}
    client = ask(checkouts, "impact_analysis", repo_path="starlette", symbol_id=name, depth=10)
    assert client["affected_count"] > reached["affected_count"]


def test_symbols_are_found_by_name_and_shown_with_their_text(checkouts: Path) -> None:
    found = ask(checkouts, "find_symbol", repo_path="click", query="echo", limit=3)
    assert found["symbols"][0]["symbol_id"] == "click/utils.py#echo"
    assert found["symbols"][0]["doc"].startswith("Print a message")
    kinds = ask(checkouts, "find_symbol", repo_path="click", query="group", kind="class")
    assert {each["kind"] for each in kinds["symbols"]} == {"class"}
    assert ask(checkouts, "find_symbol", repo_path="click", query="no_such_name")["symbols"] == []
    text = ask(checkouts, "slice_symbol", repo_path="click", symbol_id="click/utils.py#echo")
    assert text["content"].startswith("def echo(")
    around = ask(
        checkouts,
        "slice_symbol",
        repo_path="click",
        symbol_id="click/utils.py#echo",
        context_lines=2,
    )
    assert around["start_line"] == text["start_line"] - 2 and text["content"] in around["content"]


PYTHON = """
from typing import overload
from helpers import work as toil

class Base:
    def run(self): return self.step()
    def step(self): ...

class Child(Base):
    @overload
    def run(self, a: int) -> int: ...
    def run(self, a): return super().run()

def outer(child: "Child | None", other: Child):
    def inner(): toil()
    child.run(); other.step(); inner()
    thing = make()
    thing.only_here()
    thing.run()

def make(): return 1

class Elsewhere:
    def only_here(self): ...
"""


def _edges(folder: Path, name: str) -> set[tuple[str, str, str]]:
    ask(folder, "index_repository")
    return _uses(ask(folder, "get_symbol", symbol_id=name), "outgoing")


def test_python_names_mean_what_python_looks_up(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(PYTHON)
    (tmp_path / "helpers").mkdir()
    (tmp_path / "helpers/__init__.py").write_text("from .deep import work\n")
    (tmp_path / "helpers/deep.py").write_text("def work(): ...\n")
    assert _edges(tmp_path, "a.py#Base.run") == {("a.py#Base.step", "calls", "exact")}
    assert _edges(tmp_path, "a.py#Child.run") == {("a.py#Base.run", "calls", "exact")}
    outer = _edges(tmp_path, "a.py#outer")
    assert ("a.py#Base.step", "calls", "exact") in outer
    assert ("a.py#outer.inner", "calls", "exact") in outer
    assert ("a.py#Elsewhere.only_here", "calls", "name") in outer
    # Two classes have a run, and nothing says what `thing` is.
    assert not any(name.endswith("Base.run") for name, _, _ in outer)
    assert _edges(tmp_path, "a.py#outer.inner") == {("helpers/deep.py#work", "calls", "exact")}


SOURCES = {
    "a.c": """
#include "a.h"
/* int in_comment(void) { */
static const char *name_of(int kind) { return "brace { in text"; }
#ifdef ONE
int twice(int a) {
#else
int twice(long a) {
#endif
  char brace = '{';
  return add(a, a) + (name_of(a) != 0);
}
struct pair { int a; };
int declared(int a);
""",
    "a.h": "int add(int a, int b);\n",
    "b.c": "int add(int a, int b)\n{\n  return a + b;\n}\n",
    "shop/cart.go": """package shop

type Cart struct { items []Item }
type Pricer interface { Price() int }

func (c *Cart) Total(by func(Item) interface{}) (int, error) {
	s := `raw { text`
	return sum(c.items, s), nil
}

func sum(items []Item, s string) int { return len(items) }
""",
    "main.go": 'package main\nimport "x/shop"\nfunc main() { shop.sum(nil, "") }\n',
    "web/app.js": """
import { helper } from './lib.js';
// function inComment() {
class Panel extends Base.View {
  constructor(el) { super(el); this.render(); }
  async render() { const re = /[{}]\\/"/g; return helper(`text { ${1}`); }
  get size() { return 1; }
}
export const arrow = async (a, b) => { return helper(a); };
function plain({ a, b }) { if (a) { return arrow(a); } }
""",
    "web/lib.js": "export function helper(x) { return x; }\n",
    "web/types.ts": "export interface Shape { area(): number }\nexport enum Kind { A }\n"
    "export class Box<T> implements Shape {\n  public area(): number { return 1 }\n}\n",
    "src/lib.rs": """
pub struct Cart<'a> { name: &'a str }
impl<'a> Cart<'a> {
    pub fn total(&self) -> u32 { let c = '{'; add(1, 2) }
}
impl std::fmt::Display for Cart<'_> {
    fn fmt(&self, f: &mut F) -> R { let s = r#"raw { " text"#; self.total() }
}
fn add(a: u32, b: u32) -> u32 { /* nested */ a + b }
trait Priced { fn price(&self) -> u32; fn twice(&self) -> u32 { self.price() * 2 } }
mod tests { #[test] fn adds() { super::add(1, 2); } }
""",
}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mixed")
    for name, text in SOURCES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    ask(folder, "index_repository")
    return folder


def _symbols(path: str) -> set[tuple[str, str]]:
    language = indexing.LANGUAGES["." + path.rpartition(".")[2]]
    read = read_braces(path, SOURCES[path], language)
    return {(each.kind, each.name) for each in read.symbols[1:]}


@pytest.mark.parametrize(
    ("path", "symbols"),
    [
        ("a.c", {("function", "name_of"), ("function", "twice"), ("struct", "pair")}),
        ("b.c", {("function", "add")}),
        (
            "shop/cart.go",
            {
                ("struct", "Cart"),
                ("interface", "Pricer"),
                ("method", "Cart.Total"),
                ("function", "sum"),
            },
        ),
        (
            "web/app.js",
            {
                ("class", "Panel"),
                ("method", "Panel.constructor"),
                ("method", "Panel.render"),
                ("method", "Panel.size"),
                ("function", "arrow"),
                ("function", "plain"),
            },
        ),
        (
            "web/types.ts",
            {("interface", "Shape"), ("enum", "Kind"), ("class", "Box"), ("method", "Box.area")},
        ),
        (
            "src/lib.rs",
            {
                ("struct", "Cart"),
                ("method", "Cart.total"),
                ("method", "Cart.fmt"),
                ("function", "add"),
                ("trait", "Priced"),
                ("method", "Priced.twice"),
                ("module", "tests"),
                ("method", "tests.adds"),
            },
        ),
    ],
)
def test_what_other_languages_define_is_found(path: str, symbols: set[tuple[str, str]]) -> None:
    assert _symbols(path) == symbols


@pytest.mark.parametrize(
    ("source", "target", "certainty"),
    [
        ("a.c#twice", "a.c#name_of", "exact"),
        ("a.c#twice", "b.c#add", "name"),
        ("shop/cart.go#Cart.Total", "shop/cart.go#sum", "exact"),
        ("main.go#main", "shop/cart.go#sum", "exact"),
        ("web/app.js#Panel.constructor", "web/app.js#Panel.render", "exact"),
        ("web/app.js#Panel.render", "web/lib.js#helper", "name"),
        ("web/app.js#plain", "web/app.js#arrow", "exact"),
        ("src/lib.rs#Cart.total", "src/lib.rs#add", "exact"),
        ("src/lib.rs#Cart.fmt", "src/lib.rs#Cart.total", "exact"),
    ],
)
def test_what_other_languages_call_is_found(
    mixed: Path, source: str, target: str, certainty: str
) -> None:
    told = ask(mixed, "get_symbol", symbol_id=source)
    assert (target, "calls", certainty) in _uses(told, "outgoing")


def test_files_import_files(mixed: Path) -> None:
    for source, target in (("a.c", "a.h"), ("web/app.js", "web/lib.js")):
        told = ask(mixed, "get_symbol", symbol_id=source)
        assert (target, "imports", "exact") in _uses(told, "outgoing")


def test_an_index_is_replaced_as_a_whole_and_tells_when_it_is_stale(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("\n\ndef f(): ...\n")
    ask(tmp_path, "index_repository")
    (tmp_path / "a.py").write_text("def g(): f()\n")
    assert call(tmp_path, "slice_symbol", symbol_id="a.py#f")[1]["error_kind"] == "stale_index"
    ask(tmp_path, "index_repository")
    refused = call(tmp_path, "get_symbol", symbol_id="a.py#f")[1]
    assert refused["error_kind"] == "not_found"
    (tmp_path / "b.py").write_text("class A:\n    def f(self): ...\n")
    ask(tmp_path, "index_repository")
    refused = call(tmp_path, "get_symbol", symbol_id="a.py#f")[1]
    assert "b.py#A.f" in refused["message"]
    assert [path.name for path in (tmp_path / ".murmur").iterdir()] == ["code-graph.db"]


def test_what_cannot_be_read_is_said_and_costs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("def f(:\n")
    (tmp_path / "made.js").write_text("x" * 6000)
    (tmp_path / "good.py").write_text("def g(): ...\n")
    (tmp_path / "link.py").symlink_to("good.py")
    done = ask(tmp_path, "index_repository")
    assert {each["path"] for each in done["skipped"]} == {"bad.py", "made.js"}
    assert done["files"] == {"python": 2}
    assert ask(tmp_path, "get_symbol", symbol_id="bad.py")["symbol"]["kind"] == "module"


@pytest.mark.parametrize("piece", ["\n+ 1", "\n()", "\n.a", "\n[0]"])
def test_a_chain_that_no_component_could_walk_costs_one_file(tmp_path: Path, piece: str) -> None:
    (tmp_path / "long.py").write_text("x = (f" + piece * 50_000 + ")\n")
    (tmp_path / "table.py").write_text("x = [\n" + "  f(1) + 2,\n" * 5000 + "]\n")
    done = ask(tmp_path, "index_repository")
    assert [each["path"] for each in done["skipped"]] == ["long.py"]
    assert "1500 operators" in done["skipped"][0]["reason"]


def test_what_is_no_repository_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    assert call(work, "index_repository")[1]["error_kind"] == "nothing_to_index"
    assert call(work, "index_repository", repo_path="none")[1]["error_kind"] == "not_found"
    assert call(work, "index_repository", repo_path="..")[1]["error_kind"] == "outside_workdir"
    assert call(work, "find_symbol", query="x")[1]["error_kind"] == "not_indexed"
    assert call(work, "find_symbol")[1]["error_kind"] == "not_indexed"
    for data in ('{"operation":"index_repository"}', '{"operation":"index"}', "x"):
        assert answer(data, work).status == "error"
    assert list(work.iterdir()) == []
    (work / "a.js").write_text("x" * 6000)
    assert "a.js" in call(work, "index_repository")[1]["message"]
    (work / "a.js").unlink()
    (work / "a.py").write_text("")
    (tmp_path / "out").mkdir()
    (work / ".murmur").symlink_to("../out")
    assert call(work, "index_repository")[1]["error_kind"] == "outside_workdir"
    assert list((tmp_path / "out").iterdir()) == []
    (work / ".murmur").unlink()
    (work / ".murmur").mkdir()
    (work / ".murmur/code-graph.db").write_text("no database")
    assert call(work, "find_symbol", query="x")[1]["error_kind"] == "damaged_index"
    ask(work, "index_repository")
    assert call(work, "find_symbol", query=" ")[1]["error_kind"] == "invalid_input"


PIECES = st.sampled_from(
    (
        *("{", "}", "(", ")", '"', "'", "`", "/*", "*/", "//", "=", ";", "\\", "/", "r#", "\n"),
        *("#if\n", "#else\n", "#endif\n", "fn f", "func (a *B) c", "class A", "int f", "x => "),
        "impl A for B",
    )
)
BRACED = ("c", "go", "javascript", "rust")


@settings(max_examples=200, deadline=None)
@given(
    st.lists(PIECES, max_size=40).map("".join), st.sampled_from(["c", "go", "javascript", "rust"])
)
def test_no_text_breaks_a_reader_of_braces(text: str, language: str) -> None:
    code = blanked(text, language)
    assert len(code) == len(text) and code.count("\n") == text.count("\n")
    read = read_braces("a", text, language)
    last = text.count("\n") + 1
    assert all(1 <= each.line <= each.end <= last for each in read.symbols)
    list(Linker([read, read_python("b.py", text)]).edges())


@pytest.mark.parametrize("piece", ["(", "{", "a(", "int a ", "fn a<", "impl<", "/* *", "'", "=> "])
def test_a_long_file_of_one_thing_takes_no_long_time(piece: str) -> None:
    for language in BRACED:
        read_braces("a", (piece * 200 + "\n") * 20, language)
