"""Six more of the default tools in whole sessions: their inputs, their refusals, and that what the
manifest grants them is enough and needed. spec/artifacts.md 16.3.
"""

import json
import os
import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import pytest
import starlette

from tests.endtoend.agent import Agent, Call
from tests.endtoend.capsule import Place

ROOT = Path(__file__).parents[2]
CORPUS: dict[str, Any] = {
    "config": {"types": {"note": {"schema": {"type": "object", "required": ["text"]}}}}
}
STORE: dict[str, Any] = {"capabilities": {"state": {"store": "kept"}}}
UNREAD: dict[str, Any] = {"filesystem": {"read_only": ["kept"]}}


@pytest.fixture
def agent(place: Place, project: Path) -> Agent:
    return Agent(place, project)


def _corpus(operation: str, **members: Any) -> Call:
    return "tool-corpus", {"operation": operation, **members}


def _graph(operation: str, repository: str = "click", **members: Any) -> Call:
    return "tool-code-graph", {"operation": operation, "repo_path": repository, **members}


def _kinds(answers: list[Any]) -> list[str]:
    return [answer.get("error_kind", "") for answer in answers]


def test_records_and_reports_outlive_their_session_in_the_granted_store(
    agent: Agent, place: Place
) -> None:
    entries = {"tool-corpus": {**CORPUS, **STORE}, "tool-report": STORE}
    append = _corpus("append", type="note", record={"text": "torn sails mended"})
    answers = agent.answers(
        append,
        ("tool-report", {"operation": "progress", "message": "begun", "done": 1, "total": 2}),
        ("tool-report", {"operation": "report", "status": "done", "summary": "mended"}),
        ("tool-report", {"operation": "report", "status": "fine", "summary": "x"}),
        _corpus("append", type="note", record={}),
        entries=entries,
        capabilities=UNREAD,
    )
    assert _kinds(answers) == ["", "", "", "invalid_input", "schema_violation"]
    assert "done, partial, blocked, failed" in answers[3]["message"]
    assert "W-SEC-018" not in agent.complaint
    effects = [line for line in agent.trace() if line["event_type"] == "tool_call"]
    assert effects[0]["state_effect"] == "mutate"
    assert effects[0]["resource_id"] == "state:corpus.jsonl"

    store = place.home / ".murmur/state/kept"
    assert json.loads((store / "report.json").read_text())["report"]["summary"] == "mended"
    found = agent.answers(
        _corpus("search", query="sails"),
        _corpus("get", id=answers[0]["id"]),
        _corpus("read_recent", limit=1),
        _corpus("verify"),
        entries=entries,
    )
    assert found[0]["entries"][0]["id"] == found[1]["entry"]["id"] == answers[0]["id"]
    assert found[2]["entries"][0]["seq"] == 1 and found[3]["sound"] is True
    assert sorted(os.listdir(store)) == ["corpus.jsonl", "report.json"]


def test_without_its_store_or_its_config_a_tool_says_what_to_write(agent: Agent) -> None:
    verify = _corpus("verify")
    told = ("tool-report", {"operation": "report", "status": "done", "summary": "x"})
    answers = agent.answers(verify, told, entries={"tool-corpus": CORPUS})
    assert _kinds(answers) == ["state_unavailable", "state_unavailable"]
    assert "capabilities: {state: {}}" in answers[0]["message"]
    [answer] = agent.answers(verify, entries={"tool-corpus": STORE})
    assert answer["error_kind"] == "config_missing" and "types" in answer["message"]


@pytest.fixture
def checkouts(agent: Agent) -> Path:
    """click and starlette as their wheels hold them."""
    for package in (click, starlette):
        assert package.__file__ is not None
        source = Path(package.__file__).parent
        left_out = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, agent.work / source.name / source.name, ignore=left_out)
    return agent.work


