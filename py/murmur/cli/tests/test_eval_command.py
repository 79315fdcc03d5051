"""`mur eval show` and `mur eval diff` as a user types them."""

import json
from pathlib import Path

from murmur.cli.tests.box import Box
from murmur.core.home import Home
from murmur.evaluation.record import Arm, Run, RunRecord, write_record

OLD, NEW = "ses_019f0193c7d871a5b2e30ff41a7c0ce1", "ses_019f0193c9a871a5b2e30ff41a7c0ce2"
RUN = "evr_01a16d24d4d073c1bed590ba1bf056d3"


def scored(box: Box, session: str, result: str) -> Path:
    """A session whose hook scored one event."""
    records = Home(box.home / ".murmur").records_group(box.cwd / "workdir") / session
    (records / "hooks").mkdir(parents=True)
    lines: list[dict[str, object]] = [
        {"record_type": "event_score", "scorer": "exit_ok", "result": result, "turn": 0},
        {"record_type": "dataset_run", "overall": result, "scores": {"exit_ok": 1.0}},
    ]
    path = records / "hooks" / "eval.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_the_newest_session_is_shown_and_two_are_compared(box: Box) -> None:
    scored(box, OLD, "fail")
    path = scored(box, NEW, "pass")
    assert "Overall: pass" in box.ok("eval", "show")
    assert "Overall: pass" in box.ok("eval", "show", str(path))
    printed = json.loads("\n".join(box.ok("eval", "show", "@2", "--json")))
    assert printed["overall"] == "fail"
    assert list(printed) == ["overall", "scorers", "dataset_run"]
    assert "+100.0pp (B better)" in box.ok("eval", "diff")[2]
    path.write_text("")
    assert "Overall: no_scores" in box.ok("eval", "show")


def test_what_cannot_be_read_is_refused_by_name(box: Box) -> None:
    assert str(box.cwd / "workdir") in box.refused("E-EVAL-002", "eval", "show")
    path = scored(box, OLD, "pass")
    assert "name two sessions" in box.refused("E-EVAL-002", "eval", "diff", "@1")
    path.write_text('{"record_type":"x"}\n')
    assert f"{path}:1: " in box.refused("E-EVAL-001", "eval", "show")
    path.unlink()
    assert str(path) in box.refused("E-EVAL-002", "eval", "show")


def test_a_run_is_compared_from_its_record_alone(box: Box) -> None:
    home, root = Home(box.home / ".murmur"), box.cwd / "workdir"
    home.root.mkdir()
    runs = (Run("c", "baseline", 1, "ran", turns=4),)
    arm = Arm("baseline", "/b/murmur.yaml", "0" * 64, "m")
    record = RunRecord(RUN, "/d", None, "2026-01-01T00:00:00.000Z", 1, True, 1, (arm,), runs)
    path = write_record(home, root, record)
    for address in ([], ["@1"], [RUN], [RUN[-4:]], [str(path)]):
        assert box.ok("eval", "diff", "--run", *address)[0].startswith(f"── Eval run: {RUN} ─")
    whole = json.loads("\n".join(box.ok("eval", "diff", "--run", "--json")))
    assert whole["total"]["baseline"]["turns"] == 4
    for missing in ("@2", "0000"):
        box.refused("E-EVAL-002", "eval", "diff", "--run", missing)
    box.usage("eval", "diff", "--run", "@1", "@1", "@2")
    box.usage("eval", "diff", "--json")
