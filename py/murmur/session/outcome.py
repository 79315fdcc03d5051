"""How a launch ends: what `mur run` prints and exits with. spec/sessions.md 21."""

import dataclasses
from collections.abc import Callable

from murmur.core.diagnostics import Diagnostic, MurmurError, error


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """A status word and, for a failure, its errors."""

    status: str
    errors: tuple[Diagnostic, ...] = ()

    @property
    def exit_code(self) -> int:
        return 0 if self.status == "ok" else 1


def settled(run: Callable[[], Outcome]) -> Outcome:
    """What a session comes to. Never raises: a refusal is its failure, and so is a fault of ours
    (E-RUN-007)."""
    try:
        return run()
    except MurmurError as refused:
        return Outcome("failed", (refused.diagnostic,))
    except Exception as fault:
        reason = f"{type(fault).__name__}: {fault}"
        return Outcome("failed", (error("E-RUN-007", reason=reason).diagnostic,))
