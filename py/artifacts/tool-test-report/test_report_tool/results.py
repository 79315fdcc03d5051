"""What every format is read into: how the tests ended, and the failures one by one."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

OUTCOMES = ("passed", "failed", "errors", "skipped")
MESSAGE_CHARACTERS = 500
DETAIL_CHARACTERS = 4000
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


@dataclass(frozen=True, slots=True)
class Failure:
    """One test that failed, or one thing that kept tests from running.

    `id` is what its runner takes to run it again, where the report has that. `kind` is `failed` or
    `error`; `file` is as the report has it, `within` what is known of the folder it is relative to.
    """

    id: str
    kind: str = "failed"
    file: str | None = None
    line: int | None = None
    message: str = ""
    detail: str = ""
    within: str | None = None


@dataclass(slots=True)
class Results:
    """One report. `counts` has a number for each of OUTCOMES."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(OUTCOMES, 0))
    failures: list[Failure] = field(default_factory=list)

    def count(self, found: Mapping[str, int]) -> None:
        """Adds to the counts."""
        for outcome, number in found.items():
            self.counts[outcome] += number

    def add(self, failure: Failure) -> None:
        """Adds a failure and counts it."""
        self.failures.append(failure)
        self.counts["errors" if failure.kind == "error" else "failed"] += 1


def plain(text: str) -> str:
    """The text without colours and carriage returns."""
    return _ANSI.sub("", text).replace("\r\n", "\n")


def shortened(text: str, most: int) -> str:
    """The text, its middle left out where it is longer than `most` characters."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"


def first_line(text: str) -> str:
    """The first line that says anything."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
