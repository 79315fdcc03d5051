"""Repeating a model call that failed for a passing reason. spec/artifacts.md 12.5.

Whether a failure is passing is read from what the gateway saw, not from the driver's text. Waits
double from `initial_delay_ms` up to `max_delay_ms`; up to a tenth is added so that members of a
formation do not come back in step, and a provider's `Retry-After` is honoured up to the same
maximum. `inference.retry` keys: spec/formations-and-newer-manifest.md A9.
"""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from murmur.inference.gateway_routes import Observation
from murmur.inference.reply import Turn, TurnFailure
from murmur.manifest.inference import Retry

Stopped = Literal["max_retries", "deadline", "canceled", "spend_ceiling"]
Reason = Literal["connection", "driver"]
TRANSIENT_STATUSES: Final = frozenset((429, 500, 502, 503, 504, 529))


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call of the driver, and what the gateway saw of it (None: it has no gateway)."""

    result: Turn | TurnFailure
    observation: Observation | None = None


@dataclass(frozen=True, slots=True)
class RetryNotice:
    """A transient failure that is made again, as `inference_retry` records it.

    `attempt` counts from 1; exactly one of `provider_status` and `reason` is set.
    """

    attempt: int
    max_attempts: int
    provider_status: int | None
    reason: Reason | None
    wait_ms: int


@dataclass(frozen=True, slots=True)
class Called:
    """How a call ended after all its attempts.

    `retry_stopped` is set only when the last failure was transient and was not made again.
    """

    result: Turn | TurnFailure
    attempts: int
    retry_stopped: Stopped | None
    observation: Observation | None

    @property
    def provider_status(self) -> int | None:
        """The HTTP status that the gateway saw last."""
        return self.observation.status if self.observation else None


class Clock(Protocol):
    """What a wait needs to know: when the session must end, whether it may still spend."""

    def remaining(self) -> float | None:
        """Seconds until the session's deadline; None without one."""
        ...

    def admitted(self) -> bool:
        """Whether the spend meter admits one more attempt."""
        ...


class Unbounded:
    """A Clock without deadline or ceiling."""

    def remaining(self) -> float | None:
        """None."""
        return None

    def admitted(self) -> bool:
        """True."""
        return True


def transient(attempt: Attempt) -> int | Reason | None:
    """The status or reason why the call is worth repeating, or None."""
    failure, seen = attempt.result, attempt.observation
    if isinstance(failure, Turn) or failure.error_code in ("canceled", "credential_rejected"):
        return None
    if seen is not None and seen.requests:
        if seen.failure in ("connection", "timeout"):
            return "connection"
        if seen.failure is not None:
            return None
        if seen.status in TRANSIENT_STATUSES:
            return seen.status
    if failure.guest is not None and failure.guest.kind == "trap":
        # A trap or a host that died; a deadline, a limit or a load failure would only come again.
        return "driver"
    return None


def call_with_retry(
    attempt: Callable[[], Attempt],
    retry: Retry,
    *,
    cancel: threading.Event,
    on_retry: Callable[[RetryNotice], None],
    clock: Clock | None = None,
    chance: Callable[[], float] = random.random,
) -> Called:
    """Calls `attempt` until it succeeds, fails for good, or repeating is not allowed any more.

    Blocks its thread; a set `cancel` ends a wait at once. `on_retry` is called before each wait.
    """
    clock = clock or Unbounded()
    most = retry.max_retries + 1
    number = 0
    while True:
        number += 1
        made = attempt()
        cause = transient(made)
        if cause is None:
            return Called(made.result, number, None, made.observation)
        stopped: Stopped | None = None
        wait_ms = delay_ms(retry, number, made.observation, chance)
        remaining = clock.remaining()
        if cancel.is_set():
            stopped = "canceled"
        elif number >= most:
            stopped = "max_retries"
        elif remaining is not None and wait_ms / 1000 >= remaining:
            stopped = "deadline"
        elif not clock.admitted():
            stopped = "spend_ceiling"
        if stopped is None:
            status = cause if isinstance(cause, int) else None
            reason = None if isinstance(cause, int) else cause
            on_retry(RetryNotice(number, most, status, reason, wait_ms))
            if not cancel.wait(wait_ms / 1000):
                continue
            stopped = "canceled"
        return Called(made.result, number, stopped, made.observation)


def delay_ms(
    retry: Retry,
    attempt: int,
    observation: Observation | None = None,
    chance: Callable[[], float] = random.random,
) -> int:
    """Milliseconds to wait after failed attempt number `attempt` (from 1)."""
    base = min(retry.initial_delay_ms << min(attempt - 1, 40), retry.max_delay_ms)
    wait = base + int(chance() * base / 10)
    told = retry_after_ms(observation.retry_after) if observation and observation.retry_after else 0
    return min(max(wait, told), retry.max_delay_ms)


def retry_after_ms(field: str, now: Callable[[], float] = time.time) -> int:
    """Milliseconds that `retry-after-ms: N`, `retry-after: N` or `retry-after: <date>` asks for.

    0 for what cannot be read.
    """
    name, _, value = field.partition(": ")
    value = value.strip()
    try:
        number = float(value)
    except ValueError:
        return _until(value, now)
    if not 0 <= number < 1e9:
        return 0
    return int(number if name == "retry-after-ms" else number * 1000)


def _until(date: str, now: Callable[[], float]) -> int:
    from email.utils import parsedate_to_datetime

    try:
        return max(int((parsedate_to_datetime(date).timestamp() - now()) * 1000), 0)
    except (ValueError, TypeError, OverflowError):
        return 0
