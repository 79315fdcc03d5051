"""The record of one `mur eval run`: written anew after every run, read by `mur eval diff --run`.

spec/observability.md 11.5, whose recommended place and keys these are:
`<records group of the baseline's workdir root>/eval-runs/<evr_id>.json`, 0600 in a 0700 folder.
"""

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from murmur.core.addresses import BadAddress, choose, parse_address
from murmur.core.addresses import Literal as PathAddress
from murmur.core.diagnostics import MurmurError, error
from murmur.core.home import Home
from murmur.core.ids import is_id
from murmur.core.safefs import open_root

RUNS: Final = "eval-runs"
BASELINE: Final = "baseline"
VARIANT: Final = "variant"
CheckResult = Literal["pass", "fail", "timed_out", "error", "not_run"]
_LARGEST: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class Arm:
    """One manifest that every case runs against."""

    name: str
    manifest: str
    manifest_sha256: str
    model: str


@dataclass(frozen=True, slots=True)
class Check:
    """How a case's check ended; `log` is its output's file in the session's records."""

    result: CheckResult
    exit_code: int | None = None
    duration_ms: int = 0
    resource_limit: str | None = None
    message: str = ""
    log: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One case on one arm. Token counts are the provider's, None when no call reported one."""

    case_id: str
    arm: str
    repeat: int
    status: Literal["ran", "stage_failed", "start_mismatch"]
    session_id: str | None = None
    work_folder: str | None = None
    records_dir: str | None = None
    trace: str | None = None
    exit_status: str | None = None
    start_digest: str | None = None
    start_source_digest: str | None = None
    turns: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    agent_ms: int | None = None
    overall: str | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    check: Check | None = None

    @property
    def key(self) -> tuple[str, str, int]:
        """What tells it from the other runs of a record."""
        return self.case_id, self.arm, self.repeat


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One `mur eval run`, as far as it got. `started_at` is RFC 3339 in UTC."""

    run_id: str
    dataset: str
    dataset_id: str | None
    started_at: str
    repeat: int
    complete: bool
    runs_expected: int
    arms: tuple[Arm, ...]
    runs: tuple[Run, ...] = ()

    @property
    def cases(self) -> list[str]:
        """The case ids in the order of their first runs."""
        return list(dict.fromkeys(run.case_id for run in self.runs))

    def of(self, case_id: str | None, arm: str) -> list[Run]:
        """The runs of one case, or of all, on one arm, by repeat."""
        found = [r for r in self.runs if r.arm == arm and case_id in (None, r.case_id)]
        return sorted(found, key=lambda run: run.repeat)


def runs_folder(home: Home, workdir_root: Path) -> Path:
    """Where the records of runs of the baseline below `workdir_root` lie."""
    return home.records_group(workdir_root) / RUNS


def write_record(home: Home, workdir_root: Path, record: RunRecord) -> Path:
    """Replaces the record whole. Raises OSError."""
    folder = runs_folder(home, workdir_root)
    data = json.dumps(asdict(record), ensure_ascii=False, indent=1).encode()
    with open_root(home.root) as root:
        below = folder.relative_to(home.root).as_posix()
        with root.sub(below, create=True) as runs:
            runs.write_atomic(f"{record.run_id}.json", data, 0o600)
    return folder / f"{record.run_id}.json"


def is_path(address: str) -> bool:
    """Whether an address is a record's file rather than a run to look up."""
    return "/" in address or address.endswith(".json")


def find_record(address: str, home: Home | None, workdir_root: Path) -> RunRecord:
    """The record that an address names: `@N`, an id, a suffix of one, or a path.

    Raises E-EVAL-002 for one that names none or several, E-EVAL-001 for a file that is no record,
    E-IO-003 for one that cannot be read.
    """
    if is_path(address):
        return read_record(Path(address))
    assert home is not None
    folder = runs_folder(home, workdir_root)
    try:
        parsed = parse_address(address)
        if isinstance(parsed, PathAddress):
            raise BadAddress(address, "a path to a record holds / or ends in .json")
        name = choose(parsed, _recorded(folder), f"{workdir_root} ({folder})")
    except BadAddress as bad:
        raise error("E-EVAL-002", address=bad.address, reason=bad.reason) from None
    return read_record(folder / f"{name}.json")


def _recorded(folder: Path) -> tuple[str, ...]:
    """The run ids in a folder, newest first."""
    try:
        names = [Path(name).stem for name in os.listdir(folder) if name.endswith(".json")]
    except FileNotFoundError:
        return ()
    except OSError as failure:
        raise error("E-IO-003", what=folder, reason=failure.strerror or "", hint="") from None
    return tuple(sorted((name for name in names if is_id(name, "evr")), reverse=True))


def read_record(path: Path) -> RunRecord:
    """One record. Raises E-EVAL-002 for no file, E-EVAL-001 for no record, E-IO-003."""
    try:
        with open(path, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise error("E-IO-003", what=path, reason="it is no regular file", hint="")
            value = json.loads(file.read(_LARGEST))
        return _record(value)
    except FileNotFoundError:
        raise error("E-EVAL-002", address=path, reason="there is no such record") from None
    except OSError as failure:
        raise error("E-IO-003", what=path, reason=failure.strerror or "", hint="") from None
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise _no_record(path, problem) from None


def _no_record(path: Path, problem: Exception) -> MurmurError:
    reason = f"it is no record of an eval run ({type(problem).__name__}: {problem})"
    return error("E-EVAL-001", file=path, line=1, reason=reason)


def _record(value: Any) -> RunRecord:
    """A record from its JSON. Raises KeyError, TypeError or ValueError for another shape."""
    if not isinstance(value, dict):
        raise TypeError("no object")
    runs = tuple(parse_run(run) for run in value.pop("runs"))
    arms = tuple(Arm(**arm) for arm in value.pop("arms"))
    if not arms or any(run.arm not in [arm.name for arm in arms] for run in runs):
        raise ValueError("a run names no arm of the record")
    return RunRecord(**value, arms=arms, runs=runs)


def parse_run(value: Any) -> Run:
    """One run from its JSON. Raises KeyError, TypeError or ValueError for another shape."""
    fields = dict(value)
    check = fields.pop("check", None)
    fields["warnings"] = tuple(fields.get("warnings", ()))
    run = Run(**fields, check=None if check is None else Check(**check))
    measured = (run.turns, run.agent_ms, run.input_tokens, run.output_tokens)
    if not all(isinstance(each, int | None) for each in measured):
        raise TypeError("a measure is no number")
    return run
