"""What `cargo test` prints: one run after another, or the compiler's errors instead."""

import re

from test_report_tool.results import Failure, Results, first_line

_TEST = re.compile(r"^test (?P<name>.+?) \.\.\. (?P<how>ok|FAILED|ignored)\b", re.MULTILINE)
_TOTALS = re.compile(
    r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored;", re.MULTILINE
)
_BLOCK = re.compile(r"^---- (?P<name>.+) stdout ----$")
_PANIC = re.compile(r"panicked at (?P<file>[^\s:]+):(?P<line>\d+):\d+:?")
_NOTE = re.compile(
    r"^note: test did not panic as expected at (?P<file>[^\s:]+):(?P<line>\d+)", re.M
)
_COMPILER = re.compile(
    r"^error(?:\[(?P<code>E\d+)\])?: (?P<message>.+)\n +--> (?P<file>[^\s:]+):(?P<line>\d+):\d+$",
    re.MULTILINE,
)
_SHOULD_PANIC = " - should panic"


def is_cargo(text: str) -> bool:
    """Whether cargo printed this."""
    return _TOTALS.search(text) is not None or "error: could not compile `" in text


def read_cargo(text: str) -> Results | None:
    """The report; None where the output holds neither a run's end nor a compiler's error."""
    if not is_cargo(text):
        return None
    results = Results()
    for passed, failed, ignored in _TOTALS.findall(text):
        results.count({"passed": int(passed), "failed": int(failed), "skipped": int(ignored)})
    blocks = _blocks(text)
    for found in _TEST.finditer(text):
        if found["how"] == "FAILED":
            name = found["name"].removesuffix(_SHOULD_PANIC)
            results.failures.append(_failure(name, blocks[name].pop() if blocks.get(name) else ""))
    if "error: could not compile `" in text:
        _add_errors(text, results)
    return results


def _add_errors(text: str, results: Results) -> None:
    """The compiler's errors, or that it could not compile where none has a place."""
    found = list(_COMPILER.finditer(text))
    for number, error in enumerate(found):
        end = found[number + 1].start() if number + 1 < len(found) else len(text)
        results.add(
            Failure(
                id=error["code"] or "compile",
                kind="error",
                file=error["file"],
                line=int(error["line"]),
                message=error["message"],
                detail=text[error.start() : end].partition("\n\n")[0],
            )
        )
    if not found:
        results.add(Failure("compile", "error", message="it could not be compiled"))


def _failure(name: str, body: str) -> Failure:
    panic = _PANIC.search(body)
    place = panic or _NOTE.search(body)
    told = body[panic.end() :] if panic else body
    told = told.partition("\nstack backtrace:")[0].partition("\nnote: run with")[0]
    return Failure(
        id=name,
        file=place["file"] if place else None,
        line=int(place["line"]) if place else None,
        message=first_line(told),
        detail=body,
    )


def _blocks(text: str) -> dict[str, list[str]]:
    """Under its name, the outputs of the tests that failed, the last first; two crates may have
    tests of one name. They end at the list of names."""
    blocks: list[tuple[str, list[str]]] = []
    inside = False
    for line in text.splitlines():
        found = _BLOCK.match(line)
        if found:
            inside = True
            blocks.append((found["name"], []))
        elif line in ("failures:", "successes:") or line.startswith("test result: "):
            inside = False
        elif inside:
            blocks[-1][1].append(line)
    named: dict[str, list[str]] = {}
    for name, body in reversed(blocks):
        named.setdefault(name, []).append("\n".join(body).strip("\n"))
    return named
