"""Sessions as nodes, calls from one to another as edges. spec/observability.md 13."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

SESSION: Final = "capsule.session"
_KINDS: Final = {
    "capsule.inference": "inference_ms",
    "capsule.tool_call": "tool_ms",
    "capsule.shell": "shell_ms",
}


@dataclass(frozen=True, slots=True)
class Node:
    """One trace that holds a session: who ran, when, how it ended, and what took the time."""

    id: str
    capsule_name: str
    capsule_version: str
    exit_status: str
    start_time_ms: int
    duration_ms: int
    inference_ms: int
    tool_ms: int
    shell_ms: int


@dataclass(frozen=True, slots=True)
class Edge:
    """Calls from one session's trace to another's; `weight` counts them."""

    source: str
    target: str
    weight: int


@dataclass(frozen=True, slots=True)
class Graph:
    """Everything that the page draws."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def as_json(self) -> dict[str, Any]:
        """The value of `window.TOPOLOGY_DATA`."""
        return {
            "nodes": [asdict(node) for node in self.nodes],
            "edges": [{"from": e.source, "to": e.target, "weight": e.weight} for e in self.edges],
        }


def build_graph(traces: Iterable[tuple[str, Mapping[str, Any]]]) -> Graph:
    """The graph of traces as Tempo returns them; ids are compared as they came."""
    owners: dict[str, str] = {}
    nodes: dict[str, Node] = {}
    calls: list[tuple[str, str]] = []
    for trace_id, trace in traces:
        spans = list(_spans(trace))
        for _, span in spans:
            if span.get("spanId"):
                owners[str(span["spanId"])] = trace_id
            if span.get("name") == SESSION and span.get("parentSpanId"):
                calls.append((str(span["parentSpanId"]), trace_id))
        node = _node(trace_id, spans)
        if node is not None:
            nodes[trace_id] = node
    weights = Counter(
        (owners[parent], child)
        for parent, child in calls
        if owners.get(parent, child) != child and owners[parent] in nodes
    )
    edges = tuple(Edge(source, target, weight) for (source, target), weight in weights.items())
    return Graph(tuple(nodes.values()), edges)


def _spans(trace: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, str], Mapping[str, Any]]]:
    """Every span, with the attributes of its resource."""
    for batch in _objects(trace.get("batches")):
        resource = batch.get("resource")
        attributes = _attributes(resource if isinstance(resource, dict) else {})
        for scope in _objects(batch.get("scopeSpans")):
            for span in _objects(scope.get("spans")):
                yield attributes, span


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    return (each for each in (value if isinstance(value, list) else []) if isinstance(each, dict))


def _attributes(owner: Mapping[str, Any]) -> dict[str, str]:
    found = {}
    for each in _objects(owner.get("attributes")):
        value = each.get("value")
        text = value.get("stringValue") if isinstance(value, dict) else None
        if isinstance(text, str):
            found[str(each.get("key"))] = text
    return found


def _node(trace_id: str, spans: list[tuple[Mapping[str, str], Mapping[str, Any]]]) -> Node | None:
    """The trace's last session span; None when it has none."""
    sessions = [each for each in spans if each[1].get("name") == SESSION]
    if not sessions:
        return None
    resource, session = sessions[-1]
    own = _attributes(session)
    spent = dict.fromkeys(_KINDS.values(), 0)
    for _, span in spans:
        kind = _KINDS.get(str(span.get("name")))
        if kind is not None:
            spent[kind] += _duration_ms(span)
    return Node(
        trace_id,
        resource.get("service.name", own.get("service.name", "unknown")),
        resource.get("service.version", own.get("service.version", "unknown")),
        own.get("exit_status", "running"),
        _nanoseconds(session, "startTimeUnixNano") // 1_000_000,
        _duration_ms(session),
        **spent,
    )


def _nanoseconds(span: Mapping[str, Any], key: str) -> int:
    try:
        return int(span.get(key, 0))
    except (TypeError, ValueError):
        return 0


def _duration_ms(span: Mapping[str, Any]) -> int:
    took = _nanoseconds(span, "endTimeUnixNano") - _nanoseconds(span, "startTimeUnixNano")
    return max(took, 0) // 1_000_000