def test_the_code_graph_and_coverage_of_two_real_packages(agent: Agent, checkouts: Path) -> None:
    (checkouts / "cov").mkdir()
    for test, file, lines in (
        ("test_bad", "/src/click/utils.py", _lines(checkouts / "click/click/utils.py", "def echo")),
        ("test_good", "/src/click/core.py", [1, 2]),
    ):
        ran = "".join(f"DA:{line},1\n" for line in lines)
        (checkouts / f"cov/{test}.info").write_text(f"TN:{test}\nSF:{file}\n{ran}end_of_record\n")
    main, parser = "click/core.py#Command.main", "click/parser.py#_OptionParser.parse_args"
    localize = {"operation": "localize", "coverage_dir": "cov", "repo_path": "click"}
    answers = agent.answers(
        _graph("find_symbol", query="echo"),
        _graph("index_repository"),
        _graph("index_repository", "starlette"),
        _graph("find_symbol", query="echo"),
        _graph("get_symbol", symbol_id=main),
        _graph("slice_symbol", symbol_id="click/utils.py#echo"),
        _graph("explain_path", **{"from": main, "to": parser}),
        _graph(
            "impact_analysis", "starlette", symbol_id="starlette/responses.py#Response", depth=2
        ),
        _graph("get_symbol", symbol_id="click/core.py#Commando"),
        ("tool-code-coverage", {**localize, "failing_tests": ["test_bad"]}),
        ("tool-code-coverage", {**localize, "failing_tests": ["test_none"]}),
    )
    assert _kinds(answers) == ["not_indexed", *[""] * 7, "not_found", "", "unknown_tests"]
    assert "index_repository" in answers[0]["message"]
    assert answers[1]["files"] == {"python": 17} and answers[2]["symbols"] > 500
    assert answers[3]["symbols"][0]["symbol_id"] == "click/utils.py#echo"
    assert "click/core.py#Command.invoke" in json.dumps(answers[4]["outgoing"])
    assert answers[5]["content"].startswith("def echo(")
    assert [step["to"] for step in answers[6]["steps"]][-1] == parser
    assert "starlette/routing.py" in answers[7]["files"]
    assert answers[9]["symbols"][0]["symbol_id"] == "click/utils.py#echo"
    assert answers[9]["symbols"][0]["score"] == 1
    assert sorted(os.listdir(checkouts / "click")) == [".murmur", "click"]
    effects = [line for line in agent.trace() if line["event_type"] == "tool_call"]
    assert effects[1]["state_effect"] == "mutate"
    assert {effect["state_effect"] for effect in effects[3:]} == {"read"}


def _lines(path: Path, start: str) -> list[int]:
    numbers = [
        number
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if line.startswith(start)
    ]
    return [number + 1 for number in numbers]


def test_what_is_read_only_is_neither_indexed_nor_reported_beside(
    agent: Agent, checkouts: Path
) -> None:
    refused = agent.answers(
        _graph("index_repository"),
        ("tool-test-report", {"operation": "parse", "input_path": "click/run.xml"}),
        _graph("index_repository", "starlette"),
        capabilities={"filesystem": {"read_only": ["click"]}},
    )
    assert "W-SEC-018" not in agent.complaint
    # What was refused before its dispatch is no call of the trace.
    assert [answer["database"] for answer in refused] == ["starlette/.murmur/code-graph.db"]
    denied = [line for line in agent.trace() if line["event_type"] == "protected_path_denied"]
    assert len(denied) == 2
    assert not (checkouts / "click/.murmur").exists()


def test_test_reports_of_five_runners_are_read(agent: Agent) -> None:
    captured = ROOT / "py/artifacts/tool-test-report/tests/captured"
    forms = {
        "pytest.txt": "pytest",
        "junit.xml": "junit",
        "cargo.txt": "cargo",
        "go.json": "go",
        "jest.json": "jest",
    }
    for name in forms:
        shutil.copy(captured / name, agent.work)
    failure = '<testcase name="t{}"><failure message="no"/></testcase>'
    cases = "".join(failure.format(number) for number in range(51))
    (agent.work / "many.xml").write_text(f"<testsuite>{cases}</testsuite>")
    (agent.work / "notes.txt").write_text("no report")
    names = [*forms, "many.xml", "notes.txt", "none.xml"]
    answers = agent.answers(
        *(("tool-test-report", {"operation": "parse", "input_path": name}) for name in names)
    )
    assert [answer["format"] for answer in answers[:5]] == list(forms.values())
    assert all(answer["counts"]["failed"] > 0 for answer in answers[:5])
    assert answers[5]["failures_path"] == "many.failures.json"
    assert len(json.loads((agent.work / "many.failures.json").read_text())["failures"]) == 51
    assert _kinds(answers)[6:] == ["unknown_format", "not_found"]


