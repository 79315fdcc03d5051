"""What a session did, as OTLP/HTTP JSON: one root span and a child for each model call, tool call
and command. spec/observability.md 12.4.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from murmur_hooking.otlp import Value, attributes, body, service, trace_id

TEXT_CHARACTERS = 4096
SCOPE = "murmur.hook-grafana"


@dataclass(frozen=True)
class Span:
    """One child of the root; times are Unix nanoseconds."""

    name: str
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Value]
    failed: bool = False


@dataclass
class Recording:
    """What the hook has seen of the session so far."""

    session_id: str = ""
    capsule: str = ""
    version: str = ""
    model: str = ""
    began_ns: int = 0
    spans: list[Span] = field(default_factory=list)

    def add(
        self,
        name: str,
        now_ns: int,
        duration_ms: int,
        attributes: Mapping[str, Value | None],
        *,
        failed: bool = False,
    ) -> None:
        """A call that has ended just now; attributes that are None are left out."""
        kept = {key: value for key, value in attributes.items() if value is not None}
        start = max(now_ns - duration_ms * 1_000_000, 0)
        self.spans.append(Span(name, start, now_ns, kept, failed))


def shown(text: str | None) -> str | None:
    """A text that is cut where it grows long."""
    return None if text is None else text[:TEXT_CHARACTERS]


def export(
    recording: Recording, now_ns: int, ending: Mapping[str, Value], formation: str | None
) -> bytes:
    """The body of the request: `ending` holds the root's attributes that only the end knows."""
    trace = trace_id(recording.session_id)
    root_id = f"{trace[:12]}0000"
    root = {
        "murmur.session_id": recording.session_id,
        "model": recording.model,
        **ending,
        **({} if formation is None else {"murmur.formation_id": formation}),
    }
    own = {"service.name": recording.capsule, "service.version": recording.version}
    spans = [
        _span(
            trace,
            root_id,
            None,
            Span(
                "session",
                recording.began_ns,
                now_ns,
                {**own, **root},
                ending.get("exit_status") != "ok",
            ),
        )
    ]
    for number, span in enumerate(recording.spans, 1):
        identifier = f"{trace[:8]}{number:08x}"
        spans.append(_span(trace, identifier, root_id, span))
    scope = {"scope": {"name": SCOPE}, "spans": spans}
    resource = service(recording.capsule, recording.version)
    return body({"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]})


def _span(trace: str, identifier: str, parent: str | None, span: Span) -> dict[str, object]:
    row: dict[str, object] = {
        "traceId": trace,
        "spanId": identifier,
        "name": span.name,
        "kind": 1,
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": attributes(span.attributes),
        "status": {"code": 2 if span.failed else 1},
    }
    return row if parent is None else {**row, "parentSpanId": parent}
