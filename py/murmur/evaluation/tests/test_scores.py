"""`eval.jsonl` as it is read, shown and compared."""

import json
from pathlib import Path
from typing import Any

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.evaluation.comparing import compare_scores
from murmur.evaluation.scores import Scores, read_scores, score_lines


def scored(scorer: str, result: str, turn: int = 0, **fields: Any) -> dict[str, Any]:
    known = {"record_type": "event_score", "ts": 1, "event_type": "session_end"}
    score = 1.0 if result == "pass" else 0.0
    return known | {"scorer": scorer, "result": result, "turn": turn, "score": score} | fields


def verdict(overall: str, **fields: Any) -> dict[str, Any]:
    return {"record_type": "dataset_run", "overall": overall, "scores": {}} | fields


def read(path: Path, *records: dict[str, Any]) -> Scores:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return read_scores(path)


def test_the_recorded_verdict_wins_and_else_the_scores_decide(tmp_path: Path) -> None:
    file = tmp_path / "eval.jsonl"
    assert read(file).overall == "no_scores"
    assert read(file, scored("a", "pass")).overall == "pass"
    assert read(file, scored("a", "pass"), scored("b", "fail")).overall == "fail"
    assert read(file, scored("a", "fail"), verdict("pass")).overall == "pass"
    assert read(file, verdict("no_scores")).overall == "no_scores"


def test_a_broken_configuration_is_no_scores_with_its_text(tmp_path: Path) -> None:
    broken = verdict("config_error", config_error={"key": "scorers[0].max", "message": "is -1"})
    scores = read(tmp_path / "eval.jsonl", broken)
    assert scores.overall == "no_scores"
    assert "  config error: scorers[0].max: is -1" in list(score_lines(scores))


def test_a_session_is_summed_up(tmp_path: Path) -> None:
    records = [scored("z", "fail", turn, reason=f"t{turn}") for turn in (3, 1, 2)]
    records += [
        scored("a", "fail", 9),
        scored("a", "pass"),
        scored("b", "fail"),
        scored("b", "fail"),
    ]
    scores = read(tmp_path / "eval.jsonl", *records, verdict("fail", scores={"a": 0.5, "z": 0}))
    assert list(score_lines(scores)) == [
        "Scorers:",
        "  a                        1/2  50.0%",
        "  b                        0/2  0.0%",
        "  z                        0/3  0.0%",
        "",
        "Overall: fail",
        "",
        "Score summary:",
        "  a                        0.5000",
        "  z                        0.0000",
        "",
        "Worst events:",
        "  a                        turn 9  ",
        "  b                        turn 0  ",
        "  b                        turn 0  ",
        "  z                        turn 1  t1",
        "  z                        turn 2  t2",
    ]
    assert scores.as_json()["scorers"]["a"] == {
        "pass": 1,
        "fail": 1,
        "total": 2,
        "pass_rate": 0.5,
    }


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("nope", "it is not JSON"),
        ("[]", "it is no JSON object"),
        ('{"record_type":"x"}', "record_type 'x' is none of"),
        ("{}", "record_type is missing"),
        ('{"record_type":"event_score","scorer":"a"}', "result is missing"),
        ('{"record_type":"event_score","scorer":"a","result":"maybe"}', "result is 'maybe'"),
        ('{"record_type":"dataset_run","overall":"pass"}', "scores is missing"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, reason: str) -> None:
    path = tmp_path / "eval.jsonl"
    path.write_text(f"{json.dumps(scored('a', 'pass'))}\n{line}\n")
    with pytest.raises(MurmurError) as refused:
        read_scores(path)
    assert refused.value.code == "E-EVAL-001"
    assert refused.value.diagnostic.message.startswith(f"{path}:2: {reason}")


def test_two_sessions_are_compared_to_the_letter(tmp_path: Path) -> None:
    a = read(
        tmp_path / "a",
        scored("success_check", "fail"),
        scored("token_budget", "pass"),
        scored("old", "pass"),
        verdict("fail"),
    )
    b = read(
        tmp_path / "b",
        scored("success_check", "pass"),
        scored("token_budget", "pass"),
        scored("new", "fail"),
        verdict("pass"),
    )
    assert list(compare_scores(a, b)) == [
        "Scorer                   Run A          Run B          Delta",
        "──────────────────────── ────────────── ────────────── ──────────────────────────",
        "success_check            0.0%           100.0%         +100.0pp (B better)",
        "token_budget             100.0%         100.0%         =",
        "old                      100.0%         —              (A only)",
        "new                      —              0.0%           (B only)",
        "",
        "overall                  fail           pass",
    ]
