"""The one writer of a session's `trace.jsonl`.

Each event is one whole line in one O_APPEND write, flushed to the kernel and not synced: a killed
runtime leaves every line it wrote. spec/observability.md 3 and 4. Threads may share a writer; ids
and parents are decided under its lock, so every parent stands earlier in the file.
"""

import json
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from murmur.core.diagnostics import MurmurError, error
from murmur.core.ids import new_id
from murmur.core.safefs import Root
from murmur.trace.catalogue import Event, Kind, Parent
from murmur.trace.counters import Counts
from murmur.trace.events import EVENTS
from murmur.trace.redaction import Redactor
from murmur.trace.spans import Spans

TRACE_FILE: Final = "trace.jsonl"


class TraceWriter:
    """Appends events to `<records>/trace.jsonl`.

    `secrets` yields the credentials that error texts must not quote. Raises OSError or
    safefs.UnsafePath when the file cannot be opened.
    """

    def __init__(
        self,
        records: Root,
        session_id: str,
        secrets: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self.session_id = session_id
        self.session_counts = Counts()
        self.task_counts = Counts()
        self._redact = Redactor(secrets)
        self._lock = threading.Lock()
        self._descriptor = records.append_descriptor(TRACE_FILE)
        self._session_node = new_id("evt")
        self._started = False
        self._task_id: str | None = None
        self._task_node: str | None = None
        self._turn_node: str | None = None
        self._plan_node: str | None = None
        self._spans: Spans | None = None
        self._call_ms = 0

    def export(self, spans: Spans) -> None:
        """From now on every line that is written becomes a span there, where it is one."""
        self._spans = spans

    @property
    def traceparent(self) -> str | None:
        """The header of A2A requests that the running task makes; None where spans go nowhere."""
        return None if self._spans is None else self._spans.traceparent

    def model_call_took(self, seconds: float) -> None:
        """How long the newest model call took: no line says it, spans do."""
        self._call_ms = round(seconds * 1000)

    def write(self, event: str, /, **fields: Any) -> str:
        """Writes one line and returns its `event_id`.

        Raises TypeError for fields that the catalogue does not allow, and E-RUN-007 when the line
        cannot be written.
        """
        definition = EVENTS[event]
        payload = self._clean(definition, definition.payload(fields))
        with self._lock:
            first = event == "session_start"
            event_id = self._session_node if first else new_id("evt")
            envelope = {
                "event_type": event,
                "event_id": event_id,
                "parent_id": self._parent(definition, payload),
                "session_id": self.session_id,
                "timestamp": time.time_ns() // 1_000_000,
            }
            self._append(_line({**envelope, **payload}))
            self._advance(event, event_id, payload)
        if self._spans is not None:
            self._spans.observe(event, payload, self._call_ms)
        return event_id

    def write_aside(self, event: str, /, **fields: Any) -> MurmurError | None:
        """Writes one line whose loss must refuse nothing, and returns what went wrong."""
        try:
            self.write(event, **fields)
        except MurmurError as failure:
            return failure
        return None

    def close(self) -> None:
        """Closes the file; a later write raises E-RUN-007."""
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1

    def _clean(self, definition: Event, payload: dict[str, Any]) -> dict[str, Any]:
        """The payload with limited texts redacted and cut, and free JSON in sorted order."""
        for field in definition.fields:
            if field.name not in payload:
                continue
            if field.limit is not None:
                payload[field.name] = self._redact(payload[field.name], field.limit)
            elif field.kind is Kind.FREE:
                payload[field.name] = _sorted(payload[field.name])
        return payload

    def _parent(self, definition: Event, payload: Mapping[str, Any]) -> str | None:
        if definition.parent is Parent.NONE or not self._started:
            return None
        if definition.parent is Parent.SESSION:
            return self._session_node
        if definition.parent is Parent.PLAN:
            return self._plan_node or self._session_node
        task_id = payload.get("task_id", self._task_id)
        task = self._task_node if task_id in (None, self._task_id) else None
        turn = definition.parent is Parent.TURN or "origin" in payload
        if turn and task is not None and self._turn_node is not None:
            return self._turn_node
        return task or self._session_node

    def _advance(self, event: str, event_id: str, payload: Mapping[str, Any]) -> None:
        """Moves the nodes and counts what was written."""
        self.session_counts.add(event, payload)
        self.task_counts.add(event, payload)
        if event == "session_start":
            self._started = True
        elif event == "task_start":
            self._task_id, self._task_node = payload["task_id"], event_id
            self._turn_node = None
            self.task_counts = Counts()
        elif event == "task_end":
            self._task_id = self._task_node = self._turn_node = None
        elif event == "plan_start":
            self._plan_node = event_id
        elif event == "plan_end":
            self._plan_node = None
        elif event == "inference" and "origin" not in payload:
            self._turn_node = event_id

    def _append(self, line: bytes) -> None:
        written = 0
        try:
            if self._descriptor < 0:
                raise OSError("the trace is closed")
            while written < len(line):
                written += os.write(self._descriptor, line[written:])
        except OSError as failure:
            if written:
                self._take_back(written)
            reason = f"{TRACE_FILE} cannot be written: {failure.strerror or failure}"
            raise error("E-RUN-007", reason=reason) from None

    def _take_back(self, written: int) -> None:
        """Removes the beginning of a line that a full disk cut, so that the next stands alone."""
        size = os.fstat(self._descriptor).st_size
        os.ftruncate(self._descriptor, size - written)


def _line(record: Mapping[str, Any]) -> bytes:
    try:
        text = json.dumps(record, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(record), separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _sorted(value: Any) -> Any:
    """A JSON value with the keys of every object in order."""
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [_sorted(item) for item in value]
    return value


def _finite(value: Any) -> Any:
    """A JSON value with null for every number that JSON cannot spell."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
