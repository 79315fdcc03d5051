"""The form of an artifact index. spec/registry.md 14."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from murmur.core.diagnostics import MurmurError
from murmur.store.choosing import candidates, choose
from murmur.store.component import Contracts
from murmur.store.index import (
    Index,
    IndexArtifact,
    IndexFile,
    IndexVersion,
    parse_index,
    render_index,
)

SHA = "0123456789abcdef" * 4
INDEX = Index(
    "ana",
    (
        IndexArtifact(
            "csv-tool",
            "tool",
            (
                IndexVersion(
                    "1.10.0",
                    "v3",
                    (IndexFile("csv-tool-1.10.0.mur.zip", SHA),),
                    Contracts(("murmur:tool/run@0.2.0",), ("murmur:shell/execute@0.1.0",)),
                    3,
                ),
                IndexVersion("1.9.0", "v2", (IndexFile("csv-tool-1.9.0.mur.zip", SHA),)),
            ),
            "Reads tables.",
            ("tool", "csv"),
        ),
        IndexArtifact(
            "grep",
            "tool",
            (
                IndexVersion(
                    "0.1.0",
                    "v1",
                    (
                        IndexFile("grep-0.1.0-darwin-aarch64.mur.zip", SHA, "darwin-aarch64"),
                        IndexFile("grep-0.1.0-linux-x86_64.mur.zip", SHA, "linux-x86_64"),
                    ),
                ),
            ),
        ),
    ),
    "2026-01-02T03:04:05Z",
)


def reason(value: object) -> str:
    with pytest.raises(MurmurError) as refused:
        parse_index(json.dumps(value).encode(), "index.json")
    assert refused.value.code == "E-IDX-002"
    return refused.value.message


def plain() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(render_index(INDEX))
    return found


def test_what_is_written_is_read_back_and_written_alike() -> None:
    data = render_index(INDEX)
    assert parse_index(data, "x") == INDEX
    assert render_index(parse_index(data, "x")) == data


def test_artifacts_are_written_by_name_and_versions_newest_first() -> None:
    first, second = INDEX.artifacts
    shuffled = Index("ana", (second, IndexArtifact("csv-tool", "tool", first.versions[::-1])))
    top = json.loads(render_index(shuffled))
    assert [each["name"] for each in top["artifacts"]] == ["csv-tool", "grep"]
    versions = top["artifacts"][0]["versions"]
    assert [each["version"] for each in versions] == ["1.10.0", "1.9.0"]


def test_other_spellings_and_unknown_keys_are_read() -> None:
    top = plain() | {"schema_version": 2, "later": {"x": 1}}
    del top["updated_at"]
    artifact = top["artifacts"][0]
    artifact["role"] = artifact.pop("runtime")
    version = artifact["versions"][0]
    version["tag"] = version.pop("release")
    version["interfaces"] = ["murmur:tool/run@0.2.0"]
    version["files"][0] = {"sha256": SHA, "platform": None}
    found = parse_index(json.dumps(top).encode(), "x").find("csv-tool")
    assert found is not None and found.role == "tool"
    newest = found.versions[0]
    assert newest.release == "v3" and newest.contracts.imports == ("murmur:tool/run@0.2.0",)
    assert newest.files == (IndexFile("csv-tool-1.10.0.mur.zip", SHA),)


def _set(*path: str | int, value: object) -> Callable[[Any], None]:
    def change(top: Any) -> None:
        for step in path[:-1]:
            top = top[step]
        top[path[-1]] = value

    return change


VERSION = ("artifacts", 0, "versions", 0)
FILE = (*VERSION, "files", 0)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (_set("schema_version", value="1"), "schema_version is 1"),
        (_set("schema_version", value=True), "no schema_version"),
        (_set("schema_version", value=None), "no schema_version"),
        (_set("scope", value="Ana"), "scope: 'Ana' is no scope name"),
        (_set("scope", value=7), "scope: it is not a string"),
        (_set("updated_at", value=7), "updated_at: it is not a string"),
        (_set("artifacts", value={}), "artifacts: it is not a list"),
        (_set("artifacts", 1, value="x"), "artifacts[1]: it is not an object"),
        (_set("artifacts", 1, "name", value="csv-tool"), "the artifact csv-tool occurs twice"),
        (_set("artifacts", 1, "name", value="ana/x"), "artifacts[1].name: 'ana/x'"),
        (_set("artifacts", 0, "runtime", value=None), "artifacts[0].runtime: it is not a string"),
        (_set("artifacts", 0, "description", value=1), "artifacts[0].description"),
        (_set("artifacts", 0, "tags", value="x"), "artifacts[0].tags: it is not a list of strings"),
        (_set("artifacts", 0, "tags", value=[1]), "artifacts[0].tags: it is not a list of strings"),
        (_set("artifacts", 0, "versions", value=[]), "artifacts[0].versions: it is empty"),
        (_set(*VERSION, "version", value="1.9.0"), "the version 1.9.0 occurs twice"),
        (_set(*VERSION, "version", value="../../x"), "artifacts[0].versions[0].version: it holds"),
        (_set(*VERSION, "release", value="a b"), "artifacts[0].versions[0].release"),
        (_set(*VERSION, "release", value=""), "artifacts[0].versions[0].release"),
        (_set(*VERSION, "built_at_level", value=-1), "versions[0].built_at_level"),
        (_set(*VERSION, "built_at_level", value=True), "versions[0].built_at_level"),
        (_set(*VERSION, "interfaces", value="x"), "versions[0].interfaces: it is not an object"),
        (_set(*VERSION, "interfaces", "exports", value=1), "versions[0].interfaces.exports"),
        (_set(*VERSION, "files", value=[]), "versions[0].files: it is empty"),
        (_set(*FILE, "sha256", value="A" * 64), "files[0].sha256: it is not 64 lowercase"),
        (_set(*FILE, "name", value="../x"), "files[0].name: '../x' is no file name"),
        (_set(*FILE, "name", value=".."), "files[0].name: '..' is no file name"),
        (_set(*FILE, "platform", value="a/b"), "files[0].platform: 'a/b'"),
        (
            _set("artifacts", 1, "versions", 0, "files", 1, "platform", value="darwin-aarch64"),
            "artifacts[1].versions[0].files: the platform darwin-aarch64 occurs twice",
        ),
    ],
)
def test_a_field_that_breaks_the_format_is_e_idx_002_naming_its_place(
    change: Callable[[Any], None], text: str
) -> None:
    top = copy.deepcopy(plain())
    change(top)
    assert text in reason(top) and "index.json" in reason(top)


def _nested(inner: some.SearchStrategy[object]) -> some.SearchStrategy[object]:
    keys = some.sampled_from(["name", "versions", "files", "runtime", "sha256", "interfaces"])
    return some.lists(inner, max_size=3) | some.dictionaries(keys, inner, max_size=4)


ANYTHING = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(max_size=9), _nested, max_leaves=20
)


@given(ANYTHING)
def test_whatever_stands_where_artifacts_should_is_refused_or_read(value: object) -> None:
    top = plain() | {"artifacts": value}
    try:
        parse_index(json.dumps(top).encode(), "x")
    except MurmurError as refused:
        assert refused.code == "E-IDX-002"


@pytest.mark.parametrize("data", [b"", b"\xff", b"[" * 100_000, b"1e999", b" " * 10])
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(MurmurError, match=r"E-IDX-002"):
        parse_index(data, "x")


def test_the_newest_version_that_fits_and_runs_here_is_chosen_and_the_newest_told() -> None:
    csv, grep = INDEX.artifacts
    assert choose(candidates(csv), "linux-x86_64").version == "1.10.0"
    assert choose(candidates(grep), "linux-x86_64").version == "0.1.0"
    nothing = choose(candidates(grep), "linux-aarch64")
    assert nothing.version is None
    assert nothing.passed_over == ("0.1.0", "has no payload for linux-aarch64")
    assert grep.versions[0].file_for("linux-x86_64") == grep.versions[0].files[1]
    assert grep.versions[0].file_for("linux-aarch64") is None
