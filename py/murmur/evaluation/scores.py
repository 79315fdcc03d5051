"""Reading `eval.jsonl`, which the eval hook writes at a session's end.

spec/observability.md 11.1 and 11.4; CLI reference, *mur eval show*.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from murmur.core.diagnostics import MurmurError, error

EVAL_FILE: Final = "hooks/eval.jsonl"
WORST: Final = 5
Overall = Literal["pass", "fail", "no_scores"]


@dataclass(slots=True)
class Tally:
    """How often a scorer passed."""

    passed: int = 0
    total: int = 0

    @property
    def rate(self) -> float:
        """Share that passed, from 0 to 1."""
        return self.passed / self.total if self.total else 0.0


@dataclass(frozen=True, slots=True)
class Failing:
    """One event that a scorer failed."""

    scorer: str
    turn: int
    reason: str


@dataclass(slots=True)
class Scores:
    """What one `eval.jsonl` says. `run` is its `dataset_run` record, as it was written."""

    scorers: dict[str, Tally] = field(default_factory=dict)
    failing: list[Failing] = field(default_factory=list)
    run: Mapping[str, Any] | None = None

    @property
    def overall(self) -> Overall:
        """The recorded verdict, else the one that the scores make; a broken config scored none."""
        if self.run is not None and self.run["overall"] in ("pass", "fail"):
            return "pass" if self.run["overall"] == "pass" else "fail"
        if self.run is not None or not self.scorers:
            return "no_scores"
        return "pass" if all(t.passed == t.total for t in self.scorers.values()) else "fail"

    @property
    def config_error(self) -> str:
        """Why the hook's configuration scored nothing; empty when it was sound."""
        found = (self.run or {}).get("config_error")
        if not isinstance(found, Mapping):
            return ""
        return f"{found.get('key')}: {found.get('message')}"

    def worst(self) -> list[Failing]:
        """The first failing events by scorer, then turn."""
        return sorted(self.failing, key=lambda each: (each.scorer, each.turn))[:WORST]

    def as_json(self) -> dict[str, Any]:
        """The object of `mur eval show --json`."""
        return {
            "overall": self.overall,
            "scorers": {
                name: {
                    "pass": tally.passed,
                    "fail": tally.total - tally.passed,
                    "total": tally.total,
                    "pass_rate": tally.rate,
                }
                for name, tally in sorted(self.scorers.items())
            },
            "dataset_run": None if self.run is None else dict(self.run),
        }


def read_scores(path: Path) -> Scores:
    """The scores in one file. Raises E-EVAL-001 naming the line, FileNotFoundError for no file."""
    scores = Scores()
    try:
        with open(path, "rb") as file:
            for number, raw in enumerate(file, 1):
                if raw.strip():
                    _take(scores, _record(raw, path, number), path, number)
    except FileNotFoundError:
        raise
    except OSError as failure:
        raise error("E-IO-003", what=path, reason=failure.strerror or "", hint="") from None
    return scores


def _bad(path: Path, number: int, reason: str) -> MurmurError:
    return error("E-EVAL-001", file=path, line=number, reason=reason)


def _record(raw: bytes, path: Path, number: int) -> Mapping[str, Any]:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        raise _bad(path, number, "it is not JSON") from None
    if not isinstance(value, dict):
        raise _bad(path, number, "it is no JSON object")
    return value


def _take(scores: Scores, record: Mapping[str, Any], path: Path, number: int) -> None:
    kind = _member(record, "record_type", str, path, number)
    if kind == "event_score":
        name = _member(record, "scorer", str, path, number)
        result = _member(record, "result", str, path, number)
        if result not in ("pass", "fail"):
            raise _bad(path, number, f"result is {result!r}, not pass or fail")
        tally = scores.scorers.setdefault(name, Tally())
        tally.total += 1
        tally.passed += result == "pass"
        if result == "fail":
            turn = _member(record, "turn", int, path, number)
            scores.failing.append(Failing(name, turn, str(record.get("reason", ""))))
    elif kind == "dataset_run":
        overall = _member(record, "overall", str, path, number)
        if overall not in ("pass", "fail", "no_scores", "config_error"):
            raise _bad(path, number, f"overall is {overall!r}, which no verdict is")
        _member(record, "scores", dict, path, number)
        scores.run = record
    else:
        raise _bad(path, number, f"record_type {kind!r} is none of event_score, dataset_run")


def _member(record: Mapping[str, Any], name: str, kind: type, path: Path, number: int) -> Any:
    value = record.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        problem = "is missing" if name not in record else f"is {value!r}"
        raise _bad(path, number, f"{name} {problem}")
    return value


def score_lines(scores: Scores) -> Iterator[str]:
    """What `mur eval show` prints."""
    yield "Scorers:"
    for name, tally in sorted(scores.scorers.items()):
        yield f"  {name:<24} {tally.passed}/{tally.total}  {100 * tally.rate:.1f}%"
    if not scores.scorers:
        yield "  none"
    yield ""
    yield f"Overall: {scores.overall}"
    if scores.config_error:
        yield f"  config error: {scores.config_error}"
    summary = (scores.run or {}).get("scores", {})
    if summary:
        yield ""
        yield "Score summary:"
        for name, value in sorted(summary.items()):
            shown = f"{value:.4f}" if isinstance(value, int | float) else str(value)
            yield f"  {name:<24} {shown}"
    if scores.failing:
        yield ""
        yield "Worst events:"
        for each in scores.worst():
            yield f"  {each.scorer:<24} turn {each.turn}  {each.reason}"
