"""Datasets of cases: one JSON object a line, each checked before anything runs.

CLI reference, *mur eval run*. Relative paths start from the current directory.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from murmur.core.diagnostics import MurmurError, error
from murmur.core.words import split_words
from murmur.evaluation.start import BadTree, check_tree

DEFAULT_TIMEOUT: Final = 600
_KEYS: Final = ("case_id", "task_path", "expected", "start", "check")
_CHECK_KEYS: Final = ("command", "files", "timeout_secs")


@dataclass(frozen=True, slots=True)
class CaseCheck:
    """The command that judges a case, its files and its time in seconds."""

    command: str
    files: Path | None = None
    timeout_secs: int = DEFAULT_TIMEOUT

    @property
    def words(self) -> list[str]:
        """Its binary and arguments."""
        return split_words(self.command)


@dataclass(frozen=True, slots=True)
class Case:
    """One case, its paths absolute. `expected` is whatever the dataset holds; nothing reads it."""

    case_id: str
    task_path: Path
    start: Path | None = None
    check: CaseCheck | None = None


def read_dataset(path: Path, cwd: Path) -> tuple[Case, ...]:
    """The cases of a dataset file, in order.

    Raises E-IO-001 for no file, E-IO-003 for one that cannot be read, E-EVAL-001 for a line that is
    no case or names a case twice, and E-EVAL-003 for a tree or a check that cannot be used.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        hint = "name the dataset with --dataset"
        raise error("E-IO-001", what="dataset", path=path, hint=hint) from None
    except OSError as failure:
        raise error("E-IO-003", what=path, reason=failure.strerror or "", hint="") from None
    cases: dict[str, Case] = {}
    for number, raw in enumerate(lines, 1):
        if not raw.strip():
            continue
        case = _case(raw, path, number, cwd)
        if case.case_id in cases:
            raise _bad(path, number, f"case_id {case.case_id!r} was given before")
        cases[case.case_id] = case
    if not cases:
        raise _bad(path, 1, "it holds no case")
    for case in cases.values():
        check_case(case)
    return tuple(cases.values())


def _bad(path: Path, number: int, reason: str) -> MurmurError:
    return error("E-EVAL-001", file=path, line=number, reason=reason)


def _case(raw: bytes, path: Path, number: int, cwd: Path) -> Case:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        raise _bad(path, number, "it is not JSON") from None
    if not isinstance(value, dict):
        raise _bad(path, number, "a case is a JSON object")
    _known(value, _KEYS, "", path, number)
    return Case(
        _string(value, "case_id", path, number),
        cwd / _string(value, "task_path", path, number),
        cwd / _string(value, "start", path, number) if "start" in value else None,
        _check(value["check"], path, number, cwd) if "check" in value else None,
    )


def _check(value: Any, path: Path, number: int, cwd: Path) -> CaseCheck:
    if isinstance(value, str):
        return CaseCheck(value)
    if not isinstance(value, dict):
        raise _bad(path, number, "check is neither a command nor an object")
    _known(value, _CHECK_KEYS, "check.", path, number)
    timeout = value.get("timeout_secs", DEFAULT_TIMEOUT)
    if not isinstance(timeout, int) or isinstance(timeout, bool) or timeout < 0:
        raise _bad(path, number, f"check.timeout_secs is {timeout!r}, not a number of seconds")
    command = value.get("command")
    if not isinstance(command, str):
        problem = "is missing" if command is None else f"is {command!r}, not a string"
        raise _bad(path, number, f"check.command {problem}")
    files = cwd / _string(value, "files", path, number) if "files" in value else None
    return CaseCheck(command, files, timeout)


def _known(
    value: Mapping[str, Any], keys: Sequence[str], prefix: str, path: Path, number: int
) -> None:
    strange = next((key for key in value if key not in keys), None)
    if strange is not None:
        known = ", ".join(prefix + key for key in keys)
        raise _bad(path, number, f"{prefix}{strange} is none of {known}")


def _string(value: Mapping[str, Any], name: str, path: Path, number: int) -> str:
    found = value.get(name)
    if not isinstance(found, str) or not found:
        problem = "is missing" if name not in value else f"is {found!r}, not a non-empty string"
        raise _bad(path, number, f"{name} {problem}")
    return found


def check_case(case: Case) -> None:
    """Raises E-EVAL-003 for a folder or a check that no run could use."""
    if case.start is not None:
        _check_folder(case, "start", case.start)
    if case.check is None:
        return
    if not case.check.command.strip() or not case.check.words:
        raise _refused(case, "check.command", "it has no words")
    if case.check.timeout_secs == 0:
        raise _refused(case, "check.timeout_secs", "0 seconds let no check run")
    if case.check.files is not None:
        _check_folder(case, "check.files", case.check.files)


def _check_folder(case: Case, field: str, folder: Path) -> None:
    try:
        check_tree(folder)
    except BadTree as bad:
        raise _refused(case, field, str(bad)) from None


def _refused(case: Case, field: str, reason: str) -> MurmurError:
    return error("E-EVAL-003", case=case.case_id, field=field, reason=reason)
