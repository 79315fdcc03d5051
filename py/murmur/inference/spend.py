"""Spend ceilings: whether a model call may be made, and what it used.

spec/sessions.md 20; seeds/manifest-schema.md, *Session spend ceiling*. Tokens are the runtime's own
counts, never the provider's. The machine's ceiling is approximate: a run sees what others have
settled, not what they have under way.
"""

import dataclasses
import threading
import time
from collections.abc import Callable
from typing import Literal

from murmur.inference.ledger import SpendLedger

Limit = Literal["session", "machine"]


@dataclasses.dataclass(eq=False)
class SpendRefused(Exception):
    """A call that does not fit under a ceiling, and is not made. All numbers are tokens.

    `used` is what is settled and reserved; `requested` the call's input and its largest output.
    """

    limit: Limit
    ceiling: int
    used: int
    requested: int

    def __str__(self) -> str:
        if self.limit == "session":
            which = f"inference.max_session_tokens allows {self.ceiling} tokens in this session"
            how = "retrying will not get past it"
        else:
            which = (
                f"spend.machine_tokens_per_day allows {self.ceiling} tokens on this machine and "
                "UTC day"
            )
            how = "before the next UTC day, retrying will not get past it"
        needs = f", and this call needs up to {self.requested}" if self.requested else ""
        return f"spend ceiling reached: {which}, {self.used} are used or reserved{needs}; {how}"

    def record(self) -> dict[str, str | int]:
        """The fields of `spend_ceiling_reached` that are the refusal's own."""
        return dataclasses.asdict(self)


class SpendMeter:
    """What one session spends. Without a ceiling it admits everything. Safe from any thread."""

    def __init__(
        self,
        session_id: str = "",
        session_limit: int | None = None,
        machine_limit: int | None = None,
        ledger: SpendLedger | None = None,
        complain: Callable[[str], None] = lambda line: None,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        """`ledger` stands where `machine_limit` does; `complain` takes warnings about it."""
        self._session_id = session_id
        self._session_limit = session_limit
        self._machine_limit = machine_limit
        self._ledger = ledger
        self._complain = complain
        self._now_ms = now_ms
        self._lock = threading.Lock()
        self._settled = 0
        self._reserved = 0
        self._latched = False
        self._day_used = 0

    @property
    def limits(self) -> dict[str, int | None]:
        """The two ceilings, as `session_start` names them."""
        return {
            "max_session_tokens": self._session_limit,
            "machine_tokens_per_day": self._machine_limit,
        }

    def machine_used(self) -> int | None:
        """What the machine used on this UTC day; None where nothing counts it."""
        if self._ledger is None:
            return None
        with self._lock:
            return self._machine_settled()

    def admit(self, input_tokens: int, output_cap: int) -> "Admission":
        """Reserves a call's input and largest output, in tokens. Settle what this returns.

        Raises SpendRefused. A refusal of the session's ceiling holds for the rest of the session,
        one of the machine's for this call alone.
        """
        with self._lock:
            refused = self._refusal(input_tokens + output_cap)
            if refused is not None:
                self._latched = self._latched or refused.limit == "session"
                raise refused
            self._reserved += input_tokens + output_cap
        return Admission(self, input_tokens, output_cap)

    def exhausted(self) -> SpendRefused | None:
        """Why no turn of a harness may begin, whose size nobody knows before; None while one may.

        spec/sessions.md 20: such turns are charged when they are over.
        """
        with self._lock:
            refused = self._refusal(1)
            if refused is None:
                return None
            self._latched = self._latched or refused.limit == "session"
            return dataclasses.replace(refused, requested=0)

    def charge(self, input_tokens: int, output_tokens: int) -> None:
        """What a turn used for which nothing was reserved."""
        self.settle(0, input_tokens, output_tokens)

    def extend(self, tokens: int) -> bool:
        """Reserves more for a call under way; False, and nothing, where it does not fit."""
        with self._lock:
            if self._refusal(tokens) is not None:
                return False
            self._reserved += tokens
        return True

    def settle(self, reserved: int, input_tokens: int, output_tokens: int) -> None:
        """Turns a reservation into what was used. A ledger that fails is warned of, not more."""
        now = self._now_ms()
        with self._lock:
            self._reserved -= reserved
            self._settled += input_tokens + output_tokens
            if self._ledger is None:
                return
            try:
                self._ledger.charge(now, self._session_id, input_tokens, output_tokens)
            except OSError as failure:
                reason = failure.strerror or failure
                self._complain(f"the spend ledger does not count a call: {reason}")

    # Under the lock.

    def _refusal(self, requested: int) -> SpendRefused | None:
        used = self._settled + self._reserved
        limit = self._session_limit
        if limit is not None and (self._latched or used + requested > limit):
            return SpendRefused("session", limit, used, requested)
        if self._machine_limit is None:
            return None
        used = self._machine_settled() + self._reserved
        if used + requested > self._machine_limit:
            return SpendRefused("machine", self._machine_limit, used, requested)
        return None

    def _machine_settled(self) -> int:
        """The ledger's sum; the last one known where it cannot be read now."""
        if self._ledger is not None:
            try:
                self._day_used = self._ledger.used(self._now_ms())
            except OSError as failure:
                reason = failure.strerror or failure
                self._complain(f"the spend ledger cannot be read: {reason}")
        return self._day_used


class Admission:
    """Leave to make one call, with its attempts. One thread's."""

    def __init__(self, meter: SpendMeter, input_tokens: int, output_cap: int) -> None:
        self._meter = meter
        self.input_tokens = input_tokens
        self._reserved = input_tokens + output_cap

    def again(self) -> bool:
        """Whether one more attempt fits: a provider may charge the input of each."""
        if not self._meter.extend(self.input_tokens):
            return False
        self._reserved += self.input_tokens
        return True

    def settle(self, attempts: int, output_tokens: int) -> None:
        """The call is over. An attempt without an answer costs its input alone."""
        self._meter.settle(self._reserved, attempts * self.input_tokens, output_tokens)
