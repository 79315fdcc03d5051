"""`mur eval run`: every case on every arm, in order, one record that is rewritten after each run.

CLI reference, *mur eval run*. Units are independent: they run one after another, several at once,
or wherever an executor takes them.
"""

import dataclasses
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from murmur.core.diagnostics import error
from murmur.core.durations import rfc3339
from murmur.core.home import Home
from murmur.core.ids import new_id
from murmur.evaluation.dataset import Case
from murmur.evaluation.record import BASELINE, VARIANT, Arm, Run, RunRecord, write_record
from murmur.evaluation.unit import Interrupted, Unit, carry_out, interrupt_all
from murmur.manifest.capsule import Capsule
from murmur.manifest.parse import load_capsule
from murmur.session.launch import read_manifest


@dataclass(frozen=True, slots=True)
class Candidate:
    """One manifest under test."""

    arm: Arm
    path: Path
    capsule: Capsule


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that is decided before the first run: candidates, cases, repeats."""

    dataset: Path
    cases: tuple[Case, ...]
    candidates: tuple[Candidate, ...]
    repeat: int

    @property
    def workdir_root(self) -> Path:
        """The baseline's, whose records group holds the record."""
        return self.candidates[0].path.parent / "workdir"

    def units(self) -> Iterator[Unit]:
        """Case by case; the arms' order alternates from repeat to repeat."""
        for case in self.cases:
            for repeat in range(1, self.repeat + 1):
                order = self.candidates if repeat % 2 else tuple(reversed(self.candidates))
                for each in order:
                    writes = each.arm.name == BASELINE
                    env_folder = self.candidates[0].path.parent
                    yield Unit(case, each.arm.name, repeat, each.path, env_folder, writes)

    def new_record(self) -> RunRecord:
        """The record of a run that has not begun."""
        evaluation = self.candidates[0].capsule.observability.eval
        return RunRecord(
            run_id=new_id("evr"),
            dataset=str(self.dataset),
            dataset_id=None if evaluation is None else evaluation.dataset_id,
            started_at=rfc3339(time.time()),
            repeat=self.repeat,
            complete=False,
            runs_expected=len(self.cases) * self.repeat * len(self.candidates),
            arms=tuple(each.arm for each in self.candidates),
        )


def make_plan(
    dataset: Path, cases: tuple[Case, ...], baseline: Path, variant: Path | None, repeat: int
) -> Plan:
    """Reads the manifests and checks every case against each.

    Raises what reading and parsing a manifest raises, and E-EVAL-004 for a check whose binary one
    of them does not allow and for models that differ.
    """
    candidates = [_candidate(BASELINE, baseline)]
    if variant is not None:
        candidates.append(_candidate(VARIANT, variant))
    for case in cases:
        for each in candidates:
            _check_binary(case, each)
    models = [each.arm.model for each in candidates]
    if len(set(models)) > 1:
        reason = f"its inference.model is {models[1]!r}, and the baseline's is {models[0]!r}"
        raise error("E-EVAL-004", subject=str(candidates[1].path), reason=reason)
    return Plan(dataset, cases, tuple(candidates), repeat)


def _candidate(name: str, path: Path) -> Candidate:
    text = read_manifest(path)
    capsule = load_capsule(text, str(path)).capsule
    model = capsule.inference.model if capsule.inference is not None else None
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Candidate(Arm(name, str(path), digest, model or ""), path, capsule)


def _check_binary(case: Case, candidate: Candidate) -> None:
    if case.check is None:
        return
    binary = case.check.words[0]
    allowed = candidate.capsule.capabilities.shell_allow
    if binary not in allowed:
        listed = ", ".join(allowed) or "nothing"
        reason = (
            f"its check runs {binary}, which capabilities.shell.allow of {candidate.path} does "
            f"not name (it names {listed})"
        )
        raise error("E-EVAL-004", subject=f"case {case.case_id}", reason=reason)


def check_continues(plan: Plan, record: RunRecord) -> None:
    """Raises E-EVAL-002 for a record that another dataset, repeat or manifest made."""
    planned = [each.arm for each in plan.candidates]
    if list(record.arms) != planned:
        reason = "its manifests are not the ones given, or have changed since"
    elif record.dataset != str(plan.dataset) or record.repeat != plan.repeat:
        reason = f"it ran {record.dataset} with --repeat {record.repeat}"
    elif record.runs_expected != plan.new_record().runs_expected:
        reason = f"it expected {record.runs_expected} runs of the dataset, which has changed since"
    else:
        return
    raise error("E-EVAL-002", address=record.run_id, reason=f"it cannot be continued: {reason}")


Done = Callable[[Run], None]


def run_plan(
    plan: Plan,
    record: RunRecord,
    home: Home,
    done: Done,
    *,
    jobs: int,
    executor: Executor | None = None,
    carry: Callable[[Unit], Run] = carry_out,
) -> RunRecord:
    """Carries out every unit that `record` does not hold; the record as it stands at the end.

    It is rewritten after every run, so that whatever ends this process leaves a valid one. Raises
    OSError when it cannot be, and KeyboardInterrupt once the units in flight have ended.
    """
    known = {run.key for run in record.runs}
    waiting = [u for u in plan.units() if (u.case.case_id, u.arm, u.repeat) not in known]
    write_record(home, plan.workdir_root, record)
    own = executor or ThreadPoolExecutor(jobs, thread_name_prefix="murmur-eval")
    try:
        futures = [own.submit(carry, unit) for unit in waiting]
        try:
            for future in _ended(futures, in_order=jobs == 1 and executor is None):
                run = future.result()
                record = dataclasses.replace(record, runs=(*record.runs, run))
                write_record(home, plan.workdir_root, record)
                done(run)
        except (KeyboardInterrupt, Interrupted):
            for future in futures:
                future.cancel()
            interrupt_all()
            raise KeyboardInterrupt from None
    finally:
        if executor is None:
            own.shutdown(wait=True)
    record = dataclasses.replace(record, complete=len(record.runs) == record.runs_expected)
    write_record(home, plan.workdir_root, record)
    return record


def _ended(futures: Sequence["Future[Run]"], *, in_order: bool) -> Iterator["Future[Run]"]:
    return iter(futures) if in_order else as_completed(futures)
