"""tool-report: steps and reports, refusals, and that its file is never half-written (spec 16.3)."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path
from typing import Any

import pytest
from report_tool import report
from report_tool.report import tell


def call(folder: Path, operation: str, **members: object) -> tuple[str, dict[str, Any]]:
    outcome = tell(json.dumps({"operation": operation, **members}), lambda: folder)
    return outcome.status, json.loads(outcome.data)


def held(folder: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((folder / report.NAME).read_text())
    return value


def test_steps_are_kept_until_the_work_after_a_report_begins(tmp_path: Path) -> None:
    assert call(tmp_path, "progress", message="begun")[1]["steps"] == 1
    assert call(tmp_path, "progress", message="half", done=1, total=2)[1]["steps"] == 2
    assert held(tmp_path)["report"] is None
    status, data = call(tmp_path, "report", status="done", summary="é", data={"n": 1})
    assert (status, data["steps"], data["path"]) == ("passed", 2, "state/report.json")
    kept = held(tmp_path)
    assert kept["report"] == {"at": data["at"], "status": "done", "summary": "é", "data": {"n": 1}}
    assert [step["message"] for step in kept["progress"]] == ["begun", "half"]
    assert (kept["progress"][1]["done"], kept["progress"][1]["total"]) == (1, 2)
    call(tmp_path, "progress", message="next")
    kept = held(tmp_path)
    assert (kept["report"], len(kept["progress"]), kept["told"]) == (None, 1, 1)


def test_only_the_newest_steps_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "STEPS_KEPT", 2)
    for number in range(3):
        call(tmp_path, "progress", message=str(number))
    assert [step["message"] for step in held(tmp_path)["progress"]] == ["1", "2"]
    assert held(tmp_path)["told"] == 3


@pytest.mark.parametrize(
    ("operation", "members", "kind", "fact"),
    [
        ("report", {"summary": "x"}, "invalid_input", "done, partial, blocked, failed"),
        ("report", {"status": "done"}, "invalid_input", "summary is missing"),
        ("report", {"status": "done", "summary": " "}, "invalid_input", "blank"),
        ("report", {"status": "done", "summary": "x" * 70_000}, "too_large", "65536"),
        ("report", {"status": "done", "summary": "x", "data": []}, "invalid_input", "an object"),
        ("report", {"status": "done", "summary": "x", "message": "y"}, "invalid_input", "message"),
        ("progress", {"message": "x", "done": 3, "total": 2}, "invalid_input", "from 0 to 2"),
        ("progress", {"message": "x", "done": 3}, "invalid_input", "total"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(
    tmp_path: Path, operation: str, members: dict[str, object], kind: str, fact: str
) -> None:
    status, data = call(tmp_path, operation, **members)
    assert status == ("error" if kind == "invalid_input" else "failed")
    assert data["error_kind"] == kind and fact in data["message"]
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_others_wrote_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / report.NAME).write_text("notes")
    status, data = call(tmp_path, "progress", message="x")
    assert (status, data["error_kind"]) == ("failed", "state_unavailable")
    assert "move it away" in data["message"]
    assert (tmp_path / report.NAME).read_text() == "notes"
    assert [path.name for path in tmp_path.iterdir()] == [report.NAME]


def _tell_many(folder: Path) -> None:
    for number in range(20):
        assert call(folder, "progress", message=str(number))[0] == "passed"


def test_steps_told_at_once_are_all_counted(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    tellers = [context.Process(target=_tell_many, args=(tmp_path,)) for _ in range(3)]
    for teller in tellers:
        teller.start()
    for teller in tellers:
        teller.join(60)
        assert teller.exitcode == 0
    assert held(tmp_path)["told"] == 60
