"""JUnit's XML, as pytest, Maven, Gradle, ctest and many others write it."""

import io
import re
from xml.etree import ElementTree

from test_report_tool.results import Failure, Results, first_line

# A comment is read once: with backtracking into it, many of them would cost without bound.
_START = re.compile(r"(?:<\?xml[^>]*\?>\s*)?(?>(?:<!--.*?-->\s*)*+)<testsuites?[\s>/]", re.DOTALL)
_DECLARATION = re.compile(r"^<\?xml[^>]*\?>")
_PLACE = re.compile(r"^\s*(?:at )?(?P<file>[^\s:()]+\.\w+):(?P<line>\d+)\b", re.MULTILINE)
_KINDS = {"failure": "failed", "error": "error"}


def is_junit(text: str) -> bool:
    """Whether this is such a document."""
    return _START.match(text) is not None


def read_junit(text: str) -> Results | None:
    """The report; None for what is no such document, ends early, or brings entities of its own."""
    if not is_junit(text):
        return None
    results = Results()
    # The text is decoded already, so the encoding that it declares is no longer its own.
    text = _DECLARATION.sub("", text)
    try:
        for _, element in ElementTree.iterparse(io.BytesIO(text.encode("utf-8", "replace"))):
            if _name(element) == "testcase":
                _case(element, results)
            if _name(element) in ("testcase", "testsuite"):
                element.clear()
    except ElementTree.ParseError:
        return None
    return results


def _case(case: ElementTree.Element, results: Results) -> None:
    parts = {_name(child): child for child in reversed(case)}
    for name, kind in _KINDS.items():
        if name in parts:
            results.add(_failure(case, parts[name], kind))
            return
    results.count({"skipped" if "skipped" in parts else "passed": 1})


def _failure(case: ElementTree.Element, part: ElementTree.Element, kind: str) -> Failure:
    body = (part.text or "").strip("\n")
    message = first_line(part.get("message", "")) or first_line(body) or part.get("type", "")
    places = list(_PLACE.finditer(body))
    file, line = case.get("file"), case.get("line")
    # An attribute says where the test begins, the text where it failed.
    for place in places:
        if file is None or place["file"].endswith(file):
            file, line = place["file"], place["line"]
    owner, name = case.get("classname", ""), case.get("name", "")
    return Failure(
        id=f"{owner}.{name}" if owner else name,
        kind=kind,
        file=file,
        line=int(line) if line and line.isdigit() else None,
        message=message,
        detail=body,
    )


def _name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
