"""Why a run failed: Codex says it in words alone, in `turn.failed` or on stderr."""

from __future__ import annotations

import re

from murmur_harness import ending
from murmur_harness.contract import ExitStatus, FailureKind, Retry, TurnEnd, TurnFailed
from murmur_harness.ending import last_lines

_AUTH = re.compile(
    r"\bstatus:? (?:401|403)\b|not logged in|(?:log|sign) in again|codex login"
    r"|access token could not be refreshed|missing environment variable: `\w*_KEY`",
    re.IGNORECASE,
)
_QUOTA = re.compile(r"\bstatus:? 429\b|usage limit|quota exceeded|out of credits", re.IGNORECASE)
_RECONNECTING = re.compile(
    r"Reconnecting\.\.\. (?:(\d{1,9})/\d+|waiting for network)\s*(?:\((.*)\))?\s*", re.DOTALL
)


def kind_of(message: str) -> FailureKind:
    """What sort of failure Codex's words describe."""
    if _AUTH.search(message):
        return "auth"
    if _QUOTA.search(message):
        return "quota"
    return "harness-error"


def of_exit(exit: ExitStatus, said: str, error: str) -> TurnEnd | TurnFailed:
    """The verdict of an end without one, after the message `said` and the error line `error`."""
    return ending.verdict("Codex", exit, said, error or _stderr(exit.stderr_tail), kind_of)


def retry(message: str, before: int) -> Retry | None:
    """An `error` line that is none yet: Codex is about to try again, after `before` times."""
    found = _RECONNECTING.fullmatch(message)
    if found is None:
        return None
    return Retry(int(found[1]) if found[1] else before + 1, found[2] or "connection")


def _stderr(tail: str) -> str:
    lines = [line for line in tail.splitlines() if line.startswith("Error:")]
    return last_lines("\n".join(lines) or tail)
