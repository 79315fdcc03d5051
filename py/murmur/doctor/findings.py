"""What doctor found, counted: the tally and the `Fix:` lines at the report's end."""

import dataclasses

from murmur.core.diagnostics import MurmurError, printable


@dataclasses.dataclass(slots=True)
class Findings:
    """Checks passed, and the remedy of each error and of each warning, in order of finding."""

    passed: int = 0
    errors: list[str] = dataclasses.field(default_factory=list)
    warnings: list[str] = dataclasses.field(default_factory=list)

    @property
    def exit_status(self) -> int:
        """Warnings never change it."""
        return 1 if self.errors else 0

    def tally(self) -> list[str]:
        """The last lines: the one sentence when all is well, else counts and remedies."""
        if not self.errors and not self.warnings:
            return ["All checks passed."]
        counts = [_counted(self.passed, "check") + " passed"]
        counts.append(_counted(len(self.errors), "error") + " found")
        if self.warnings:
            counts.append(_counted(len(self.warnings), "warning"))
        fixes = [f"Fix: {printable(remedy)}" for remedy in (*self.errors, *self.warnings)]
        return [", ".join(counts) + ".", "", *fixes]


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def would_refuse(refused: MurmurError) -> str:
    """A refusal that `mur run` would meet, as doctor reports it on standard error."""
    line = f"warning[{refused.code}]: {printable(refused.message)}"
    if refused.code == "E-CAP-016":
        line += "; mur run will refuse this capsule"
    return f"{line}\n  hint: {printable(refused.hint)}" if refused.hint else line
