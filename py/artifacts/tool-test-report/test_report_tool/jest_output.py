"""What jest says, as JSON (`--json`) or as text."""

import re
from typing import Any

from murmur_tooling.documents import read_json

from test_report_tool.results import Failure, Results, first_line

_FILE = re.compile(r"^(?:FAIL|PASS) (?P<file>\S+)(?: \([\d.]+ m?s\))?$")
_BULLET = re.compile(r"^  ● (?P<name>\S.*)$")
_SEPARATOR = " \u203a "
_HEADING = re.compile(r"^\s*● .*\n+")
_TOTALS = re.compile(r"^Tests: +(?P<counts>.+), \d+ total$", re.MULTILINE)
_SUITES = re.compile(r"^Test Suites: ", re.MULTILINE)
_FRAME = re.compile(r"^\s+at (?:.*\()?(?P<file>[^\s()]+?):(?P<line>\d+):\d+\)?$", re.MULTILINE)
_NOT_RUN = "Test suite failed to run"
_COUNTED = {"passed": "passed", "failed": "failed", "skipped": "skipped", "todo": "skipped"}
_STATUSES = {"passed": "passed", "pending": "skipped", "todo": "skipped", "disabled": "skipped"}


def is_jest(text: str) -> bool:
    """Whether jest wrote this."""
    if text.startswith("{"):
        return '"testResults":' in text and '"numTotalTests":' in text
    return _SUITES.search(text) is not None and _TOTALS.search(text) is not None


def read_jest(text: str) -> Results | None:
    """The report; None where it is neither."""
    if text.startswith("{"):
        return _of_json(text)
    return _of_text(text) if is_jest(text) else None


def _of_json(text: str) -> Results | None:
    try:
        value = read_json(text)
    except ValueError:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("testResults"), list):
        return None
    results = Results()
    for suite in value["testResults"]:
        if isinstance(suite, dict):
            _suite(suite, results)
    return results


def _suite(suite: dict[str, Any], results: Results) -> None:
    file = str(suite.get("name", ""))
    tests = [test for test in suite.get("assertionResults") or () if isinstance(test, dict)]
    for test in tests:
        if test.get("status") == "failed":
            said = "\n".join(map(str, test.get("failureMessages") or ()))
            name = _SEPARATOR.join(
                map(str, (*(test.get("ancestorTitles") or ()), test.get("title")))
            )
            results.add(_failure(name, "failed", file, said))
        else:
            results.count({_STATUSES.get(str(test.get("status")), "skipped"): 1})
    if not tests and suite.get("status") == "failed":
        said = _HEADING.sub("", str(suite.get("message", "")), count=1)
        results.add(_failure(file, "error", file, said))


def _of_text(text: str) -> Results:
    results = Results()
    totals = _TOTALS.search(text)
    assert totals is not None
    for number, word in re.findall(r"(\d+) (\w+)", totals["counts"]):
        results.count({_COUNTED.get(word, "skipped"): int(number)})
    seen = set()
    for file, name, body in _blocks(text):
        # Where many fail, all are told again at the end.
        if (file, name) in seen:
            continue
        seen.add((file, name))
        if name == _NOT_RUN:
            results.add(_failure(file, "error", file, body))
        else:
            results.failures.append(_failure(name, "failed", file, body))
    return results


def _blocks(text: str) -> list[tuple[str, str, str]]:
    """File, name and text of each failure."""
    blocks: list[tuple[str, str, list[str]]] = []
    file = ""
    inside = False
    for line in text.splitlines():
        named, bullet = _FILE.match(line), _BULLET.match(line)
        if named:
            file, inside = named["file"], False
        elif bullet and file:
            inside = True
            blocks.append((file, bullet["name"].strip(), []))
        elif line and not line.startswith(" "):
            inside = False
        elif inside:
            blocks[-1][2].append(line)
    return [(file, name, "\n".join(body).strip("\n")) for file, name, body in blocks]


def _failure(name: str, kind: str, file: str, said: str) -> Failure:
    line = None
    for frame in _FRAME.finditer(said):
        if frame["file"] == file or file.endswith("/" + frame["file"]):
            line = int(frame["line"])
            break
    told = re.split(r"\n\s+at |\n\n\s+>? ?\d+ \|", said, maxsplit=1)[0]
    return Failure(name, kind, file or None, line, first_line(told), said)
