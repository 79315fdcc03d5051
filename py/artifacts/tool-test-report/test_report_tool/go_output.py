"""What `go test` prints, as JSON events (`-json`) or as text, with or without `-v`.

Text is read into the same events. A test that has subtests is not counted: it ended as they did,
unless it failed and none of them.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from murmur_tooling.documents import read_json

from test_report_tool.results import Failure, Results, first_line

Event = Mapping[str, Any]

_STARTS = re.compile(r"^=== (?:RUN|CONT|NAME|PAUSE) +(?P<name>\S+)$")
_ENDS = re.compile(r"^ *--- (?P<how>PASS|FAIL|SKIP): (?P<name>\S+) \([\d.]+s\)$")
_PACKAGE = re.compile(r"^(?P<how>ok  |FAIL|---|\?   )\t(?P<package>\S+)(?P<rest>\t.*| \[.*)?$")
_BUILD = re.compile(r"^# (?P<package>\S+)")
_SAID = re.compile(r"^\s*(?P<file>[^\s:]+\.go):(?P<line>\d+):(?:\d+:)? (?P<text>.*)$", re.MULTILINE)
_FRAME = re.compile(r"^\t(?P<file>\S+_test\.go):(?P<line>\d+)", re.MULTILINE)
_HOW = {"pass": "passed", "skip": "skipped"}
_NOISE = ("=== ", "--- ", "FAIL\t", "FAIL\n", "PASS\n", "ok  \t", "exit status")


def is_go(text: str) -> bool:
    """Whether `go test` printed this."""
    if text.startswith("{"):
        first = text.partition("\n")[0]
        return '"Action":' in first and ('"Package":' in first or '"ImportPath":' in first)
    return any(_ENDS.match(line) or _PACKAGE.match(line) for line in text.splitlines())


def read_go(text: str) -> Results | None:
    """The report; None where nothing in it says how a test or a package ended."""
    events = _json_events(text) if text.startswith("{") else _text_events(text)
    output: dict[tuple[str, str], list[str]] = defaultdict(list)
    ended: dict[tuple[str, str], str] = {}
    for event in events:
        key = (event.get("Package") or event.get("ImportPath") or "", event.get("Test") or "")
        action = event.get("Action")
        if action in ("output", "build-output"):
            output[key].append(str(event.get("Output", "")))
        elif action in ("pass", "fail", "skip", "build-fail"):
            ended[key] = str(action).removeprefix("build-")
            if event.get("FailedBuild"):
                output[key] += output[(event["FailedBuild"], "")]
    return _results(ended, output) if ended else None


def _results(
    ended: Mapping[tuple[str, str], str], output: Mapping[tuple[str, str], list[str]]
) -> Results:
    results = Results()
    parents = {(package, up) for package, test in ended for up in _parents(test)}
    failed = {key for key, how in ended.items() if how == "fail" and key[1]}
    told = {(package, up) for package, test in failed for up in _parents(test)}
    packages = {package for package, _ in failed}
    for key, how in ended.items():
        package, test = key
        body = "".join(output.get(key, ()))
        if test and how == "fail" and key not in told:
            results.add(_failure(package, test, body))
        elif test and how != "fail" and key not in parents:
            results.count({_HOW[how]: 1})
        elif not test and how == "fail" and package not in packages and "[" not in package:
            results.add(_failure(package, "", body))
    return results


def _failure(package: str, test: str, body: str) -> Failure:
    lines = [line for line in body.splitlines(keepends=True) if not _is_noise(line)]
    told = "".join(lines)
    place = _SAID.search(told)
    frame = _FRAME.search(told)
    message = place["text"] if place else first_line(told)
    found = place or frame
    return Failure(
        id=".".join(filter(None, (package, test))),
        kind="failed" if test else "error",
        file=found["file"] if found else None,
        line=int(found["line"]) if found else None,
        message=message,
        detail=told.strip("\n"),
        within=package or None,
    )


def _is_noise(line: str) -> bool:
    return line.lstrip(" ").startswith(_NOISE) or _BUILD.match(line) is not None


def _parents(test: str) -> Iterator[str]:
    pieces = test.split("/")
    return ("/".join(pieces[:count]) for count in range(1, len(pieces)))


def _json_events(text: str) -> Iterable[Event]:
    for line in text.splitlines():
        try:
            value = read_json(line)
        except ValueError:
            continue  # what a test printed past the testing package's own output
        if isinstance(value, dict):
            yield value


def _text_events(text: str) -> Iterable[Event]:
    """The events of a text; a package is named after its tests, so they wait for it."""
    waiting: list[dict[str, Any]] = []
    test = ""
    build = ""
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\n")
        starts, ends, package = _STARTS.match(bare), _ENDS.match(bare), _PACKAGE.match(bare)
        named = _BUILD.match(bare)
        if named:
            build, test = named["package"], ""
        if starts:
            test = starts["name"]
        elif ends:
            test = ends["name"]
            waiting.append({"Action": ends["how"].lower(), "Test": test})
        elif package and package["how"] != "---":
            name = package["package"]
            for event in waiting:
                yield {**event, "Package": name}
            action = {"ok  ": "pass", "FAIL": "fail"}.get(package["how"], "skip")
            broken = build if package["rest"] and "build failed" in package["rest"] else None
            yield {"Action": action, "Package": name, "FailedBuild": broken}
            waiting, test = [], ""
        elif build and not test:
            yield {"Action": "build-output", "ImportPath": build, "Output": line}
        if not (package and package["how"] != "---"):
            waiting.append({"Action": "output", "Test": test, "Output": line})
    yield from waiting
