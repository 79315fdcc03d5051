"""Failing tests in the output of common test runners, and what of them is a regression.

A command counts as a test run when its words name a runner. The first run before any edit is the
baseline, the newest one after an edit is what is compared with it.
"""

import re
from dataclasses import dataclass

_RUNNER = re.compile(
    r"(^|[\s;&|(/])(pytest|py\.test|tox|nose2|jest|vitest|mocha|ctest|phpunit|rspec"
    r"|unittest|(cargo|go|npm|yarn|pnpm|make|just|gradle|mvn|dotnet|mix|swift)\s+(run\s+)?test)\b"
)
_FAILED = (
    re.compile(r"^FAILED (\S+)", re.MULTILINE),  # pytest
    re.compile(r"^ERROR (\S+::\S+)", re.MULTILINE),
    re.compile(r"^\s*--- FAIL: (\S+)", re.MULTILINE),  # go
    re.compile(r"^test (\S+) \.\.\. FAILED", re.MULTILINE),  # cargo
    re.compile(r"^(?:FAIL|ERROR): (\S+ \(\S+\))", re.MULTILINE),  # unittest
    re.compile(r"^\s*✕ (.+?)(?: \(\d+ ?m?s\))?$", re.MULTILINE),  # jest
    re.compile(r"^not ok \d+ -? ?(.+)$", re.MULTILINE),  # TAP
)
_SHOWN = 20


def is_test_run(command: str) -> bool:
    """Whether a command line runs tests, by its words."""
    return _RUNNER.search(command) is not None


def failing(output: str) -> frozenset[str]:
    """The names of the tests that the output says failed."""
    return frozenset(
        found.group(1).strip() for pattern in _FAILED for found in pattern.finditer(output)
    )


@dataclass
class Watch:
    """What one task has run and edited so far."""

    edited: bool = False
    baseline: frozenset[str] | None = None
    latest: frozenset[str] | None = None

    def begin(self) -> None:
        """Another task: nothing is known of it."""
        self.edited, self.baseline, self.latest = False, None, None

    def ran(self, output: str, exit_code: int) -> None:
        """A test run has ended; one that failed without naming a test says nothing."""
        names = failing(output)
        if exit_code != 0 and not names:
            return
        if not self.edited:
            self.baseline = names
        else:
            self.latest = names

    def regressions(self) -> list[str]:
        """Tests that fail after the edits and did not before, in order."""
        if self.baseline is None or self.latest is None:
            return []
        return sorted(self.latest - self.baseline)


def feedback(names: list[str]) -> str:
    """What the next attempt reads."""
    shown = "\n".join(f"- {name}" for name in names[:_SHOWN])
    more = f"\n- and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return (
        f"Tests that passed before your edits fail now:\n{shown}{more}\n"
        "Mend what broke them, and run the tests again."
    )
