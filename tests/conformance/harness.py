"""Runs the escape table in each class that this host reaches, as root and as an ordinary user.

    python -m tests.conformance.harness [--class CLASS]... [--user root|ordinary]...

Prints one table and a verdict. Exits 0 when every row is as documented, 1 when the harness broke,
2 when nothing could be run, 3 when a boundary row failed, 4 when a resource row did.
spec/containment.md 26.2.
"""

import argparse
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from murmur.sandbox import cgroup
from murmur.sandbox.hierarchy import Blocked, read_facts
from murmur.sandbox.mur_sandbox import find_helper
from murmur.sandbox.resources import Resources
from tests.conformance.attempts import BOUNDARY, TABLE, Job
from tests.conformance.rows import CLASSES, ClassName, Observed, Row, held, verdict
from tests.conformance.rows_resources import CASES

User = Literal["root", "ordinary"]
USERS: Final[tuple[User, ...]] = ("root", "ordinary")

ORDINARY: Final = 61234  # nobody's: without an entry in /etc/passwd
_SECONDS: Final = 1800.0  # QEMU without KVM needs a third of it


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """The table in one class as one user; `refused` says why there is none, `failed` what broke."""

    class_: ClassName
    user: User
    rows: dict[str, Observed] = dataclasses.field(default_factory=dict)
    tier: str = ""
    scope: str = ""
    refused: str = ""
    failed: str = ""

    @property
    def name(self) -> str:
        return f"{self.class_}/{self.user}"

    def wrong(self, table: Sequence[Row] = TABLE) -> list[str]:
        """The rows that are not as documented, each with what happened. Empty for a refused run."""
        if self.refused:
            return []
        return [
            f"{self.name} {row.name}: {verdict(row, self.class_, self.rows.get(row.name))}"
            for row in table
            if not held(row, self.class_, self.rows.get(row.name))
        ]


def run_table(class_: ClassName, user: User) -> Run:
    """Everything in one class as one user, in a process of its own."""
    if (user == "root") != (os.geteuid() == 0) and os.geteuid() != 0:
        return Run(class_, user, refused="this is an ordinary user, who cannot become root")
    uid = ORDINARY if user == "ordinary" and os.geteuid() == 0 else None
    base = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="murmur-conformance-"))
    try:
        base.chmod(0o711)
        shutil.copyfile(find_helper(), base / "mur-sandbox")
        (base / "mur-sandbox").chmod(0o755)
        (base / "run").mkdir(mode=0o700)
        if uid is not None:
            os.chown(base / "run", uid, uid)
        with delegated(uid) as join:
            job = Job(class_, str(base / "run"), str(base / "mur-sandbox"), uid, join)
            return _ran(job, user)
    finally:
        shutil.rmtree(base, ignore_errors=True)


def _ran(job: Job, user: User) -> Run:
    paths = os.pathsep.join(each or os.getcwd() for each in sys.path)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tests.conformance.attempts"],
            input=json.dumps(dataclasses.asdict(job)),
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Run(job.class_, user, failed=f"it was not done after {_SECONDS:g} seconds")
    if done.returncode != 0:
        return Run(job.class_, user, failed=done.stderr[-4000:])
    told = json.loads(done.stdout)
    if "refused" in told:
        return Run(job.class_, user, refused=told["refused"])
    rows = {name: Observed(*each) for name, each in told["rows"].items()}
    return Run(job.class_, user, rows, told["tier"], told["scope"])


@contextmanager
def delegated(uid: int | None) -> Iterator[tuple[str, ...]]:
    """Cgroups that belong to the user, as systemd's user manager would hand them over."""
    if uid is None:
        yield ()
        return
    made: list[Path] = []
    try:
        with_controllers = cgroup.try_scope("ses_delegating", Resources())
    except Blocked:
        yield ()
        return
    try:
        # Beside a scope of our own: where it could be made, its controllers are there to delegate.
        for folder in with_controllers.folders:
            made.append(folder.with_name(f"murmur-conformance-{os.getpid()}"))
            made[-1].mkdir()
            for name in ("", "cgroup.procs", "cgroup.subtree_control", "tasks"):
                if (made[-1] / name).exists():
                    os.chown(made[-1] / name, uid, uid)
        others = read_facts()
        if with_controllers.hierarchy == "v1":
            for name in ("blkio", "freezer"):
                beside = others.v1.get(name)
                known = {each.parent for each in made}
                if beside is not None and beside not in known:
                    raise AssertionError(f"no scope in {beside}")
        yield tuple(map(str, made))
    finally:
        with_controllers.remove()
        below = [each for folder in made for each in folder.glob("*/")]
        cgroup.remove_folders([*below, *made])


def render(runs: Sequence[Run]) -> str:
    """One table: a line per row, a column per class and user; then the verdict."""
    shown = [run for run in runs if not run.refused and not run.failed]
    cells = [
        [row.name, *(verdict(row, run.class_, run.rows.get(row.name)) for run in shown)]
        for row in TABLE
    ]
    head = ["case", *(run.name for run in shown)]
    widths = [min(34, max(len(line[at]) for line in [head, *cells])) for at in range(len(head))]
    lines = [
        "  ".join(text[:width].ljust(width) for text, width in zip(line, widths, strict=True))
        for line in [head, *cells]
    ]
    lines += [f"{run.name}: tier {run.tier}, cgroup scope {run.scope}" for run in shown]
    lines += [f"{run.name}: not run: {run.refused}" for run in runs if run.refused]
    lines += [f"{run.name}: broken: {run.failed}" for run in runs if run.failed]
    wrong = [each for run in shown for each in run.wrong()]
    lines += [f"NOT AS DOCUMENTED  {each}" for each in wrong]
    lines.append(f"verdict: {len(TABLE)} rows in {len(shown)} runs, {len(wrong)} not as documented")
    return "\n".join(line.rstrip() for line in lines)


def exit_status(runs: Sequence[Run]) -> int:
    if any(run.failed for run in runs):
        return 1
    if all(run.refused for run in runs):
        return 2
    if any(run.wrong(BOUNDARY) for run in runs):
        return 3
    return 4 if any(run.wrong(CASES) for run in runs) else 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Runs the escape table.")
    parser.add_argument("--class", dest="classes", action="append", choices=CLASSES)
    parser.add_argument("--user", dest="users", action="append", choices=USERS)
    asked = parser.parse_args(arguments)
    runs = [run_table(c, u) for c in asked.classes or CLASSES for u in asked.users or USERS]
    print(render(runs))
    return exit_status(runs)


if __name__ == "__main__":
    sys.exit(main())
