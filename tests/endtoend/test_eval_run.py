"""`mur eval run` against live capsules: arms, checks under containment, interruption, a cluster.

CLI reference, *mur eval run*.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.endtoend.capsule import Place, mur_command, replay, shell_turn, write_manifest

ALLOWED = {"shell": {"allow": ["bash", "grep", "ln", "sleep"]}}


@pytest.fixture
def ground(project: Path) -> Path:
    """A baseline that writes `fixed`, a variant that does not, and the files of two cases."""
    for name, word in (("base", "fixed"), ("other", "nothing")):
        command = f"read begun < start.txt; echo {word} > main.txt"
        usage = {"input_tokens": 10, "output_tokens": 5}
        turns = [shell_turn("bash", command), {"text": "done", "usage": usage}]
        write_manifest(project / name, replay(turns, name=name, capabilities=ALLOWED))
    (project / "repo").mkdir()
    (project / "repo" / "start.txt").write_text("begin")
    (project / "repo" / "start.txt").chmod(0o640)
    (project / "checks").mkdir()
    (project / "checks" / "expected").write_text("fixed\n")
    (project / "task.md").write_text("Fix main.txt")
    return project


def dataset(ground: Path, *cases: dict[str, Any]) -> None:
    """Writes `eval.jsonl`."""
    whole = [{"task_path": "task.md", "start": "repo", **case} for case in cases]
    (ground / "eval.jsonl").write_text("".join(json.dumps(case) + "\n" for case in whole))


def record_of(place: Place, ground: Path, output: str) -> dict[str, Any]:
    """The record of the run whose id `output` names."""
    found = re.findall(r"evr_[0-9a-f]{32}", output)
    group = place.home / ".murmur" / "records" / str(ground / "base" / "workdir").lstrip("/")
    record: dict[str, Any] = json.loads((group / "eval-runs" / f"{found[-1]}.json").read_text())
    return record


def figures(record: dict[str, Any]) -> list[dict[str, Any]]:
    """A record's runs without ids, times and places, in the plan's order."""
    own = ("session_id", "work_folder", "records_dir", "trace", "agent_ms")
    made = []
    for run in record["runs"]:
        kept = {key: value for key, value in run.items() if key not in own}
        if kept["check"] is not None:
            kept["check"] = {k: v for k, v in kept["check"].items() if k != "duration_ms"}
        made.append(kept)
    return sorted(made, key=lambda run: (run["case_id"], run["repeat"], run["arm"]))


FIX = {"case_id": "fix", "check": {"command": "grep -qf expected main.txt", "files": "checks"}}


def test_a_variant_is_judged_case_by_case_and_compared(place: Place, ground: Path) -> None:
    dataset(ground, FIX, {"case_id": "slow", "check": {"command": "sleep 60", "timeout_secs": 1}})
    done = place.mur("eval", "run", "base", "--variant", "other", cwd=ground, seconds=300)
    assert done.returncode == 0, done.stderr
    record = record_of(place, ground, done.stdout)
    assert record["complete"] is True
    judged = [(run["case_id"], run["arm"], run["check"]["result"]) for run in record["runs"]]
    assert judged == [
        ("fix", "baseline", "pass"),
        ("fix", "variant", "fail"),
        ("slow", "baseline", "timed_out"),
        ("slow", "variant", "timed_out"),
    ]
    first = record["runs"][0]
    assert first["start_digest"] == first["start_source_digest"]
    assert (first["turns"], first["input_tokens"], first["output_tokens"]) == (2, 10, 5)
    assert first["exit_status"] == "ok"
    work = Path(first["work_folder"])
    assert (work / "main.txt").read_text() == "fixed\n"
    assert (work / "start.txt").stat().st_mode & 0o777 == 0o640
    assert Path(first["records_dir"], first["check"]["log"]).exists()
    lines = done.stdout.splitlines()
    assert "arm: baseline repeat: 1" in lines and "check: timed_out" in lines
    assert "capabilities.filesystem.records: true" in done.stderr
    compared = place.mur("eval", "diff", "--run", "--workdir", "base/workdir", cwd=ground)
    assert "  check                1/1 pass                 0/1 pass                 -1" in (
        compared.stdout.splitlines()
    )
    # The check's command and files appear nowhere in what the session was given or recorded.
    trace = Path(first["trace"]).read_text()
    assert "expected" not in trace and "grep -q" not in trace
    assert (ground / "base" / "murmur.lock").exists()
    assert not (ground / "other" / "murmur.lock").exists()


def test_a_link_where_a_check_file_goes_is_not_followed(place: Place, ground: Path) -> None:
    turns = [shell_turn("ln", "-s ../../victim expected"), {"text": "done"}]
    write_manifest(ground / "base", replay(turns, name="base", capabilities=ALLOWED))
    dataset(ground, FIX)
    done = place.mur("eval", "run", "base", cwd=ground, seconds=300)
    assert done.returncode == 0, done.stderr
    check = record_of(place, ground, done.stdout)["runs"][0]["check"]
    assert check["result"] == "error" and "expected" in check["message"]
    assert not (ground / "base" / "victim").exists()


def test_nothing_is_staged_when_a_case_cannot_be_used(place: Place, ground: Path) -> None:
    def refused(code: str, *arguments: str) -> str:
        done = place.mur("eval", "run", "base", *arguments, cwd=ground)
        assert done.returncode == 1 and done.stdout == ""
        assert done.stderr.startswith(f"error[{code}]: "), done.stderr
        assert not (ground / "base" / "workdir").exists()
        return done.stderr

    dataset(ground, {"case_id": "x", "start": "missing"})
    assert "case x: start: " in refused("E-EVAL-003")
    dataset(ground, {"case_id": "x", "check": "make test"})
    message = refused("E-EVAL-004")
    assert "case x" in message and "make" in message and "bash, grep, ln, sleep" in message
    dataset(ground, {"case_id": "x"})
    whole = replay([{"text": "done"}], name="other")
    whole["inference"]["model"] = "another"
    write_manifest(ground / "other", whole)
    assert "another" in refused("E-EVAL-004", "--variant", "other")
    dataset(ground, {"case_id": "x", "check": {"command": "grep x", "timeout_secs": 0}})
    assert "check.timeout_secs" in refused("E-EVAL-003")


def test_a_run_that_cannot_be_staged_is_recorded_and_the_rest_goes_on(
    place: Place, ground: Path
) -> None:
    whole = replay([{"text": "done"}], name="other", capabilities=ALLOWED)
    whole["artifacts"][1]["version"] = "9.9.9"
    write_manifest(ground / "other", whole)
    dataset(ground, FIX)
    done = place.mur("eval", "run", "base", "--variant", "other", cwd=ground, seconds=300)
    assert done.returncode == 0, done.stderr
    baseline, variant = record_of(place, ground, done.stdout)["runs"]
    assert baseline["status"] == "ran"
    assert variant["status"] == "stage_failed"
    assert variant["check"]["result"] == "not_run" and "E-RUN-008" in variant["check"]["message"]


def test_an_interrupted_run_is_finished_by_resume(place: Place, ground: Path) -> None:
    dataset(ground, {**FIX, "case_id": "one"}, {**FIX, "case_id": "two"})
    arguments = ("eval", "run", "base", "--variant", "other", "--repeat", "3")
    process = subprocess.Popen(
        [*mur_command(), *arguments],
        cwd=ground,
        env=dict(place.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        ended = 0
        while ended < 2:
            line = process.stdout.readline()
            assert line, process.communicate()[1]
            ended += line.startswith("result: ")
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate(timeout=120)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    assert process.returncode == 130
    run_id = re.findall(r"--resume (evr_[0-9a-f]{32})", complaint)[0]
    halfway = record_of(place, ground, run_id)
    assert halfway["complete"] is False and 2 <= len(halfway["runs"]) < 12
    resumed = place.mur(*arguments, "--resume", run_id, "--jobs", "2", cwd=ground, seconds=600)
    assert resumed.returncode == 0, resumed.stderr
    record = record_of(place, ground, run_id)
    assert record["complete"] is True and len(record["runs"]) == 12
    assert record["runs"][: len(halfway["runs"])] == halfway["runs"]
    changed = place.mur(*arguments[:3], "--resume", run_id, cwd=ground)
    assert changed.returncode == 1 and "error[E-EVAL-002]" in changed.stderr


@contextlib.contextmanager
def cluster(place: Place, homes: list[Path], ground: Path) -> Iterator[tuple[str, list[Any]]]:
    """A Dask scheduler and a worker process for each home, all on loopback."""
    pytest.importorskip("distributed")
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str, home: Path) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]],
            cwd=ground,
            env={**place.environ, "HOME": str(home), "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    file = ground / "scheduler.json"
    try:
        local = ("--host", "127.0.0.1", "--no-dashboard")
        start("dask_scheduler", *local, "--port", "0", "--scheduler-file", str(file), home=ground)
        end = time.monotonic() + 120
        while not file.exists() and time.monotonic() < end:
            time.sleep(0.1)
        address = json.loads(file.read_text())["address"].removeprefix("tcp://")
        workers = [
            start(
                "dask_worker",
                f"tcp://{address}",
                *local,
                *("--nthreads", "1", "--no-nanny"),
                home=home,
            )
            for home in homes
        ]
        yield address, workers
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_a_cluster_that_loses_a_worker_makes_the_same_record(
    place: Place, ground: Path, tmp_path: Path
) -> None:
    dataset(ground, {**FIX, "case_id": "one"}, {**FIX, "case_id": "two"})
    arguments = ("eval", "run", "base", "--variant", "other", "--repeat", "2")
    here = place.mur(*arguments, cwd=ground, seconds=600)
    assert here.returncode == 0, here.stderr
    homes = []
    for name in ("w1", "w2"):
        home = tmp_path / name
        (home / ".murmur").mkdir(parents=True)
        for part in ("artifacts", "compiled"):
            (home / ".murmur" / part).symlink_to(place.home / ".murmur" / part)
        homes.append(home)
    with cluster(place, homes, ground) as (address, workers):
        process = subprocess.Popen(
            [*mur_command(), *arguments, "--executor", f"dask://{address}"],
            cwd=ground,
            env={**place.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        seen = ""
        while "result: " not in seen:
            line = process.stdout.readline()
            assert line, process.communicate()[1]
            seen += line
        workers[0].kill()
        output, complaint = process.communicate(timeout=600)
    assert process.returncode == 0, complaint
    there = record_of(place, ground, seen + output)
    assert figures(there) == figures(record_of(place, ground, here.stdout))
    for run in there["runs"]:
        assert run["records_dir"].startswith(str(place.home))
        assert Path(run["trace"]).read_text().count('"event_type":"session_end"') == 1


def test_an_executor_that_is_none_is_refused(place: Place, ground: Path) -> None:
    dataset(ground, FIX)
    done = place.mur("eval", "run", "base", "--executor", "spark://h:1", cwd=ground)
    assert done.returncode == 1 and "error[E-IO-003]" in done.stderr
    assert "dask://HOST:PORT" in done.stderr
