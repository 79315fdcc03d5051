"""The session of one case: its work folder filled before the launch, its work judged after it.

CLI reference, *What happens per run* and *The check*. The check runs under the containment that the
session's own commands had: the same policy and host reading, in namespaces and a cgroup scope of
its own.
"""

import asyncio
import dataclasses
import threading
from pathlib import Path
from typing import Final, Literal

from murmur.core.diagnostics import MurmurError
from murmur.core.safefs import Root, UnsafePath
from murmur.evaluation.dataset import CaseCheck
from murmur.evaluation.measures import measure
from murmur.evaluation.record import Check, Run
from murmur.evaluation.scores import EVAL_FILE, read_scores
from murmur.evaluation.start import BadTree, copy_tree, digest
from murmur.evaluation.unit import Unit
from murmur.sandbox.results import CommandResult, NotAllowed, SetUpFailed
from murmur.session.commands import Commands, open_commands, open_scope
from murmur.session.launch import Flags
from murmur.session.runtime_files import write_task
from murmur.session.stage import Staged
from murmur.trace.writer import TRACE_FILE

LOG: Final = "logs/check.log"
NO_DOOR: Final = ""


class StartMismatch(Exception):
    """The copy of a start folder is not what its source is; nothing was launched."""


class CaseSession:
    """Prepares and judges one unit's session; `run` is what became of it."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._staged: Staged | None = None
        self._check: Check | None = None
        self._source_digest: str | None = None
        self._digest: str | None = None
        self._warnings: list[str] = []

    @property
    def flags(self) -> Flags:
        """What the launch is asked for: a fresh work folder below the manifest's own."""
        return Flags(manifest=self._unit.manifest, writes_lock=self._unit.writes_lock)

    def before(self, staged: Staged) -> Staged:
        """Copies the start folder and hands over the task. Raises StartMismatch, OSError."""
        self._staged = staged
        case = self._unit.case
        if case.start is not None:
            self._copy_start(staged, case.start)
        try:
            task = case.task_path.read_bytes().decode()
        except FileNotFoundError:
            self._warnings.append(f"there is no {case.task_path}; the session runs without a task")
            return staged
        except (OSError, UnicodeDecodeError) as failure:
            self._warnings.append(f"{case.task_path} cannot be read: {failure}")
            return staged
        write_task(staged.directories.runtime_root, task)
        return dataclasses.replace(staged, task=task)

    def _copy_start(self, staged: Staged, start: Path) -> None:
        try:
            self._source_digest = digest(start)
            copy_tree(start, staged.directories.work_root)
            self._digest = digest(staged.directories.work)
        except BadTree as bad:
            raise StartMismatch(str(bad)) from None
        if self._digest != self._source_digest:
            raise StartMismatch(f"the copy of {start} has another digest than {start}")

    async def after(self, staged: Staged) -> None:
        """Judges the work, where the case has a check. Never raises."""
        check = self._unit.case.check
        if check is None:
            return
        try:
            self._check = await _judged(staged, check)
        except (MurmurError, OSError, SetUpFailed) as failure:
            self._check = Check("error", message=str(failure))

    def run(self, status: Literal["ran", "stage_failed", "start_mismatch"], reason: str) -> Run:
        """The unit's run, with what its trace and its scores say."""
        unit, staged = self._unit, self._staged
        if staged is None:
            return unit.unfinished(status, *self._warnings, message=reason)
        records = staged.directories.records
        measures = measure(records / TRACE_FILE)
        overall, scores = self._scores(records) if status == "ran" else (None, {})
        missing = Check("not_run", message=reason) if unit.case.check is not None else None
        return Run(
            case_id=unit.case.case_id,
            arm=unit.arm,
            repeat=unit.repeat,
            status=status,
            session_id=staged.session_id,
            work_folder=str(staged.directories.work),
            records_dir=str(records),
            trace=str(records / TRACE_FILE),
            exit_status=measures.exit_status,
            start_digest=self._digest,
            start_source_digest=self._source_digest,
            turns=measures.turns,
            input_tokens=measures.input_tokens,
            output_tokens=measures.output_tokens,
            cached_tokens=measures.cached_tokens,
            cache_write_tokens=measures.cache_write_tokens,
            agent_ms=measures.agent_ms,
            overall=overall,
            scores=scores,
            warnings=tuple(self._warnings),
            check=self._check or missing,
        )

    def _scores(self, records: Path) -> tuple[str, dict[str, float]]:
        """The hook's verdict and its scores; a run without them says what would have made them."""
        try:
            scores = read_scores(records / EVAL_FILE)
        except FileNotFoundError:
            self._warnings.append(
                f"no {EVAL_FILE}: declare a scoring hook whose entry grants "
                "capabilities.filesystem.records: true"
            )
            return "no_scores", {}
        except MurmurError as failure:
            self._warnings.append(failure.diagnostic.message)
            return "no_scores", {}
        if scores.config_error:
            self._warnings.append(f"the hook's configuration: {scores.config_error}")
        found = (scores.run or {}).get("scores", {})
        values = {k: float(v) for k, v in found.items() if isinstance(v, int | float)}
        return scores.overall, values


async def _judged(staged: Staged, check: CaseCheck) -> Check:
    """Copies the check's files and runs its command. Raises as `open_commands`."""
    if check.files is not None:
        failure = await asyncio.to_thread(_copy_files, check.files, staged.directories.work_root)
        if failure:
            return Check("error", message=failure)
    scope = open_scope(staged)
    try:
        commands = open_commands(staged, scope, NO_DOOR)
        if commands is None:
            return Check("error", message="the capsule runs no commands")
    except BaseException:
        if scope is not None:
            scope.remove()
        raise
    try:
        return await asyncio.to_thread(_run, commands, check, staged.directories.records_root)
    finally:
        await asyncio.to_thread(commands.close)


def _copy_files(files: Path, work: Root) -> str:
    """Copies a check's files; why they could not be, naming the path, or nothing."""
    try:
        copy_tree(files, work)
    except UnsafePath as unsafe:
        return f"{unsafe.path}: {unsafe.reason}"
    except (BadTree, OSError) as failure:
        return str(failure)
    return ""


def _run(commands: Commands, check: CaseCheck, records: Root) -> Check:
    try:
        done = commands.check(check.words, check.timeout_secs, threading.Event())
    except (NotAllowed, SetUpFailed) as failure:
        return Check("error", message=str(failure))
    if done.set_up_failure is not None:
        return Check("error", message=done.set_up_failure)
    message = ""
    try:
        records.append(LOG, done.stdout + done.stderr)
    except OSError as failure:
        message = f"{LOG} cannot be written: {failure.strerror}"
    return _ended(done, message)


def _ended(done: CommandResult, message: str) -> Check:
    if done.timed_out:
        return Check("timed_out", None, done.duration_ms, done.resource_limit, message, LOG)
    passed = done.exit_code == 0 and done.resource_limit is None
    result: Literal["pass", "fail"] = "pass" if passed else "fail"
    return Check(result, done.exit_code, done.duration_ms, done.resource_limit, message, LOG)
