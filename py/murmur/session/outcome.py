"""How a launch ends: what `mur run` prints and exits with. spec/sessions.md 21."""

import dataclasses

from murmur.core.diagnostics import Diagnostic


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """A status word and, for a failure, its errors."""

    status: str
    errors: tuple[Diagnostic, ...] = ()

    @property
    def exit_code(self) -> int:
        return 0 if self.status == "ok" else 1
