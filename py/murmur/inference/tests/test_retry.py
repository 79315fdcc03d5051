"""inference.retry: spec/artifacts.md 12.5, spec/formations-and-newer-manifest.md A9."""

import threading

import pytest

from murmur.guest.calls import FailureKind, GuestFailure
from murmur.inference.gateway_routes import FailureKind as Seen
from murmur.inference.gateway_routes import Observation
from murmur.inference.reply import Turn, TurnFailure
from murmur.inference.retry import (
    Attempt,
    RetryNotice,
    call_with_retry,
    delay_ms,
    retry_after_ms,
    transient,
)
from murmur.manifest.inference import Retry

FAILED = TurnFailure("driver_error", "HTTP 503: busy")
TURN = Turn((), "end_turn", "{}")


def seen(status: int | None = None, failure: Seen | None = None) -> Observation:
    return Observation(1, status, failure)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 529])
def test_these_statuses_pass(status: int) -> None:
    assert transient(Attempt(FAILED, seen(status))) == status


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 501, 200, None])
def test_other_statuses_do_not(status: int | None) -> None:
    assert transient(Attempt(FAILED, seen(status))) is None


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        ("connection", "connection"),
        ("timeout", "connection"),
        ("refused", None),
        ("credential", None),
    ],
)
def test_a_failed_connection_passes_and_a_refusal_does_not(
    failure: Seen, reason: str | None
) -> None:
    assert transient(Attempt(FAILED, seen(200, failure))) == reason


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("trap", "driver"), ("deadline", None), ("resource", None), ("load", None)],
)
def test_a_driver_that_died_is_called_again_but_not_one_that_ran_out_of_its_limits(
    kind: FailureKind, reason: str | None
) -> None:
    failure = TurnFailure("driver_failed", "x", GuestFailure(kind, "x"))
    assert transient(Attempt(failure)) == reason


def test_a_turn_and_a_rejected_or_cancelled_call_are_never_repeated() -> None:
    assert transient(Attempt(TURN, seen(503))) is None
    assert transient(Attempt(TurnFailure("credential_rejected", "x"), seen(503))) is None
    assert transient(Attempt(TurnFailure("canceled", "x"), seen(503))) is None


def test_waits_double_up_to_the_maximum_and_jitter_adds_at_most_a_tenth() -> None:
    retry = Retry(5, 5, 60_000)
    assert [delay_ms(retry, n, None, lambda: 0.999) for n in (1, 2)] == [5, 10]
    long = Retry(9, 1000, 5000)
    assert [delay_ms(long, n, None, lambda: 0.0) for n in (1, 2, 3, 4, 60)] == [
        1000,
        2000,
        4000,
        5000,
        5000,
    ]
    assert delay_ms(long, 1, None, lambda: 0.999) == 1099


def test_a_retry_after_is_honoured_up_to_the_maximum() -> None:
    retry = Retry(3, 1000, 60_000)
    for field, wait in (
        ("retry-after: 7", 7000),
        ("retry-after-ms: 1500", 1500),
        ("retry-after: 0.1", 1000),
        ("retry-after: 86400", 60_000),
        ("retry-after: soon", 1000),
        ("retry-after: nan", 1000),
        ("retry-after: -5", 1000),
    ):
        observation = Observation(1, 429, None, "", field)
        assert delay_ms(retry, 1, observation, lambda: 0.0) == wait
    date = "retry-after: Thu, 01 Jan 1970 00:01:40 GMT"
    assert retry_after_ms(date, lambda: 98.0) == 2000
    assert retry_after_ms(date, lambda: 200.0) == 0


class Bounds:
    def __init__(self, remaining: float | None = None, admitted: bool = True) -> None:
        self._remaining, self._admitted = remaining, admitted

    def remaining(self) -> float | None:
        return self._remaining

    def admitted(self) -> bool:
        return self._admitted


@pytest.mark.parametrize(
    ("bounds", "stopped"),
    [(Bounds(remaining=0.5), "deadline"), (Bounds(admitted=False), "spend_ceiling")],
)
def test_a_deadline_or_a_ceiling_stops_the_repeating(bounds: Bounds, stopped: str) -> None:
    notices: list[RetryNotice] = []
    called = call_with_retry(
        lambda: Attempt(FAILED, seen(503)),
        Retry(3, 1000, 60_000),
        cancel=threading.Event(),
        on_retry=notices.append,
        clock=bounds,
    )
    assert (called.attempts, called.retry_stopped, notices) == (1, stopped, [])


def test_no_retries_means_one_attempt() -> None:
    called = call_with_retry(
        lambda: Attempt(FAILED, seen(503)),
        Retry(0, 1, 1),
        cancel=threading.Event(),
        on_retry=lambda notice: None,
    )
    assert (called.attempts, called.retry_stopped) == (1, "max_retries")
