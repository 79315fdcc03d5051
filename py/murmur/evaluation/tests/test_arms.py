"""Records of eval runs, and how their arms compare."""

import json
from pathlib import Path

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.core.home import Home
from murmur.evaluation.arms import comparison_json, comparison_lines
from murmur.evaluation.record import (
    Arm,
    Check,
    Run,
    RunRecord,
    find_record,
    read_record,
    runs_folder,
    write_record,
)

RUN_ID = "evr_01a16d24d4d073c1bed590ba1bf056d3"
CASE_BLOCK = """\
── case: fix_parser ────────────────────────
                       baseline                 variant                  delta (variant − baseline)
  check                1/3 pass                 3/3 pass                 +2
  turns                4 (3–6)                  3 (3–4)                  -1
  input tokens         21840 (18210–30117)      15022 (14873–16540)      -6818
  cached tokens        9120 (0–11002)           8890 (7310–9020)         -230
  cache write tokens   4102 (3980–4570)         4022 (3870–4190)         -80
  output tokens        812 (640–1210)           590 (512–700)            -222
  time                 21.4s (18.0s–33.9s)      15.2s (14.1s–17.3s)      -6.2s
""".replace("−", "\N{MINUS SIGN}").replace("–", "\N{EN DASH}")  # noqa: RUF001
FIGURES = {
    "baseline": [
        (3, 18210, 0, 3980, 640, 18000),
        (4, 21840, 9120, 4102, 812, 21400),
        (6, 30117, 11002, 4570, 1210, 33900),
    ],
    "variant": [
        (3, 14873, 7310, 3870, 512, 14100),
        (3, 15022, 8890, 4022, 590, 15200),
        (4, 16540, 9020, 4190, 700, 17300),
    ],
}


def runs(arm: str, passes: int) -> list[Run]:
    made = []
    for at, (turns, given, cached, written, out, ms) in enumerate(FIGURES[arm]):
        check = Check("pass" if at < passes else "fail", 0, 10)
        made.append(
            Run(
                "fix_parser",
                arm,
                at + 1,
                "ran",
                trace=f"/t/{arm}{at + 1}",
                turns=turns,
                input_tokens=given,
                cached_tokens=cached,
                cache_write_tokens=written,
                output_tokens=out,
                agent_ms=ms,
                check=check,
            )
        )
    return made


def record(**fields: object) -> RunRecord:
    arms = tuple(Arm(name, f"/p/{name}/murmur.yaml", "0" * 64, "m") for name in FIGURES)
    whole = {
        "run_id": RUN_ID,
        "dataset": "/p/eval.jsonl",
        "dataset_id": None,
        "started_at": "2026-01-01T00:00:00.000Z",
        "repeat": 3,
        "complete": True,
        "runs_expected": 6,
        "arms": arms,
        "runs": (*runs("baseline", 1), *runs("variant", 3)),
    }
    return RunRecord(**(whole | fields))  # type: ignore[arg-type]


def test_a_case_is_compared_to_the_letter() -> None:
    lines = list(comparison_lines(record()))
    assert lines[:7] == [
        f"── Eval run: {RUN_ID} ─────────────────────────────",
        "  dataset:  /p/eval.jsonl",
        "  repeat:   3",
        "  status:   complete",
        "  baseline: /p/baseline/murmur.yaml",
        "  variant:  /p/variant/murmur.yaml",
        "  model:    m",
    ]
    assert "\n".join(lines[8:17]) + "\n" == CASE_BLOCK
    assert lines[17:20] == [f"  mur trace diff /t/baseline{n} /t/variant{n}" for n in (1, 2, 3)]
    assert lines[21].startswith("── total ─")
    assert lines[24].split() == ["turns", "13", "10", "-3"]


def test_an_interrupted_run_of_one_arm_has_one_column_and_no_delta() -> None:
    alone = record(arms=record().arms[:1], runs=tuple(runs("baseline", 0)[:1]), complete=False)
    lines = list(comparison_lines(alone))
    assert lines[3] == "  status:   incomplete: 1 of 6 runs recorded"
    assert "  check                0/1 pass" in lines
    assert not any("delta" in line or "mur trace diff" in line for line in lines)


def test_what_no_run_reported_is_a_dash_or_null() -> None:
    bare = record(runs=(Run("c", "baseline", 1, "stage_failed", check=Check("not_run")),))
    lines = list(comparison_lines(bare))
    assert "  check                0/1 pass (1 not run)     —                        —" in lines
    whole = comparison_json(bare)
    assert whole["cases"][0]["arms"]["baseline"]["turns"] is None
    assert whole["cases"][0]["arms"]["baseline"]["check_not_run"] == 1
    assert whole["total"]["variant"]["runs"] == 0


def test_the_json_holds_the_keys_of_the_reference() -> None:
    whole = comparison_json(record())
    assert list(whole) == [
        "run_id",
        "complete",
        "repeat",
        "runs_recorded",
        "runs_expected",
        "arms",
        "cases",
        "total",
    ]
    case = whole["cases"][0]
    assert case["arms"]["baseline"]["turns"] == {"median": 4.0, "min": 3, "max": 6}
    assert case["arms"]["variant"]["check_pass"] == 3
    assert case["arms"]["variant"]["scores_pass"] is None
    assert case["trace_diffs"][0] == ["/t/baseline1", "/t/variant1"]
    assert whole["total"]["baseline"]["turns"] == 13


def test_a_record_is_written_and_found_again(tmp_path: Path) -> None:
    home, root = Home(tmp_path / ".murmur"), tmp_path / "workdir"
    home.root.mkdir()
    path = write_record(home, root, record())
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    for address in ("@1", RUN_ID, RUN_ID[-4:].upper(), str(path)):
        assert find_record(address, home, root) == record()


@pytest.mark.parametrize("address", ["@2", "ffff", "@0", "x", "no/such.json"])
def test_an_address_that_names_no_run_is_refused(tmp_path: Path, address: str) -> None:
    home, root = Home(tmp_path / ".murmur"), tmp_path / "workdir"
    home.root.mkdir()
    write_record(home, root, record())
    with pytest.raises(MurmurError) as refused:
        find_record(address, home, root)
    assert refused.value.code == "E-EVAL-002"


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", json.dumps({"runs": [], "arms": []}), '{"runs":[{}],"arms":[]}']
)
def test_what_is_no_record_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(MurmurError) as refused:
        read_record(path)
    assert refused.value.code == "E-EVAL-001"


def test_records_lie_beside_the_sessions_of_the_baseline(tmp_path: Path) -> None:
    home = Home(tmp_path / ".murmur")
    assert runs_folder(home, tmp_path / "w") == home.records_group(tmp_path / "w") / "eval-runs"
