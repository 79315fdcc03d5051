"""tool-test-report: what real runners wrote, and what is no report (spec 16.3)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_report_tool import reporting
from test_report_tool.reporting import FORMATS, parse
from test_report_tool.results import OUTCOMES, plain

# Where the files themselves lie: Bazel lays inputs out as links, which the tool does not follow.
CAPTURED = (Path(__file__).parent / "captured" / "go.json").resolve().parent


def call(folder: Path, path: str, **members: object) -> tuple[str, dict[str, Any]]:
    data = json.dumps({"operation": "parse", "input_path": path, **members})
    outcome = parse(data, folder)
    return outcome.status, json.loads(outcome.data)


def told(name: str) -> dict[str, Any]:
    status, data = call(CAPTURED, name)
    assert status == "passed", data
    return data


def places(data: dict[str, Any]) -> list[tuple[str, Any, Any, str]]:
    return [(each["id"], each["file"], each["line"], each["message"]) for each in data["failures"]]


@pytest.mark.parametrize(
    ("name", "form", "counts"),
    [
        ("pytest.txt", "pytest", (2, 3, 1, 2)),
        ("pytest-quiet.txt", "pytest", (2, 3, 1, 2)),
        ("pytest-collection.txt", "pytest", (0, 0, 1, 0)),
        ("junit.xml", "junit", (2, 3, 1, 2)),
        ("cargo.txt", "cargo", (1, 4, 0, 1)),
        ("cargo-build.txt", "cargo", (0, 0, 2, 0)),
        ("go.json", "go", (2, 2, 1, 1)),
        ("go.txt", "go", (2, 2, 1, 1)),
        ("go-short.txt", "go", (0, 2, 0, 0)),
        ("jest.json", "jest", (1, 2, 1, 2)),
        ("jest.txt", "jest", (1, 2, 1, 2)),
    ],
)
def test_what_a_runner_wrote_is_recognized_and_counted(
    name: str, form: str, counts: tuple[int, ...]
) -> None:
    data = told(name)
    assert (data["format"], tuple(data["counts"].values())) == (form, counts)
    assert data["failure_count"] == counts[1] + counts[2] == len(data["failures"])
    assert call(CAPTURED, name, format=form)[1] == data


def test_pytests_failures_are_named_as_it_takes_them() -> None:
    file = "test_shop.py"
    assert places(told("pytest.txt")) == [
        (f"{file}::TestCart::test_discount", file, 10, "AssertionError: a tenth too much"),
        (f"{file}::test_words[a b]", file, 15, "AssertionError: assert 'a b' == 'ü'"),
        (f"{file}::test_raises", file, 19, "ValueError: no such item"),
        (f"{file}::test_setup", file, 24, "RuntimeError: setup went wrong"),
    ]
    details = [each["detail"] for each in told("pytest.txt")["failures"]]
    assert ">       assert total == 80" in details[0] and "generated xml" not in details[2]
    assert [place[:2] for place in places(told("pytest-quiet.txt"))] == [
        place[:2] for place in places(told("pytest.txt"))
    ]
    [found] = places(told("pytest-collection.txt"))
    assert found[:3] == ("test_bad.py", "test_bad.py", 1) and "no_such_module" in found[3]


def test_junits_failures_stand_where_their_text_says() -> None:
    found = places(told("junit.xml"))
    assert found[0] == (
        "test_shop.TestCart.test_discount",
        "test_shop.py",
        10,
        "AssertionError: a tenth too much",
    )
    assert [place[2] for place in found] == [10, 15, 19, 24]


def test_cargos_failures_stand_where_they_panicked() -> None:
    assert places(told("cargo.txt"))[1:] == [
        (
            "cart::should_panic_and_does_not",
            "src/lib.rs",
            11,
            "note: test did not panic as expected at src/lib.rs:11:8",
        ),
        (
            "cart::takes_a_tenth_off",
            "src/lib.rs",
            6,
            "assertion `left == right` failed: a tenth too much",
        ),
        ("cart::panics", "src/lib.rs", 8, "no such item"),
    ]
    assert places(told("cargo-build.txt"))[0][:3] == ("E0425", "src/lib.rs", 2)


@pytest.mark.parametrize("name", ["go.json", "go.txt"])
def test_gos_failures_are_those_of_subtests_and_packages(name: str) -> None:
    found = {place[0]: place[1:] for place in places(told(name))}
    assert found == {
        "example.org/shop.TestDiscount/tenth_off": ("shop_test.go", 13, "got 90, want 80"),
        "example.org/shop.TestPanics": (
            "/src/gop/shop_test.go",
            22,
            "panic: assignment to entry in nil map [recovered, repanicked]",
        ),
        "example.org/shop/bad": ("bad/bad_test.go", 5, "undefined: undefined"),
    }


def test_jests_failures_stand_in_their_test_files() -> None:
    found = places(told("jest.txt"))
    assert found[1] == (
        "cart \u203a when empty \u203a throws",
        "src/shop.test.js",
        5,
        "no such item",
    )
    assert found[2][:3] == ("src/broken.test.js", "src/broken.test.js", 1)
    by_json = places(told("jest.json"))
    assert [(place[0], place[2]) for place in by_json[:2]] == [
        (place[0], place[2]) for place in found[:2]
    ]
    assert by_json[0][1] == "/src/jest/src/shop.test.js"


def test_files_are_named_as_the_repository_has_them(tmp_path: Path) -> None:
    for name in ("go.json", "jest.json"):
        shutil.copy(CAPTURED / name, tmp_path)
    for path in ("repo/shop/shop_test.go", "repo/bad/bad_test.go", "repo/src/shop.test.js"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    files = [each[1] for each in places(call(tmp_path, "go.json", repo_path="repo")[1])]
    assert sorted(files) == [
        "/src/gop/shop_test.go",
        "repo/bad/bad_test.go",
        "repo/shop/shop_test.go",
    ]
    files = [each[1] for each in places(call(tmp_path, "jest.json", repo_path="./repo/")[1])]
    assert files[:2] == ["repo/src/shop.test.js"] * 2
    assert call(tmp_path, "go.json", repo_path="none")[1]["error_kind"] == "not_found"
    assert call(tmp_path, "go.json", repo_path="..")[1]["error_kind"] == "outside_workdir"


def _many(count: int) -> str:
    cases = "".join(
        f'<testcase classname="a" name="t{number}"><failure message="no">{"x" * 9000}</failure>'
        "</testcase>"
        for number in range(count)
    )
    return f"<testsuite>{cases}</testsuite>"


def test_above_50_failures_all_are_written_beside_the_report(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/run.1.xml").write_text(_many(51))
    outside = tmp_path / "elsewhere"
    outside.write_text("untouched")
    (tmp_path / "out/run.1.failures.json").symlink_to(outside)

    data = json.dumps({"operation": "parse", "input_path": "out/run.1.xml"})
    outcome = parse(data, tmp_path)

    assert (outcome.truncated, outcome.data_path) == (True, "out/run.1.failures.json")
    assert dict(outcome.metadata)["state_effect"] == "mutate"
    told = json.loads(outcome.data)
    assert (len(told["failures"]), told["failure_count"]) == (50, 51)
    assert told["failures_path"] == "out/run.1.failures.json"
    written = json.loads((tmp_path / "out/run.1.failures.json").read_text())
    assert [each["id"] for each in written["failures"]] == [f"a.t{number}" for number in range(51)]
    assert len(written["failures"][0]["detail"]) < 4200
    assert outside.read_text() == "untouched"
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_50_failures_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "run.xml").write_text(_many(50))
    assert len(call(tmp_path, "run.xml")[1]["failures"]) == 50
    assert [path.name for path in tmp_path.iterdir()] == ["run.xml"]


@pytest.mark.parametrize(
    ("text", "members", "kind", "fact"),
    [
        ("hello", {}, "unknown_format", "junit, jest, cargo, pytest, go"),
        ("", {}, "unknown_format", "no report"),
        ("hello", {"format": "cargo"}, "not_a_report", "cargo"),
        ("= test session starts =\n", {}, "not_a_report", "no whole report of pytest"),
        ("<testsuite><testcase", {}, "not_a_report", "junit"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><testsuite/>', {"format": "junit"}, "not_a_report", "juni"),
        ("{}", {"format": "jest"}, "not_a_report", "jest"),
        ("[" * 100_000, {"format": "go"}, "not_a_report", "go"),
        ("x", {"format": "tap"}, "invalid_input", "auto, junit"),
    ],
)
def test_what_is_no_report_is_refused(
    tmp_path: Path, text: str, members: dict[str, object], kind: str, fact: str
) -> None:
    (tmp_path / "report").write_text(text)
    status, data = call(tmp_path, "report", **members)
    assert status == ("error" if kind == "invalid_input" else "failed")
    assert data["error_kind"] == kind and fact in data["message"]


def test_a_report_in_another_encoding_is_read_all_the_same(tmp_path: Path) -> None:
    text = '<?xml version="1.0" encoding="ISO-8859-1"?><testsuite><testcase name="t\xe9"><error/>'
    (tmp_path / "run.xml").write_bytes(f"{text}</testcase></testsuite>".encode("latin-1"))
    assert call(tmp_path, "run.xml")[1]["failures"][0]["id"] == "t\ufffd"


def test_a_report_that_is_not_there_or_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reporting, "REPORT_BYTES", 4)
    (tmp_path / "large").write_text("12345")
    (tmp_path / "link").symlink_to("/etc/passwd")
    kinds = {
        "none": "not_found",
        ".": "is_directory",
        "large": "too_large",
        "/etc/passwd": "absolute_path",
        "link": "outside_workdir",
    }
    for path, kind in kinds.items():
        assert call(tmp_path, path)[1]["error_kind"] == kind
    assert "input_path is missing" in json.loads(parse('{"operation":"parse"}', tmp_path).data).get(
        "message"
    )


TEXTS = [plain(path.read_text()) for path in sorted(CAPTURED.iterdir())]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_damaged_report_breaks_a_reader(data: st.DataObject) -> None:
    """Lines left out, doubled and cut: a reader answers, and its numbers are numbers of tests."""
    lines = data.draw(st.sampled_from(TEXTS)).splitlines(keepends=True)
    chosen = data.draw(st.lists(st.sampled_from(lines), max_size=30))
    start = data.draw(st.integers(0, len(lines)))
    text = "".join(lines[start:] + chosen)
    text = text[: data.draw(st.integers(0, len(text)))]
    for recognized, read in FORMATS.values():
        assert recognized(text) in (True, False)
        results = read(text)
        if results is not None:
            assert tuple(results.counts) == OUTCOMES
            assert all(number >= 0 for number in results.counts.values())
            assert all(each.line is None or each.line >= 0 for each in results.failures)


LONG = ("<!---->", "[ - ", "1 passed, ", "= ", "\n", "FAILED a[b - c\n", "   at ", "panicked at ")


@pytest.mark.parametrize("piece", LONG)
def test_a_long_report_of_one_thing_takes_no_long_time(piece: str) -> None:
    """Readers that go back and forth would need hours for this."""
    text = piece * 20_000 + "x"
    for recognized, read in FORMATS.values():
        assert not recognized(text)
        assert read(text) is None
