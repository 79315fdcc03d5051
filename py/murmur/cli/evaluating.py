"""`mur eval run` and the process of each of its units. CLI reference, *mur eval run*."""

import dataclasses
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from murmur.core.diagnostics import MurmurError, error, printable
from murmur.core.home import open_home
from murmur.core.streams import complain, emit, keep_lost_lines

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from murmur.evaluation.record import Run, RunRecord
    from murmur.evaluation.running import Plan

_INTERRUPTED = 130


def evaluate(
    capsule_dir: Path,
    dataset: Path,
    variant: Path | None,
    repeat: int,
    *,
    jobs: int,
    executor: str | None,
    resume: str | None,
) -> int:
    """Runs what was asked for; the exit status. Raises every refusal of the whole.

    Nothing is staged and no provider is called before all cases were checked.
    """
    from murmur.evaluation.arms import comparison_lines
    from murmur.evaluation.dataset import read_dataset
    from murmur.evaluation.executors import cluster
    from murmur.evaluation.record import find_record
    from murmur.evaluation.running import check_continues, make_plan, run_plan

    home = open_home(os.environ)
    cwd = Path.cwd()
    cases = read_dataset(cwd / dataset, cwd)
    plan = make_plan(cwd / dataset, cases, _manifest(cwd / capsule_dir), _variant(variant), repeat)
    record = plan.new_record()
    if resume is not None:
        record = find_record(resume, home, plan.workdir_root)
        check_continues(plan, record)
    several = variant is not None or repeat > 1
    counter = _Counter(record, several)
    pool: Executor | None = None
    try:
        pool = None if executor is None else cluster(executor, home)
        record = run_plan(plan, record, home, counter.done, jobs=jobs, executor=pool)
    except KeyboardInterrupt:
        again = f"mur eval run {capsule_dir} --dataset {dataset} --resume {record.run_id}"
        complain(f"interrupted; {printable(again)} with the same flags finishes the run")
        return _INTERRUPTED
    except OSError as failure:
        reason = failure.strerror or str(failure)
        what = f"the record of {record.run_id} cannot be written"
        raise error("E-IO-003", what=what, reason=reason, hint="") from None
    finally:
        if pool is not None:
            pool.shutdown()
    for line in [*_summary(record), "", *comparison_lines(record), "", *_closing(record, plan)]:
        emit(printable(line))
    return 0


def _manifest(given: Path) -> Path:
    """A capsule directory's manifest."""
    return Path(os.path.abspath(given)) / "murmur.yaml"


def _variant(given: Path | None) -> Path | None:
    """A directory is read as its manifest; anything else is one."""
    if given is None:
        return None
    return _manifest(given) if given.is_dir() else Path(os.path.abspath(given))


class _Counter:
    """Prints each run as it ends, and on a terminal how many there are still to come."""

    def __init__(self, record: "RunRecord", several: bool) -> None:
        self._expected = record.runs_expected
        self._ended = len(record.runs)
        self._several = several
        self._case = ""
        self._terminal = sys.stderr.isatty()
        self._show()

    def done(self, run: "Run") -> None:
        """The lines of one run."""
        self._ended += 1
        if self._terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
        for warning in run.warnings:
            complain(printable(f"warning: case {run.case_id}: {warning}"))
        if run.case_id != self._case:
            self._case = run.case_id
            emit(printable(f"── case: {run.case_id} ".ljust(44, "─")))
        for line in _run_lines(run, self._several):
            emit(printable(line))
        self._show()

    def _show(self) -> None:
        if self._terminal and self._ended < self._expected:
            sys.stderr.write(f"run {self._ended + 1} of {self._expected} …")
            sys.stderr.flush()


def _run_lines(run: "Run", several: bool) -> Iterator[str]:
    if several:
        yield f"arm: {run.arm} repeat: {run.repeat}"
    if run.status != "ran":
        reason = f"  {run.check.message}" if run.check is not None and run.check.message else ""
        yield f"result: no_scores session: {run.session_id or '-'}  {run.status}{reason}"
    else:
        yield f"result: {run.overall} session: {run.session_id}"
    if run.check is not None:
        tail = f"  {run.check.message}" if run.check.message and run.status == "ran" else ""
        limit = f" ({run.check.resource_limit})" if run.check.resource_limit else ""
        yield f"check: {run.check.result}{limit}{tail}"


def _summary(record: "RunRecord") -> Iterator[str]:
    """Every run's verdict; one that failed to stage counts toward no pass."""
    yield ""
    yield "── Summary ".ljust(49, "─")
    yield f"pass: {sum(run.overall == 'pass' for run in record.runs)}/{len(record.runs)}"
    yield ""
    for run in record.runs:
        verdict = run.overall if run.status == "ran" else run.status
        scores = " ".join(f"{name}={value:.2f}" for name, value in sorted(run.scores.items()))
        parts = [f"  {run.case_id:<24}", f"{verdict}", *([scores] if scores else [])]
        yield "  ".join([" ".join(parts[:2]), *parts[2:], f"({run.work_folder or '-'})"])


def _closing(record: "RunRecord", plan: "Plan") -> Iterator[str]:
    yield f"run: {record.run_id}"
    root = plan.workdir_root
    elsewhere = "" if root == Path.cwd() / "workdir" else f" --workdir {root}"
    yield f"  hint: mur eval diff --run {record.run_id}{elsewhere}"


def carry_out_unit() -> int:
    """One unit: what it prints goes nowhere, its run to standard output. Exit status 0, or 128 and
    the signal that ended it."""
    from murmur.cli.launching import Zygote, launch
    from murmur.cli.stopping import Stopped, Stopping
    from murmur.evaluation.case_session import CaseSession, StartMismatch
    from murmur.evaluation.unit import parse_unit

    started = time.monotonic()
    unit = parse_unit(json.loads(sys.stdin.buffer.read()))
    answer = _take_standard_output()
    keep_lost_lines(None)
    stopping = Stopping()
    session = CaseSession(unit)
    with stopping.watching():
        zygote = Zygote()
        try:
            launch(session.flags, zygote, started, stopping, judge=session)
            run = session.run("ran", "")
        except Stopped as stopped:
            return stopped.exit_status
        except StartMismatch as mismatch:
            run = session.run("start_mismatch", str(mismatch))
        except MurmurError as refusal:
            found = refusal.diagnostic
            run = session.run("stage_failed", f"{found.code}: {found.message}")
        except OSError as failure:
            run = session.run("stage_failed", str(failure))
        finally:
            zygote.close()
    if stopping.signalled is not None:
        return stopping.signalled
    with os.fdopen(answer, "wb") as stream:
        stream.write(json.dumps(dataclasses.asdict(run), ensure_ascii=True).encode())
    return 0


def _take_standard_output() -> int:
    """A descriptor of what was standard output; that is /dev/null from now on."""
    answer = os.dup(1)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
    return answer
