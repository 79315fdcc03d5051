"""How the arms of one eval run compare: per case and in total, as text and as JSON.

CLI reference, *Comparing the arms of an eval run*. Nothing is read but the record.
"""

import statistics
from collections.abc import Callable, Iterator
from typing import Any, Final

from murmur.evaluation.record import Run, RunRecord

_LABEL: Final = 20
_CELL: Final = 24
_DELTA: Final = "delta (variant \N{MINUS SIGN} baseline)"
MEASURES: Final = {
    "turns": "turns",
    "input_tokens": "input tokens",
    "cached_tokens": "cached tokens",
    "cache_write_tokens": "cache write tokens",
    "output_tokens": "output tokens",
    "agent_ms": "time",
}


def comparison_json(record: RunRecord) -> dict[str, Any]:
    """The object of `mur eval diff --run --json`."""
    arms = [arm.name for arm in record.arms]
    return {
        "run_id": record.run_id,
        "complete": record.complete,
        "repeat": record.repeat,
        "runs_recorded": len(record.runs),
        "runs_expected": record.runs_expected,
        "arms": [
            {
                "name": arm.name,
                "manifest": arm.manifest,
                "manifest_sha256": arm.manifest_sha256,
                "model": arm.model,
            }
            for arm in record.arms
        ],
        "cases": [
            {
                "case_id": case,
                "arms": {arm: _figures(record.of(case, arm), _spread) for arm in arms},
                "trace_diffs": [list(pair) for pair in trace_pairs(record, case)],
            }
            for case in record.cases
        ],
        "total": {arm: _figures(record.of(None, arm), _sum) for arm in arms},
    }


def _figures(runs: list[Run], measure: Callable[[list[int]], Any]) -> dict[str, Any]:
    checks = [run.check for run in runs if run.check is not None]
    scored = [run.overall for run in runs if run.overall in ("pass", "fail")]
    return {
        "runs": len(runs),
        "check_pass": sum(check.result == "pass" for check in checks),
        "check_runs": len(checks),
        "check_not_run": sum(check.result == "not_run" for check in checks),
        **{name: measure(_reported(runs, name)) for name in MEASURES},
        "scores_pass": scored.count("pass") if scored else None,
        "scores_runs": len(scored),
    }


def _reported(runs: list[Run], name: str) -> list[int]:
    values = (getattr(run, name) for run in runs)
    return [value for value in values if value is not None]


def _spread(values: list[int]) -> dict[str, float] | None:
    if not values:
        return None
    return {"median": float(statistics.median(values)), "min": min(values), "max": max(values)}


def _sum(values: list[int]) -> int | None:
    return sum(values) if values else None


def trace_pairs(record: RunRecord, case_id: str) -> Iterator[tuple[str, str]]:
    """The traces of each repeat's two sessions, the baseline's first."""
    names = [arm.name for arm in record.arms]
    if len(names) < 2:
        return
    ours, theirs = ({r.repeat: r.trace for r in record.of(case_id, arm)} for arm in names)
    for repeat in sorted(ours.keys() & theirs.keys()):
        before, after = ours[repeat], theirs[repeat]
        if before is not None and after is not None:
            yield before, after


def comparison_lines(record: RunRecord) -> Iterator[str]:
    """What `mur eval diff --run` and the end of `mur eval run` print."""
    yield f"── Eval run: {record.run_id} ".ljust(79, "─")
    yield f"  dataset:  {record.dataset}"
    yield f"  repeat:   {record.repeat}"
    recorded = f"incomplete: {len(record.runs)} of {record.runs_expected} runs recorded"
    yield f"  status:   {'complete' if record.complete else recorded}"
    for arm in record.arms:
        yield f"  {arm.name + ':':<9} {arm.manifest}"
    yield f"  model:    {record.arms[0].model}"
    names = [arm.name for arm in record.arms]
    for case in record.cases:
        yield ""
        yield f"── case: {case} ".ljust(44, "─")
        yield from _table(names, [record.of(case, arm) for arm in names], _shown_median)
        for before, after in trace_pairs(record, case):
            yield f"  mur trace diff {before} {after}"
    yield ""
    yield "── total ".ljust(44, "─")
    yield from _table(names, [record.of(None, arm) for arm in names], _shown_sum)


def _table(
    names: list[str],
    arms: list[list[Run]],
    shown: Callable[[str, list[int]], tuple[str, float | None]],
) -> Iterator[str]:
    head = [*names, *([_DELTA] if len(names) > 1 else [])]
    yield _row("", *head)
    checks = [_passes([r.check.result for r in runs if r.check is not None]) for runs in arms]
    yield _delta_row("check", checks, "d")
    for name, label in MEASURES.items():
        cells = [shown(name, _reported(runs, name)) for runs in arms]
        yield _delta_row(label, cells, "ms" if name == "agent_ms" else "g")
    scored = [[r.overall for r in runs if r.overall in ("pass", "fail")] for runs in arms]
    if any(scored):
        yield _delta_row(
            "scorers", [_passes([str(each) for each in found]) for found in scored], "d"
        )


def _row(label: str, *cells: str) -> str:
    return f"  {label:<{_LABEL}} " + " ".join(f"{cell:<{_CELL}}" for cell in cells).rstrip()


def _delta_row(label: str, cells: list[tuple[str, float | None]], kind: str) -> str:
    texts = [text for text, _ in cells]
    if len(cells) < 2:
        return _row(label, *texts)
    before, after = cells[0][1], cells[1][1]
    if before is None or after is None:
        return _row(label, *texts, "—")
    delta = after - before
    if kind == "ms":
        sign = "+" if delta > 0 else "-" if delta < 0 else ""
        return _row(label, *texts, f"{sign}{_seconds(abs(delta))}" if delta else "0")
    return _row(label, *texts, f"{delta:+g}" if delta else "0")


def _passes(results: list[str]) -> tuple[str, float | None]:
    """`k/n pass`, and k; a case without a check has neither."""
    if not results:
        return "—", None
    passed, missing = results.count("pass"), results.count("not_run")
    tail = f" ({missing} not run)" if missing else ""
    return f"{passed}/{len(results)} pass{tail}", passed


def _shown_median(name: str, values: list[int]) -> tuple[str, float | None]:
    if not values:
        return "—", None
    show = _seconds if name == "agent_ms" else _number
    median = float(statistics.median(values))
    if len(values) == 1:
        return show(median), median
    return f"{show(median)} ({show(min(values))}\N{EN DASH}{show(max(values))})", median


def _shown_sum(name: str, values: list[int]) -> tuple[str, float | None]:
    if not values:
        return "—", None
    total = sum(values)
    return (_seconds if name == "agent_ms" else _number)(total), total


def _number(value: float) -> str:
    return f"{value:g}" if value != int(value) else str(int(value))


def _seconds(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.1f}s"
