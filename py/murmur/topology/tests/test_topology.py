"""What is asked of a Tempo, and the graph that its answers make."""

import json

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.topology.graph import Edge, build_graph
from murmur.topology.page import page
from murmur.topology.tempo import fetch, tempo, window_seconds
from murmur.topology.tests.a_tempo import a_tempo, calling, span, trace


def refused(code: str, *words: str) -> pytest.RaisesExc[MurmurError]:
    return pytest.RaisesExc(
        MurmurError,
        check=lambda e: e.code == code and all(word in e.diagnostic.message for word in words),
    )


def test_a_node_a_session_and_an_edge_a_call() -> None:
    graph = build_graph(calling().items())
    assert [node.id for node in graph.nodes] == ["t1", "t2", "t3", "t4"]
    caller = graph.nodes[0]
    assert (caller.capsule_name, caller.capsule_version, caller.exit_status) == (
        "caller",
        "0.1.0",
        "ok",
    )
    assert (caller.duration_ms, caller.inference_ms, caller.tool_ms, caller.shell_ms) == (
        900,
        500,
        50,
        25,
    )
    assert caller.start_time_ms == 1_790_000_000_000
    assert [node.exit_status for node in graph.nodes[1:]] == [
        "failed",
        "running",
        "deadline_reached",
    ]
    assert graph.edges == (Edge("t1", "t2", 1), Edge("t1", "t3", 1))


def test_calls_between_the_same_two_are_counted_and_own_spans_are_none() -> None:
    session = "capsule.session"
    callee = trace("b", span("B1", session, 1, parent="A1"), span("B2", session, 2, parent="A1"))
    own = trace("a", span("A1", session, 1), span("A2", session, 1, parent="A1"))
    orphan = trace("c", span("C1", session, 1, parent="gone"))
    graph = build_graph({"a": own, "b": callee, "c": orphan}.items())
    assert graph.edges == (Edge("a", "b", 2),)
    assert graph.as_json()["edges"] == [{"from": "a", "to": "b", "weight": 2}]


def test_an_answer_of_another_shape_makes_no_node() -> None:
    odd = {"batches": [3, {"scopeSpans": [{"spans": [{"name": "capsule.session"}, "x"]}]}]}
    graph = build_graph([("t", odd), ("u", {}), ("v", {"batches": None})])
    assert [(node.id, node.capsule_name, node.duration_ms) for node in graph.nodes] == [
        ("t", "unknown", 0)
    ]


def test_the_search_asks_for_session_spans_of_the_window() -> None:
    warned: list[str] = []
    with a_tempo(calling()) as answers:
        source = tempo(answers.base + "//")
        source.ready()
        assert source.version() == "2.6.1"
        answers.fail["/api/traces/t2"] = 500
        found = dict(fetch(source, 10, 20, warned.append))
    assert answers.searched == {
        "q": ['{ name = "capsule.session" }'],
        "limit": ["500"],
        "start": ["10"],
        "end": ["20"],
    }
    assert list(found) == ["t1", "t3", "t4", "t5"]
    assert len(warned) == 1 and "/api/traces/t2" in warned[0] and "HTTP 500" in warned[0]


def test_each_failure_has_its_code() -> None:
    with a_tempo({}) as answers:
        source = tempo(answers.base)
        answers.fail["/ready"] = 503
        with refused("E-TOP-001", answers.base, "HTTP 503"):
            source.ready()
        answers.fail["/api/search"] = 400
        with refused("E-TOP-002", "/api/search", "HTTP 400"):
            source.search(1, 2)
        del answers.fail["/api/search"]
        for raw in (b"<html>", b"[]", b'{"traces":[{}]}'):
            answers.raw["/api/search"] = raw
            with refused("E-TOP-003", "/api/search"):
                source.search(1, 2)
        answers.fail["/status/buildinfo"] = 404
        assert source.version() is None
    with refused("E-TOP-001", answers.base):
        source.ready()
    with refused("E-TOP-001", "localhost:3200"):
        tempo("localhost:3200")


@pytest.mark.parametrize(
    ("window", "seconds"), [("30m", 1800), ("1h", 3600), ("6h", 21600), ("7d", 604800)]
)
def test_a_window_is_a_number_and_a_unit(window: str, seconds: int) -> None:
    assert window_seconds(window) == seconds


@pytest.mark.parametrize("window", ["", "h", "1", "1w", "-1h", "0m", "1.5h", "1h ", "\u0661h"])
def test_another_window_is_refused_with_examples(window: str) -> None:
    with refused("E-TOP-001", "30m, 1h, 6h, 24h, 7d"):
        window_seconds(window)


def test_the_page_holds_everything_and_nothing_recorded_leaves_its_place() -> None:
    hostile = trace("</script><script>alert(1)</script>", span("A", "capsule.session", 1))
    text = page(build_graph([("t", hostile)]), "6h")
    assert "<title>Murmur Topology</title>" in text
    assert "last 6h" in text and "1 session<" in text
    assert "<script>alert(1)" not in text
    assert "http://" not in text.split("<script>")[0] and "src=" not in text.split("<script>")[0]
    data = text.split("window.TOPOLOGY_DATA = ")[1].split(";</script>")[0]
    assert json.loads(data)["nodes"][0]["capsule_name"] == "</script><script>alert(1)</script>"
