"""How a command ended, and what is said when it never started."""

import dataclasses
from typing import Final

from murmur.core.diagnostics import MurmurError, error

PREFIX: Final = "sandbox setup failed before exec: "


@dataclasses.dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended.

    `exit_code` is its code, 128 + signal, or -1 where nothing is known; `signal` what killed it.
    `resource_limit` names the key of `capabilities.resources` that the kernel enforced.
    `set_up_failure` says that nothing was executed, and why. Streams are kept up to
    running.CAPTURE_BYTES each; `discarded_bytes` counts the rest.
    """

    exit_code: int
    stdout: bytes
    stderr: bytes
    duration_ms: int
    resource_limit: str | None = None
    set_up_failure: str | None = None
    timed_out: bool = False
    cancelled: bool = False
    discarded_bytes: int = 0
    user_ms: int = 0
    system_ms: int = 0
    max_rss_kib: int = 0
    signal: int | None = None


class NotAllowed(Exception):
    """A binary that is not in `shell.allow`, or that PATH did not have at launch."""


class SetUpFailed(Exception):
    """A step before exec failed, so nothing was executed; `detail` is the step and what it says."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail

    def result(self) -> CommandResult:
        """The failure as a command's result. spec/containment.md 5."""
        return CommandResult(-1, b"", b"", 0, set_up_failure=PREFIX + self.detail)


class RootNotComposed(SetUpFailed):
    """The composed root could not be built: no command of this session will ever run.

    `refusal` is E-RUN-014, which ends the session. spec/containment.md 5.
    """

    def __init__(self, detail: str, step: str, reason: str) -> None:
        super().__init__(detail)
        self.refusal: MurmurError = error("E-RUN-014", step=step, reason=reason)


class SessionEnded(SetUpFailed):
    """Nothing is started any more: the session is over."""

    def __init__(self) -> None:
        super().__init__("session: it has ended")
