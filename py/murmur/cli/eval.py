"""`mur eval`: scores of sessions, and runs of a dataset against a capsule and a variant of it.

CLI reference, *mur eval*. Every subcommand but `run` changes nothing.
"""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from murmur.core.diagnostics import error, printable
from murmur.core.home import Home, find_home
from murmur.core.streams import emit

if TYPE_CHECKING:
    from murmur.evaluation.scores import Scores

_workdir = click.option(
    "--workdir",
    default="./workdir",
    metavar="DIR",
    help="The workdir root whose sessions are read [default: ./workdir].",
)


@click.group("eval")
def command() -> None:
    """Read scores of sessions, and drive datasets against capsules."""


def _scores(addresses: tuple[str, ...], workdir: str) -> "list[Scores]":
    """The scores of the sessions that addresses name.

    Raises E-EVAL-002 for an address that names none or several and for a session without an
    `eval.jsonl`, E-EVAL-001 for a file that cannot be understood.
    """
    from murmur.evaluation.scores import EVAL_FILE, read_scores
    from murmur.trace.addresses import find_all_recorded, need_group

    home = _home(need_group(addresses))
    found = find_all_recorded(addresses, home, Path(workdir).absolute(), code="E-EVAL-002")
    scores = []
    for address, recorded in zip(addresses, found, strict=True):
        path = recorded.file(EVAL_FILE)
        try:
            scores.append(read_scores(path))
        except FileNotFoundError:
            reason = f"there is no {path}; an eval hook writes it when its entry grants records"
            raise error("E-EVAL-002", address=address, reason=reason) from None
    return scores


def _home(needed: bool) -> Home | None:
    return find_home(os.environ) if needed else None


@command.command("show")
@click.argument("session", default="@1")
@_workdir
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show_one(session: str, workdir: str, as_json: bool) -> None:
    """Summary of a single session's eval.jsonl."""
    from murmur.evaluation.scores import score_lines

    (scores,) = _scores((session,), workdir)
    if as_json:
        emit(json.dumps(scores.as_json(), indent=2))
        return
    for line in score_lines(scores):
        emit(printable(line))


@command.command("diff")
@click.argument("sessions", nargs=-1, metavar="[A B]")
@click.option(
    "--run", "run", is_flag=False, flag_value="@1", metavar="RUN", help="Compare a run's arms."
)
@_workdir
@click.option("--json", "as_json", is_flag=True, help="With --run, print one JSON object.")
def show_diff(sessions: tuple[str, ...], run: str | None, workdir: str, as_json: bool) -> None:
    """Scorers of two sessions side by side, or with --run the arms of one eval run."""
    if run is not None:
        if sessions:
            raise click.UsageError("--run compares the arms of one run, and takes no sessions")
        _show_run(run, workdir, as_json)
        return
    if as_json:
        raise click.UsageError("--json goes with --run")
    if len(sessions) not in (0, 2):
        reason = f"{len(sessions)} given; name two sessions, A and B, or none"
        raise error("E-EVAL-002", address=" ".join(sessions), reason=reason)
    from murmur.evaluation.comparing import compare_scores

    a, b = _scores(sessions or ("@2", "@1"), workdir)
    for line in compare_scores(a, b):
        emit(printable(line))


def _show_run(address: str, workdir: str, as_json: bool) -> None:
    from murmur.evaluation.arms import comparison_json, comparison_lines
    from murmur.evaluation.record import find_record, is_path

    record = find_record(address, _home(not is_path(address)), Path(workdir).absolute())
    if as_json:
        emit(json.dumps(comparison_json(record), indent=2, ensure_ascii=False))
        return
    for line in comparison_lines(record):
        emit(printable(line))


@command.command("run")
@click.argument("capsule_dir", default=".")
@click.option(
    "--dataset", default="./eval.jsonl", metavar="FILE", help="The cases [default: ./eval.jsonl]."
)
@click.option(
    "--variant", metavar="DIR|MANIFEST", help="A second manifest that every case runs against."
)
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="How often each case runs on each manifest [default: 1].",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="How many runs at once; 1 keeps the documented order [default: 1].",
)
@click.option("--executor", metavar="URL", help="Run on a Dask cluster, dask://HOST:PORT.")
@click.option("--resume", metavar="RUN", help="Finish an interrupted run.")
def run_cases(
    capsule_dir: str,
    dataset: str,
    variant: str | None,
    repeat: int,
    jobs: int,
    executor: str | None,
    resume: str | None,
) -> int:
    """Drive a dataset against a capsule, and optionally a variant of it."""
    from murmur.cli.evaluating import evaluate

    return evaluate(
        Path(capsule_dir),
        Path(dataset),
        None if variant is None else Path(variant),
        repeat,
        jobs=jobs,
        executor=executor,
        resume=resume,
    )


@command.command("case", hidden=True)
def carry_out_case() -> int:
    """Carry out one unit, read from standard input, and answer with its run."""
    from murmur.cli.evaluating import carry_out_unit

    return carry_out_unit()
