"""What the scorers say, and the lines that come of it."""

import json

import pytest
from eval_hook.scoring import (
    BadConfig,
    Scored,
    Session,
    lines,
    problem_line,
    read_scorers,
    score,
    unscored,
)

SESSION = Session("ok", 4, 1500, ("tool-editor", "bash", "tool-editor"))


@pytest.mark.parametrize(
    ("scorer", "expected"),
    [
        ({"type": "exit_ok"}, Scored("exit_ok", True, "exit_status=ok")),
        ({"type": "max_turns", "max": 3}, Scored("max_turns", False, "turns=4 max=3")),
        ({"type": "max_turns"}, Scored("max_turns", True, "turns=4 max=10")),
        (
            {"type": "max_tokens", "name": "cheap", "max": 1500},
            Scored("cheap", True, "tokens=1500 max=1500"),
        ),
        (
            {"type": "tool_sequence", "expected": ["bash", "tool-editor"]},
            Scored(
                "tool_sequence",
                True,
                "expected=bash,tool-editor called=tool-editor,bash,tool-editor",
            ),
        ),
    ],
)
def test_each_scorer_judges_its_own(scorer: dict[str, object], expected: Scored) -> None:
    assert score([scorer], SESSION) == [expected]


def test_a_sequence_out_of_order_fails() -> None:
    (verdict,) = score([{"type": "tool_sequence", "expected": ["bash", "bash"]}], SESSION)
    assert not verdict.passed


def test_a_judge_and_unknown_types_score_nothing() -> None:
    scorers = [{"type": "llm_judge"}, {"type": "vibes"}]
    assert score(scorers, SESSION) == [] and unscored(scorers) == ["llm_judge", "vibes"]


def test_the_run_comes_last_with_keys_in_order() -> None:
    scored = score([{"type": "exit_ok"}, {"type": "max_turns", "max": 1}], SESSION)
    text = lines(scored, 4, 99, {"MURMUR_CASE_ID": "c1"})
    first, _, run = text.splitlines()
    assert first == (
        '{"event_type":"session_end","reason":"exit_status=ok","record_type":"event_score",'
        '"result":"pass","score":1.0,"scorer":"exit_ok","ts":99,"turn":4}'
    )
    assert json.loads(run) == {
        "record_type": "dataset_run",
        "ts": 99,
        "dataset_id": None,
        "case_id": "c1",
        "overall": "fail",
        "scores": {"exit_ok": 1.0, "max_turns": 0.0},
    }


def test_without_a_score_the_run_says_so() -> None:
    assert json.loads(lines([], 0, 1, {}))["overall"] == "no_scores"


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ("{", "MURMUR_EVAL_CONFIG"),
        ("[]", "MURMUR_EVAL_CONFIG"),
        ('{"scorers":{}}', "scorers"),
        ('{"scorers":[{"type":"exit_ok"},{}]}', "scorers[1].type"),
        ('{"scorers":[{"type":"max_turns","max":"1"}]}', "scorers[0].max"),
        ('{"scorers":[{"type":"tool_sequence","expected":"a"}]}', "scorers[0].expected"),
        ('{"scorers":[{"type":"exit_ok","name":1}]}', "scorers[0].name"),
    ],
)
def test_a_bad_entry_is_named_and_nothing_is_scored(config: str, key: str) -> None:
    with pytest.raises(BadConfig) as bad:
        read_scorers({"MURMUR_EVAL_CONFIG": config})
    assert bad.value.key == key
    line = json.loads(problem_line(bad.value, 1, {}))
    assert line["overall"] == "config_error" and line["config_error"]["key"] == key


def test_no_configuration_is_nothing_to_do() -> None:
    assert read_scorers({}) == [] and read_scorers({"MURMUR_EVAL_CONFIG": '{"scorers":[]}'}) == []
