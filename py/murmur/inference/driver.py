"""Calling a model through its driver: payload in, turn out, with the gateway and retries around it.

Each attempt gets a token of its own: the route exists exactly while the driver runs, so what the
gateway observed is that attempt's, and nothing can spend the key between two calls.
spec/artifacts.md 11 and 12, spec/sessions.md 10.3.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from murmur.core.diagnostics import error
from murmur.guest.calls import GuestResult
from murmur.inference.credentials import Credential
from murmur.inference.gateway import Gateway
from murmur.inference.gateway_routes import CredentialUnavailable, Route, new_token
from murmur.inference.payload import Continuation, TurnRequest
from murmur.inference.reply import Turn, TurnFailure, read_reply
from murmur.inference.retry import (
    Attempt,
    Called,
    Clock,
    RetryNotice,
    Unbounded,
    call_with_retry,
)
from murmur.inference.secret import redact
from murmur.inference.spend import Admission
from murmur.inference.tokens import count_tokens
from murmur.manifest.inference import Retry

OnEvent = Callable[[str, dict[str, Any]], None]


class Invoke(Protocol):
    """Calls the driver's component once and waits; what the session builds over `Guests.call`."""

    def __call__(
        self, payload: str, token: str, on_event: OnEvent | None, cancel: threading.Event
    ) -> GuestResult:
        """`payload` is `tool-input.data`; `token` names the route that its requests go out by."""
        ...


@dataclass(frozen=True, slots=True)
class Answered:
    """A model call with everything that the trace and the budget want to know.

    `output_tokens` is None for a failure, `input_tokens` counts the full history.
    """

    called: Called
    input_tokens: int
    output_tokens: int | None

    @property
    def result(self) -> Turn | TurnFailure:
        return self.called.result

    def trace_fields(self) -> Mapping[str, Any]:
        """The fields of the `inference` line that follow from the call itself.

        spec/observability.md 5.3: a failed call of the loop carries no token counts and no hashes.
        """
        fields: dict[str, Any] = {}
        result = self.result
        if isinstance(result, Turn):
            fields |= {
                "input_tokens": self.input_tokens,
                "output_tokens": self.output_tokens,
                "decision": result.decision,
                "stop_reason": result.stop_reason,
                "tool_name": result.tool_calls[0].name if result.tool_calls else None,
                **result.usage_record(),
            }
        else:
            fields |= {
                "decision": "error",
                "stop_reason": "error",
                "tool_name": None,
                "error_code": result.error_code,
                "error": result.error,
            }
        if self.called.attempts > 1:
            fields["attempts"] = self.called.attempts
        if self.called.retry_stopped is not None:
            fields["retry_stopped"] = self.called.retry_stopped
        if self.called.provider_status is not None:
            fields["provider_status"] = self.called.provider_status
        return fields


@dataclass(frozen=True, slots=True)
class _Metered:
    """A Clock whose call must fit under the spend ceilings once more."""

    clock: Clock
    admission: Admission

    def remaining(self) -> float | None:
        return self.clock.remaining()

    def admitted(self) -> bool:
        return self.clock.admitted() and self.admission.again()


class DriverClient:
    """The driver of one choice: its route, its key, its way of being called."""

    def __init__(
        self,
        driver: str,
        route: Route,
        invoke: Invoke,
        gateway: Gateway | None,
        credential: Credential | None = None,
        clock: Clock | None = None,
    ) -> None:
        """`clock` says how long a wait between two attempts may last; None: as long as it takes."""
        self._clock = clock or Unbounded()
        self._driver = driver
        self._route = route
        self._invoke = invoke
        self._gateway = gateway
        self._credential = credential

    def call(
        self,
        request: TurnRequest,
        retry: Retry,
        *,
        cancel: threading.Event,
        on_event: OnEvent | None = None,
        on_retry: Callable[[RetryNotice], None] = lambda notice: None,
        admission: Admission | None = None,
    ) -> Answered:
        """One model call, repeated while `retry` allows. Blocks; `cancel` ends it soon.

        `admission` None is a call that no ceiling counts; another is settled here, and one more
        attempt must fit under the ceilings too.

        A failure is a value, never an exception; what `invoke` raises passes through.
        """
        payload = request.payload()
        input_tokens = request.input_tokens() if admission is None else admission.input_tokens
        attempts, output = 0, None

        def attempt() -> Attempt:
            nonlocal attempts
            attempts += 1
            return self.attempt(payload, on_event, cancel)

        try:
            called = call_with_retry(
                attempt,
                retry,
                cancel=cancel,
                on_retry=on_retry,
                clock=self._clock if admission is None else _Metered(self._clock, admission),
            )
            if isinstance(called.result, Turn):
                output = count_tokens(called.result.raw)
        finally:
            if admission is not None:
                admission.settle(attempts, output or 0)
        return Answered(called, input_tokens, output)

    def attempt(self, payload: str, on_event: OnEvent | None, cancel: threading.Event) -> Attempt:
        """Calls the driver once under a route of its own."""
        token = new_token()
        if self._gateway is None:
            result = read_reply(self._invoke(payload, token, on_event, cancel))
            return Attempt(self._redacted(result))
        self._gateway.register(token, self._route)
        try:
            result = read_reply(self._invoke(payload, token, on_event, cancel))
            observation = self._gateway.observation(token)
        finally:
            self._gateway.unregister(token)
        if (
            isinstance(result, TurnFailure)
            and result.error_code == "driver_error"
            and observation.credential_rejected
            and self._credential is not None
        ):
            rejected = error(
                "E-RUN-027", artifact=self._driver, source=self._credential.origin
            ).message
            result = TurnFailure("credential_rejected", rejected)
        seen = observation if self._route.target is not None else None
        return Attempt(self._redacted(result), seen)

    def _redacted(self, result: Turn | TurnFailure) -> Turn | TurnFailure:
        """A provider may echo the key in its error text; no record of ours repeats it."""
        if isinstance(result, Turn) or self._credential is None:
            return result
        try:
            secret = self._credential.current()
        except CredentialUnavailable:
            return result
        return replace(result, error=redact(result.error, (secret,)))


def continuation_after(turn: Turn, request: TurnRequest) -> Continuation | None:
    """What the driver knows once `turn` is appended to the history. spec/artifacts.md 11.5.

    None drops whatever was held: the driver gave no id. The caller drops it too after a compaction.
    """
    identifier = turn.continuation_id
    if identifier is None:
        return None
    return Continuation(identifier, request.context_id, len(request.messages) + 1)
