"""From a session's totals and the configured scorers to the lines of eval.jsonl."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

FILE = "eval.jsonl"
VARIABLE = "MURMUR_EVAL_CONFIG"
MOST_TURNS, MOST_TOKENS = 10, 100_000


@dataclass(frozen=True)
class Session:
    """What is scored."""

    exit_status: str
    turns: int
    tokens: int
    tools: tuple[str, ...]


@dataclass(frozen=True)
class Scored:
    """One scorer's verdict."""

    scorer: str
    passed: bool
    reason: str

    @property
    def result(self) -> str:
        """The verdict as it is written."""
        return "pass" if self.passed else "fail"

    @property
    def score(self) -> float:
        """The verdict as a number."""
        return 1.0 if self.passed else 0.0


class BadConfig(ValueError):
    """An entry that cannot be followed; `key` says where it stands."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(f"{key}: {message}")
        self.key = key
        self.message = message


def read_scorers(environ: Mapping[str, str]) -> list[Mapping[str, object]]:
    """The configured scorers; empty where there is nothing to score. Raises BadConfig."""
    text = environ.get(VARIABLE, "")
    if not text.strip():
        return []
    try:
        config = json.loads(text)
    except ValueError:
        raise BadConfig(VARIABLE, "it is not JSON") from None
    if not isinstance(config, dict):
        raise BadConfig(VARIABLE, "it must be an object")
    scorers = config.get("scorers", [])
    if not isinstance(scorers, list):
        raise BadConfig("scorers", "it must be a list")
    for index, scorer in enumerate(scorers):
        _check(scorer, f"scorers[{index}]")
    return scorers


def _check(scorer: object, at: str) -> None:
    if not isinstance(scorer, dict) or not isinstance(scorer.get("type"), str):
        raise BadConfig(f"{at}.type", "it must be a string")
    name, most, expected = scorer.get("name"), scorer.get("max"), scorer.get("expected")
    if name is not None and not isinstance(name, str):
        raise BadConfig(f"{at}.name", "it must be a string")
    if most is not None and (not isinstance(most, int) or isinstance(most, bool)):
        raise BadConfig(f"{at}.max", "it must be an integer")
    texts = isinstance(expected, list) and all(isinstance(each, str) for each in expected)
    if expected is not None and not texts:
        raise BadConfig(f"{at}.expected", "it must be a list of strings")


def score(scorers: Sequence[Mapping[str, object]], session: Session) -> list[Scored]:
    """The verdicts; `llm_judge` and unknown types score nothing."""
    found = (_score(scorer, session) for scorer in scorers)
    return [each for each in found if each is not None]


def unscored(scorers: Sequence[Mapping[str, object]]) -> list[str]:
    """The types that score nothing here, for a warning."""
    known = ("exit_ok", "max_turns", "max_tokens", "tool_sequence")
    return [str(scorer["type"]) for scorer in scorers if scorer["type"] not in known]


def _score(scorer: Mapping[str, object], session: Session) -> Scored | None:
    kind = scorer["type"]
    name = str(scorer.get("name") or kind)
    if kind == "exit_ok":
        return Scored(name, session.exit_status == "ok", f"exit_status={session.exit_status}")
    if kind == "max_turns":
        return _bounded(name, "turns", session.turns, scorer.get("max"), MOST_TURNS)
    if kind == "max_tokens":
        return _bounded(name, "tokens", session.tokens, scorer.get("max"), MOST_TOKENS)
    if kind == "tool_sequence":
        expected = scorer.get("expected")
        wanted = [str(each) for each in expected] if isinstance(expected, list) else []
        called = iter(session.tools)
        passed = all(any(tool == each for tool in called) for each in wanted)
        seen = ",".join(session.tools)
        return Scored(name, passed, f"expected={','.join(wanted)} called={seen}")
    return None


def _bounded(name: str, what: str, value: int, most: object, default: int) -> Scored:
    bound = most if isinstance(most, int) else default
    return Scored(name, value <= bound, f"{what}={value} max={bound}")


def lines(scored: Sequence[Scored], turn: int, now_ms: int, environ: Mapping[str, str]) -> str:
    """The lines, the run's own last."""
    rows: list[dict[str, object]] = [
        {
            "record_type": "event_score",
            "ts": now_ms,
            "turn": turn,
            "event_type": "session_end",
            "scorer": each.scorer,
            "result": each.result,
            "score": each.score,
            "reason": each.reason,
        }
        for each in scored
    ]
    overall = "pass" if all(each.passed for each in scored) else "fail"
    run = _run(overall if scored else "no_scores", now_ms, environ)
    run["scores"] = {each.scorer: each.score for each in scored}
    return "".join(map(_line, [*rows, run]))


def problem_line(bad: BadConfig, now_ms: int, environ: Mapping[str, str]) -> str:
    """The one line of a configuration that cannot be followed."""
    problem = {"key": bad.key, "message": bad.message}
    run = _run("config_error", now_ms, environ)
    return _line({**run, "scores": {}, "config_error": problem})


def _run(overall: str, now_ms: int, environ: Mapping[str, str]) -> dict[str, object]:
    return {
        "record_type": "dataset_run",
        "ts": now_ms,
        "dataset_id": environ.get("MURMUR_DATASET_ID"),
        "case_id": environ.get("MURMUR_CASE_ID"),
        "overall": overall,
    }


def _line(row: Mapping[str, object]) -> str:
    text = json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text + "\n"
