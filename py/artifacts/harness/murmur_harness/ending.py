"""A run that ended and left no verdict."""

from __future__ import annotations

from collections.abc import Callable

from murmur_harness.contract import ExitStatus, FailureKind, TurnEnd, TurnFailed


def verdict(
    harness: str, exit: ExitStatus, said: str, reason: str, kind_of: Callable[[str], FailureKind]
) -> TurnEnd | TurnFailed:
    """What the end amounts to, after the message `said`; `reason` is what is known of a failure."""
    if exit.interrupted:
        return TurnFailed("canceled", f"{harness} was interrupted")
    if exit.saw_terminal and exit.code == 0:
        return TurnEnd(said)
    how = f"signal {exit.signal}" if exit.signal is not None else f"status {exit.code}"
    message = f"{harness} ended with {how} and no result"
    return TurnFailed(kind_of(reason), f"{message}: {reason}" if reason else message)


def last_lines(stderr: str, most: int = 3) -> str:
    """The end of what a program said before it died, on one line."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return "; ".join(lines[-most:])
