"""Which calls the ceilings admit, and what calls cost. spec/sessions.md 20."""

import threading
from pathlib import Path

import pytest

from murmur.core.home import Home
from murmur.guest.calls import GuestFailure, ToolResult
from murmur.inference.driver import DriverClient
from murmur.inference.gateway_routes import Route
from murmur.inference.ledger import SpendLedger, open_ledger
from murmur.inference.payload import TurnRequest
from murmur.inference.retry import RetryNotice
from murmur.inference.spend import SpendMeter, SpendRefused
from murmur.inference.tokens import count_tokens
from murmur.manifest.inference import Retry

NOW = 1_700_000_000_000
REQUEST = TurnRequest(model="m", max_tokens=50, messages=[{"role": "user", "content": []}])
SAID = '{"stop_reason":"end_turn","content":[{"type":"text","text":"yes"}]}'


def _refused(meter: SpendMeter, tokens: int, cap: int) -> SpendRefused:
    with pytest.raises(SpendRefused) as refused:
        meter.admit(tokens, cap)
    return refused.value


def test_a_call_that_just_fits_is_admitted_and_one_token_more_is_not() -> None:
    meter = SpendMeter(session_limit=100)
    meter.admit(60, 40).settle(1, 10)
    refused = _refused(meter, 1, 30)
    assert refused.record() == {"limit": "session", "ceiling": 100, "used": 70, "requested": 31}
    assert str(refused).startswith("spend ceiling reached: inference.max_session_tokens")
    assert str(refused).endswith("retrying will not get past it")


def test_a_call_under_way_counts_with_its_largest_output() -> None:
    meter = SpendMeter(session_limit=100)
    under_way = meter.admit(10, 50)
    assert _refused(meter, 1, 40).used == 60
    under_way.settle(1, 0)


def test_the_session_s_refusal_latches() -> None:
    meter = SpendMeter(session_limit=100)
    _refused(meter, 101, 0)
    assert _refused(meter, 1, 1).used == 0


def test_the_machine_s_refusal_does_not_latch_and_counts_other_runs(tmp_path: Path) -> None:
    home = Home(tmp_path)
    clock = [NOW]
    with open_ledger(home, NOW) as mine, open_ledger(home, NOW) as other:
        other.charge(NOW, "ses_2", 90, 0)
        meter = SpendMeter("ses_1", None, 100, mine, now_ms=lambda: clock[0])
        refused = _refused(meter, 5, 10)
        assert refused.record() == {"limit": "machine", "ceiling": 100, "used": 90, "requested": 15}
        assert "spend.machine_tokens_per_day" in str(refused)
        assert str(refused).endswith("retrying will not get past it")
        meter.admit(5, 5).settle(1, 2)
        assert meter.machine_used() == 97
        clock[0] += 86_400_000
        meter.admit(50, 50).settle(1, 50)
        assert meter.machine_used() == 100


def test_a_ledger_that_fails_is_warned_of_and_stops_nothing() -> None:
    class Failing(SpendLedger):
        def __init__(self) -> None:
            pass

        def used(self, now_ms: int) -> int:
            raise OSError(5, "gone")

        def charge(
            self, now_ms: int, session_id: str, input_tokens: int, output_tokens: int
        ) -> None:
            raise OSError(28, "full")

    said: list[str] = []
    meter = SpendMeter("ses_1", None, 100, Failing(), said.append)
    meter.admit(10, 10).settle(1, 5)
    assert said == [
        "the spend ledger cannot be read: gone",
        "the spend ledger does not count a call: full",
    ]


def test_calls_of_many_threads_never_pass_the_ceiling_together() -> None:
    meter = SpendMeter(session_limit=1000)
    admitted: list[int] = []

    def spend() -> None:
        for _ in range(100):
            try:
                admission = meter.admit(3, 7)
            except SpendRefused:
                return
            admitted.append(1)
            admission.settle(1, 7)

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(10)
    assert len(admitted) == 100


def _call(meter: SpendMeter, *answers: object, retries: int = 0) -> int | None:
    """Makes one call with these answers of the driver; how often it was called."""
    left = iter(answers)
    made: list[int] = []

    def invoke(*_: object) -> object:
        made.append(1)
        return next(left)

    driver = DriverClient("d", Route("d"), invoke, None)  # type: ignore[arg-type]
    driver.call(
        REQUEST,
        Retry(max_retries=retries, initial_delay_ms=1, max_delay_ms=1),
        cancel=threading.Event(),
        on_retry=_no_notice,
        admission=meter.admit(REQUEST.input_tokens(), REQUEST.max_tokens),
    )
    return len(made)


def _no_notice(notice: RetryNotice) -> None:
    assert notice.wait_ms <= 1


PASSED = ToolResult("passed", data=SAID)
TRAP = GuestFailure("trap", "it trapped")


def test_an_answer_costs_input_and_output_and_a_failure_its_input() -> None:
    size = REQUEST.input_tokens()
    meter = SpendMeter(session_limit=10_000)
    _call(meter, PASSED)
    assert _refused_used(meter) == size + count_tokens(SAID)
    meter = SpendMeter(session_limit=10_000)
    _call(meter, ToolResult("error", data="no"))
    assert _refused_used(meter) == size


def test_each_attempt_costs_its_input_and_must_fit() -> None:
    size = REQUEST.input_tokens()
    meter = SpendMeter(session_limit=10_000)
    assert _call(meter, TRAP, PASSED, retries=3) == 2
    assert _refused_used(meter) == 2 * size + count_tokens(SAID)
    meter = SpendMeter(session_limit=2 * size + REQUEST.max_tokens)
    assert _call(meter, TRAP, TRAP, PASSED, retries=3) == 2
    assert _refused_used(meter) == 2 * size


def test_a_call_that_breaks_off_is_settled_too() -> None:
    meter = SpendMeter(session_limit=10_000)

    def broken(*_: object) -> ToolResult:
        raise RuntimeError("the host went away")

    driver = DriverClient("d", Route("d"), broken, None)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError):
        driver.call(
            REQUEST,
            Retry(max_retries=0),
            cancel=threading.Event(),
            admission=meter.admit(REQUEST.input_tokens(), REQUEST.max_tokens),
        )
    assert _refused_used(meter) == REQUEST.input_tokens()


def _refused_used(meter: SpendMeter) -> int:
    return _refused(meter, 1_000_000, 0).used
