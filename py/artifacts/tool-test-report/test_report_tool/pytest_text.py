"""What pytest prints: the summary names the tests, the sections before it tell of each."""

import re

from test_report_tool.results import Failure, Results, first_line

_RULE = re.compile(r"^=+ (?P<title>.+?) =+$")
_WRITTEN = re.compile(r"^-+ generated .+ -+$")
_TITLE = re.compile(r"^_{3,} (?P<title>.+?) _{3,}$")
_SUMMARY = re.compile(r"^(?P<kind>FAILED|ERROR) (?P<rest>\S.*)$")
_LAST = re.compile(
    r"^=* ?(?P<counts>(?:\d+ \w+(?:, )?)+|no tests ran) in [\d.]+s(?: \([\d:]+\))? ?=*$"
)
_PLACE = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+): ", re.MULTILINE)
_COUNTED = {
    "passed": "passed",
    "xfailed": "skipped",
    "xpassed": "passed",
    "skipped": "skipped",
    "failed": "failed",
    "error": "errors",
    "errors": "errors",
}
_SECTIONS = ("FAILURES", "ERRORS")


def is_pytest(text: str) -> bool:
    """Whether pytest printed this."""
    return "= test session starts =" in text or any(map(_LAST.match, text.splitlines()))


def read_pytest(text: str) -> Results | None:
    """The report; None where the output ends before pytest's last line."""
    lines = text.splitlines()
    last = next(filter(None, map(_LAST.match, reversed(lines))), None)
    if last is None:
        return None
    results = Results()
    for number, word in re.findall(r"(\d+) (\w+)", last["counts"]):
        if word in _COUNTED:
            results.count({_COUNTED[word]: int(number)})
    blocks = _blocks(lines)
    named = [found for found in map(_SUMMARY.match, _summary(lines)) if found]
    for found in named:
        test, _, said = _split(found["rest"])
        results.failures.append(_failure(test, found["kind"], said, _taken(blocks, test)))
    if not named:  # with -rN or --no-summary the sections are all there is
        for title, bodies in reversed(blocks.items()):
            kind = "ERROR" if title.startswith("ERROR ") else "FAILED"
            results.failures += [_failure(title, kind, "", body) for body in reversed(bodies)]
    return results


def _failure(test: str, kind: str, said: str, body: str) -> Failure:
    places = list(_PLACE.finditer(body))
    told = [line[1:].strip() for line in body.splitlines() if line.startswith("E  ")]
    file, line = test.partition("::")[0], None
    if places:
        file, line = places[-1]["file"], int(places[-1]["line"])
    message = said if said and not said.endswith("...") else ""
    return Failure(
        id=test,
        kind="error" if kind == "ERROR" else "failed",
        file=file if file.endswith(".py") else None,
        line=line,
        message=message or first_line("\n".join(told)) or said,
        detail=body,
    )


def _summary(lines: list[str]) -> list[str]:
    """The lines of the last short summary."""
    for place in range(len(lines) - 1, -1, -1):
        found = _RULE.match(lines[place])
        if found and found["title"] == "short test summary info":
            return lines[place + 1 :]
    return []


def _split(rest: str) -> tuple[str, str, str]:
    """A summary line's test and what is said of it; a parameter may hold the separator."""
    separator = " - "
    bracket = rest.find("[")
    if 0 <= bracket < rest.find(separator):
        end = rest.find("]" + separator, bracket)
        if end >= 0:
            return rest[: end + 1], separator, rest[end + 1 + len(separator) :]
        if rest.endswith("]"):
            return rest, "", ""
    return rest.partition(separator)


def _blocks(lines: list[str]) -> dict[str, list[str]]:
    """Under its title, the texts of the failures told at length, the last first."""
    blocks: list[tuple[str, list[str]]] = []
    telling = inside = False
    for line in lines:
        rule, title = _RULE.match(line), _TITLE.match(line)
        if rule or _WRITTEN.match(line):
            telling, inside = rule is not None and rule["title"] in _SECTIONS, False
        elif title and telling:
            inside = True
            blocks.append((title["title"], []))
        elif inside:
            blocks[-1][1].append(line)
    titled: dict[str, list[str]] = {}
    for named, body in reversed(blocks):
        titled.setdefault(named, []).append("\n".join(body).strip("\n"))
    return titled


def _taken(blocks: dict[str, list[str]], test: str) -> str:
    """The text of the first failure of that test, which no other test gets: two files may have a
    test of one name."""
    dotted = test.partition("::")[2].replace("::", ".")
    titles = [f"ERROR at {when} of {dotted}" for when in ("setup", "teardown")]
    for title in (dotted, f"ERROR collecting {test}", *titles):
        if blocks.get(title):
            return blocks[title].pop()
    return ""
