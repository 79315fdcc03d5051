"""Calls of a process driver's component. spec/artifacts.md 5, 6 and 13.2.

It is given nothing: no environment, no folder, no network. What it describes is asked of an
instance that is thrown away; a run has one instance, from `launch` to `classify-exit`.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, TypeVar

from murmur.guest.calls import PROCESS_DRIVER, GuestCall, GuestFailure, Limits
from murmur.guest.client import Guests
from murmur.guest.processes import GuestsFailed
from murmur.manifest.limits import Limits as Declared
from murmur.session.artifacts import StagedArtifact
from murmur.session.harness.contract import (
    BadValue,
    Description,
    Event,
    ExitStatus,
    LaunchPlan,
    LaunchRequest,
    TurnEnd,
    TurnFailed,
    description_of,
    event_of,
    plan_of,
)

CALL_SECONDS: Final = 30.0
"""The most that one call may take, whatever `capabilities.limits` says."""

Call = Literal["describe", "launch", "parse", "classify-exit"]
Result = TypeVar("Result")


@dataclasses.dataclass(eq=False)
class CallFailed(Exception):
    """A call that gave nothing to work with: it was refused, crashed, took too long or lied."""

    call: Call
    reason: str

    def __str__(self) -> str:
        return self.reason


@dataclasses.dataclass(frozen=True, slots=True)
class ProcessDriver:
    """The driver of one session; every method raises CallFailed."""

    artifact: StagedArtifact
    guests: Guests
    limits: Declared

    @property
    def label(self) -> str:
        return self.artifact.entry.label

    def describe(self) -> Description:
        """What it says of its harness."""
        return self._read("describe", description_of, self._call("describe"))

    def launch(self, request: LaunchRequest) -> LaunchPlan:
        """Begins a run: how the harness is to be started."""
        value = self._call("launch", request.value(), lasting=True, fresh=True)
        if isinstance(value, str):
            raise CallFailed("launch", value)
        return self._read("launch", plan_of, value)

    def parse(self, lines: Sequence[str]) -> list[Event]:
        """What these lines of the run's output mean."""
        values = self._call("parse", list(lines), lasting=True)
        return self._read("parse", lambda given: [event_of(each) for each in given], values)

    def classify_exit(self, status: ExitStatus) -> TurnEnd | TurnFailed:
        """What a run came to whose output did not say so."""
        event = self._read(
            "classify-exit",
            event_of,
            self._call("classify-exit", status.value(), lasting=True),
        )
        if not isinstance(event, TurnEnd | TurnFailed):
            raise CallFailed("classify-exit", "it answered neither turn-end nor turn-failed")
        if status.interrupted and not (isinstance(event, TurnFailed) and event.kind == "canceled"):
            raise CallFailed("classify-exit", "it called an interrupted run something else")
        return event

    def _call(self, call: Call, *arguments: Any, lasting: bool = False, fresh: bool = False) -> Any:
        artifact = self.artifact
        assert artifact.compiled is not None
        declared = self.limits
        asked = GuestCall(
            artifact=artifact.entry.name,
            role="process-driver",
            compiled=artifact.compiled,
            key=artifact.key,
            function=f"{PROCESS_DRIVER}#{call}",
            arguments=arguments,
            limits=Limits(
                memory_bytes=declared.memory_bytes,
                table_elements=declared.table_elements,
                instances=declared.instances,
                deadline_seconds=CALL_SECONDS,
            ),
            in_task=False,
            lasting=lasting,
            fresh=fresh,
        )
        try:
            result = self.guests.invoke(asked)
        except (GuestsFailed, OSError) as failure:
            raise CallFailed(call, f"it could not be called: {failure}") from None
        if isinstance(result, GuestFailure):
            if result.kind == "absent":
                raise CallFailed(call, f"it does not export {call}")
            tail = result.stderr.strip().splitlines()[-1:]
            raise CallFailed(call, "; ".join([result.message, *tail]))
        return result.value

    def _read(self, call: Call, read: Callable[[Any], Result], value: Any) -> Result:
        try:
            return read(value)
        except (BadValue, TypeError) as bad:
            raise CallFailed(call, str(bad)) from None
