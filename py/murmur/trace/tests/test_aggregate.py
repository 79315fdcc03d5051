"""`mur trace report` against the table that the CLI reference prints."""

import math
import statistics
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from murmur.core.diagnostics import MurmurError
from murmur.trace.aggregate import Report, Spread
from murmur.trace.tests import recording as rec

TABLE = """\
Sessions: 3  (./workdir)

Metric                 Mean           StdDev         Min            Max
────────────────────── ────────────── ────────────── ────────────── ──────────────
turns                  2.7            1.7            1.0            5.0
duration (ms)          800            648            200            1,700
input tokens           4,133          3,996          500            9,700
output tokens          513            420            100            1,090
tool calls             2.0            2.2            0.0            5.0
tool success (%)       90.0           10.0           80.0           100.0
shell calls            2.0            2.2            0.0            5.0
redundant calls        0.0            0.0            0.0            0.0

Exit status:
  max_turns_reached        1  (33.3%)
  ok                       2  (66.7%)
"""


def session(path: Path, turns: int, ms: int, given_: int, made: int, calls: int, bad: int) -> Path:
    totals = {
        "total_turns": turns,
        "duration_ms": ms,
        "total_input_tokens": given_,
        "total_output_tokens": made,
        "total_tool_calls": calls,
        "total_shell_calls": calls,
        "exit_status": "max_turns_reached" if bad else "ok",
    }
    events = [rec.call(1, "t", {}, status="error" if at < bad else "ok") for at in range(calls)]
    return rec.record(path / "trace.jsonl", [rec.start(), *events, rec.end(**totals)])


def test_the_table_is_printed_to_the_letter(tmp_path: Path) -> None:
    report = Report()
    for at, figures in enumerate(
        [(2, 500, 2200, 350, 1, 0), (5, 1700, 9700, 1090, 5, 1), (1, 200, 500, 100, 0, 0)]
    ):
        assert report.add(session(tmp_path / str(at), *figures))
    assert "\n".join(report.lines("./workdir")) + "\n" == TABLE


def test_tasks_are_averaged_over_sessions_that_ran_several(tmp_path: Path) -> None:
    report = Report()
    several = [rec.start(), *rec.task(1, turns=1), *rec.task(2, turns=3), rec.end()]
    report.add(rec.record(tmp_path / "a" / "trace.jsonl", several))
    report.add(rec.record(tmp_path / "b" / "trace.jsonl", [rec.start(), *rec.task(1), rec.end()]))
    lines = list(report.lines("."))
    head = lines.index("── Per-task averages (multi-task sessions only) ──────────────")
    assert lines[head + 3] == (
        "task turns             2.0            1.0            1.0            3.0"
    )
    assert lines[-1] == "Tasks: 2"


def test_only_a_trace_without_an_event_is_skipped(tmp_path: Path) -> None:
    report = Report()
    empty = tmp_path / "trace.jsonl"
    empty.write_text("")
    assert report.add(empty) == []
    assert (report.sessions, report.skipped) == (0, 1)
    for tail in ("{", '{"event_type":"task_start"}\n'):
        empty.write_text(tail)
        with pytest.raises(MurmurError) as refused:
            report.add(empty)
        assert refused.value.code == "E-TRC-001"


@given(st.lists(st.integers(0, 1 << 40), min_size=1, max_size=50))
def test_a_spread_agrees_with_the_textbook(values: list[int]) -> None:
    spread = Spread()
    for value in values:
        spread.add(value)
    assert math.isclose(spread.mean, statistics.fmean(values), rel_tol=1e-9, abs_tol=1e-6)
    assert math.isclose(spread.deviation, statistics.pstdev(values), rel_tol=1e-6, abs_tol=1e-3)
    assert (spread.least, spread.most) == (min(values), max(values))