@pytest.mark.parametrize(
    ("calls", "kind"),
    [
        ([("tool-test-report", {"operation": "parse", "input_path": "in/run.xml"})], "not_found"),
        ([_graph("index_repository", "in")], "not_found"),
        (
            [
                _graph("index_repository", "in"),
                (
                    "tool-code-coverage",
                    {
                        "operation": "localize",
                        "coverage_dir": "in",
                        "failing_tests": ["t"],
                        "repo_path": "in",
                    },
                ),
            ],
            "not_indexed",
        ),
    ],
)
def test_a_tool_sees_only_the_folder_that_its_entry_names(
    agent: Agent, calls: list[Call], kind: str
) -> None:
    (agent.work / "in").mkdir()
    (agent.work / "in/run.xml").write_text("<testsuite><testcase name='t'/></testsuite>")
    (agent.work / "in/run.info").write_text("TN:t\nSF:a.py\nDA:1,1\nend_of_record\n")
    (agent.work / "in/a.py").write_text("def f(): ...\n")
    scoped = {calls[-1][0]: {"capabilities": {"filesystem": {"scope": "elsewhere"}}}}
    assert agent.answers(*calls, entries=scoped)[-1]["error_kind"] == kind
    assert agent.answers(*calls)[-1]["ok"] is True


@pytest.fixture(scope="session")
def file_facts(place: Place, tmp_path_factory: pytest.TempPathFactory) -> None:
    """tool-file-facts, published once: as the build made it, else compiled here."""
    named = os.environ.get("MURMUR_TEST_FILE_FACTS")
    folder = tmp_path_factory.mktemp("file-facts")
    source = ROOT / "c/tools/file-facts"
    if named:
        program = Path(named)
    else:
        compiler = shutil.which("cc")
        if compiler is None:
            pytest.skip("no C compiler")
        program = folder / "tool-file-facts"
        sources = sorted(map(str, source.glob("*.c")))
        options = ["-std=c11", "-D_GNU_SOURCE", "-static"]
        subprocess.run([compiler, *options, "-o", str(program), *sources], check=True)
    archive = folder / "tool-file-facts-0.1.0.mur.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("murmur.yaml", (source / "murmur.yaml").read_bytes())
        info = zipfile.ZipInfo("bin/tool-file-facts")
        info.external_attr = 0o755 << 16
        packed.writestr(info, program.read_bytes())
    done = place.mur("publish", str(archive), cwd=folder)
    assert done.returncode == 0, done.stderr


def test_the_native_tool_tells_of_files_and_is_contained(agent: Agent, file_facts: None) -> None:
    (agent.work / "run.sh").write_text("#!/bin/sh\n")
    (agent.work / "run.sh").chmod(0o750)
    (agent.work / "out").symlink_to(agent.place.home)
    given: list[Mapping[str, Any]] = [{"hash": True}, {"path": "out/x"}, {"path": "/"}, {"all": 1}]
    answers = agent.answers(*(("tool-file-facts", each) for each in given), capabilities=UNREAD)
    told = {entry["path"]: entry for entry in answers[0]["entries"]}
    assert (told["run.sh"]["mode"], told["run.sh"]["content"]) == ("0750", "ASCII text script")
    assert len(told["run.sh"]["sha256"]) == 64 and told["out"]["kind"] == "link"
    assert _kinds(answers[1:]) == ["not_found", "absolute_path", "invalid_input"]
    assert "W-SEC-018" not in agent.complaint
