"""tool-tavily: what is asked, what is shown, what goes wrong (spec 16.3)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from murmur_guest.exchange import NoAnswer
from murmur_guest.provider import Response
from tavily_tool.searching import ANSWER_BYTES, search

GATEWAY = {"MURMUR_GATEWAY_ENDPOINT": "http://127.0.0.1:9"}


class Provider:
    """Answers with what it was made with, and keeps what it was asked."""

    def __init__(self, status: int = 200, body: object = None) -> None:
        self.status = status
        self.body = {"results": []} if body is None else body
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, url: str, headers: Mapping[str, str], body: bytes) -> Response:
        assert headers["content-type"] == "application/json"
        self.asked.append((url, json.loads(body)))
        text = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        return Response(self.status, iter((text[:7], text[7:])))


def call(
    provider: Provider, config: dict[str, object] | None = None, **members: object
) -> dict[str, Any]:
    environ = dict(GATEWAY)
    if config is not None:
        environ["MURMUR_ARTIFACT_CONFIG"] = json.dumps(config)
    data: dict[str, Any] = json.loads(search(json.dumps(members), environ, provider).data)
    return data


def test_a_search_asks_for_the_cheapest_and_shows_what_was_found() -> None:
    found = {"title": "T", "url": "https://x", "content": "c", "score": 0.9, "favicon": "f"}
    provider = Provider(
        body={
            "query": "q",
            "answer": None,
            "images": [],
            "results": [{**found, "raw_content": None}],
            "response_time": 1.2,
            "usage": {"credits": 1},
            "request_id": "r",
        }
    )

    data = call(provider, query=" q ")

    assert provider.asked == [
        (
            "http://127.0.0.1:9/search",
            {
                "query": "q",
                "max_results": 5,
                "search_depth": "basic",
                "topic": "general",
                "include_answer": False,
                "include_raw_content": False,
                "include_images": False,
                "auto_parameters": False,
                "include_usage": True,
            },
        )
    ]
    del found["favicon"]
    assert data == {"ok": True, "results": [found], "credits": 1}


def test_config_sets_what_a_search_costs_and_a_call_asks_for_less() -> None:
    provider = Provider(body={"results": [], "answer": "yes", "images": ["i"]})
    config: dict[str, object] = {
        "search_depth": "advanced",
        "max_results": 3,
        "include_answer": "basic",
        "chunks_per_source": 2,
        "time_range": "week",
        "include_domains": ["example.com"],
    }

    data = call(provider, config, query="q", max_results=2)

    asked = provider.asked[0][1]
    assert {key: asked[key] for key in config} == {**config, "max_results": 2}
    assert (data["answer"], data["images"]) == ("yes", ["i"])
    refused = call(provider, config, query="q", max_results=4)
    assert refused["error_kind"] == "invalid_input"
    assert "max_results is 4; it must be a whole number from 1 to 3" in refused["message"]
    assert len(provider.asked) == 1


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"depth": "basic"}, "config.depth: unknown; the keys are search_depth"),
        ({"search_depth": "deep"}, "config.search_depth is 'deep'"),
        ({"max_results": 21}, "config.max_results is 21"),
        ({"include_answer": "long"}, "config.include_answer must be true, false, basic"),
        ({"chunks_per_source": 2}, "goes with search_depth"),
        ({"exclude_domains": "x"}, "config.exclude_domains is a string"),
    ],
)
def test_config_that_makes_no_sense_is_named(config: dict[str, object], says: str) -> None:
    provider = Provider()

    data = call(provider, config, query="q")

    assert (data["error_kind"], provider.asked) == ("config_invalid", [])
    assert says in data["message"]


def test_without_a_gateway_nothing_is_asked() -> None:
    provider = Provider()

    outcome = search('{"query": "q"}', {}, provider)

    data = json.loads(outcome.data)
    assert (outcome.status, data["error_kind"]) == ("failed", "gateway_missing")
    assert "gateway: {endpoint: https://api.tavily.com" in data["message"]
    assert provider.asked == []


@pytest.mark.parametrize("query", [None, "", "  ", 7, "x" * 401])
def test_a_query_that_is_none_is_refused(query: object) -> None:
    provider = Provider()

    assert call(provider, query=query)["error_kind"] == "invalid_input"
    assert provider.asked == []


@pytest.mark.parametrize(
    ("status", "body", "kind", "says"),
    [
        (400, {"detail": {"error": "bad topic"}}, "bad_request", "HTTP 400: bad topic"),
        (401, {"detail": {"error": "Unauthorized"}}, "credential_rejected", "Unauthorized"),
        (422, {"detail": [{"msg": "too long"}]}, "bad_request", "too long"),
        (429, {"detail": {"error": "slow down"}}, "rate_limited", "slow down"),
        (432, {"detail": {"error": "plan"}}, "limit_reached", "plan"),
        (433, {"error": "pay"}, "limit_reached", "pay"),
        (500, b"<html>", "provider_error", "HTTP 500"),
        (200, b"<html>", "bad_answer", "no list of results"),
        (200, {"results": "x"}, "bad_answer", "no list of results"),
        (200, b" " * (ANSWER_BYTES + 1), "bad_answer", "larger than"),
    ],
)
def test_what_the_provider_refuses_is_told_by_kind(
    status: int, body: object, kind: str, says: str
) -> None:
    data = call(Provider(status, body), query="q")

    assert data["error_kind"] == kind and says in data["message"]


def test_no_answer_is_told_as_such() -> None:
    def unreachable(url: str, headers: Mapping[str, str], body: bytes) -> Response:
        raise NoAnswer("connection refused")

    data = json.loads(search('{"query": "q"}', GATEWAY, unreachable).data)

    assert data["error_kind"] == "no_answer"
    assert data["message"] == "Tavily did not answer: connection refused"
