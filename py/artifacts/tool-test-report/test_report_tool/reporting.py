"""One call: a report is found, its format recognized, and its failures told (spec 16.3)."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from murmur_tooling.members import Members, ToolError, read_members
from murmur_tooling.outcome import Outcome, compact, passed, refused
from murmur_tooling.places import failed, resolve

from test_report_tool.cargo_text import is_cargo, read_cargo
from test_report_tool.go_output import is_go, read_go
from test_report_tool.jest_output import is_jest, read_jest
from test_report_tool.junit_xml import is_junit, read_junit
from test_report_tool.pytest_text import is_pytest, read_pytest
from test_report_tool.results import (
    DETAIL_CHARACTERS,
    MESSAGE_CHARACTERS,
    Failure,
    Results,
    plain,
    shortened,
)

OPERATIONS = {"parse": ("input_path", "format", "repo_path")}
# In the order in which they are asked: what only one runner writes comes first.
FORMATS: Mapping[str, tuple[Callable[[str], bool], Callable[[str], Results | None]]] = {
    "junit": (is_junit, read_junit),
    "jest": (is_jest, read_jest),
    "cargo": (is_cargo, read_cargo),
    "pytest": (is_pytest, read_pytest),
    "go": (is_go, read_go),
}
FAILURES_SHOWN = 50
REPORT_BYTES = 16 * 1024 * 1024


def parse(data: str | None, folder: Path) -> Outcome:
    """Read one report below `folder`. Never raises for what an input or a report may hold."""
    metadata: tuple[tuple[str, str], ...] = ()
    try:
        _, members = read_members(data, OPERATIONS)
        metadata = (("state_effect", "read"),)
        path = resolve(folder, members.text("input_path"))
        metadata += (("resource_id", f"workdir:{path}"),)
        repository = resolve(folder, members.text("repo_path", "."))
        if not (folder / repository).is_dir():
            raise ToolError("not_found", f"{repository} is no folder")
        text = _load(folder, path)
        name, results = _read(text, path, members)
        located = [_located(each, folder, repository) for each in results.failures]
        result, spilled = _told(folder, path, name, results, located)
    except ToolError as problem:
        return refused(problem, metadata)
    if spilled is not None:
        metadata = (("state_effect", "mutate"), *metadata[1:])
    counts = ", ".join(f"{number} {outcome}" for outcome, number in results.counts.items())
    more = spilled is not None
    return passed(f"{name}: {counts}", result, metadata, truncated=more, data_path=spilled)


def _load(folder: Path, path: str) -> str:
    try:
        if (folder / path).is_dir():
            raise ToolError("is_directory", f"{path} is a folder; name the report in it")
        with (folder / path).open("rb") as file:
            content = file.read(REPORT_BYTES + 1)
    except OSError as problem:
        raise failed(path, problem) from None
    if len(content) > REPORT_BYTES:
        raise ToolError("too_large", f"{path} is larger than {REPORT_BYTES} bytes")
    return plain(content.decode("utf-8", "replace").removeprefix("\ufeff")).lstrip()


def _read(text: str, path: str, members: Members) -> tuple[str, Results]:
    known = ", ".join(FORMATS)
    name = members.choice("format", ("auto", *FORMATS), "auto")
    if name == "auto":
        found = next((each for each, (recognized, _) in FORMATS.items() if recognized(text)), None)
        if found is None:
            message = f"{path} is no report of {known}; name its format, or run the tests again"
            raise ToolError("unknown_format", message)
        name = found
    results = FORMATS[name][1](text)
    if results is None:
        message = f"{path} is no whole report of {name}; the formats are {known}"
        raise ToolError("not_a_report", message)
    return name, results


def _told(
    folder: Path, path: str, name: str, results: Results, failures: list[Failure]
) -> tuple[dict[str, Any], str | None]:
    """The result, and where all failures were written if it holds only the first of them."""
    told = [
        {"id": each.id, "kind": each.kind, "file": each.file, "line": each.line}
        | {"message": each.message, "detail": each.detail}
        for each in failures
    ]
    result: dict[str, Any] = {
        "path": path,
        "format": name,
        "counts": dict(results.counts),
        "failures": told[:FAILURES_SHOWN],
        "failure_count": len(told),
    }
    if len(told) <= FAILURES_SHOWN:
        return result, None
    pure = PurePosixPath(path)
    spilled = str(pure.with_name(f"{pure.stem}.failures.json"))
    fresh = folder / f"{spilled}.new"
    try:
        # Renaming replaces what is there, a link included, and follows none.
        fresh.unlink(missing_ok=True)
        with fresh.open("x", encoding="utf-8") as file:
            file.write(compact({**result, "failures": told}) + "\n")
        os.replace(fresh, folder / spilled)
    except OSError as problem:
        raise failed(spilled, problem) from None
    result["failures_path"] = spilled
    return result, spilled


def _located(failure: Failure, folder: Path, repository: str) -> Failure:
    """The failure with its file's path in the work folder where the repository has that file.

    Runners name files by where they ran: absolutely, or relative to a folder of their own. The
    longest end of that path which the repository has is taken.
    """
    file = failure.file
    if file is not None:
        whole = file if file.startswith("/") or not failure.within else f"{failure.within}/{file}"
        parts = [part for part in whole.split("/") if part not in ("", ".")]
        for start in range(len(parts)):
            tail = "/".join(parts[start:])
            if ".." not in parts and (folder / repository / tail).is_file():
                file = tail if repository == "." else f"{repository}/{tail}"
                break
    return replace(
        failure,
        file=file,
        message=shortened(failure.message, MESSAGE_CHARACTERS),
        detail=shortened(failure.detail, DETAIL_CHARACTERS),
    )
