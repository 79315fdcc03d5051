"""One search: the request, and what of the answer the model sees (spec 16.3)."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from murmur_guest.exchange import NoAnswer
from murmur_guest.provider import Post
from murmur_tooling.members import ToolError, invalid, read_plain
from murmur_tooling.outcome import Outcome, passed, refused

from tavily_tool.settings import Settings, read_settings

QUERY_CHARACTERS = 400
ANSWER_BYTES = 8 * 1024 * 1024
CONTENT_CHARACTERS = 20_000
"""Of one result's raw content."""

_GATEWAY = "MURMUR_GATEWAY_ENDPOINT"
_SHOWN = ("title", "url", "content", "score", "published_date", "raw_content")
_KINDS = {
    400: "bad_request",
    401: "credential_rejected",
    403: "forbidden",
    422: "bad_request",
    429: "rate_limited",
    432: "limit_reached",
    433: "limit_reached",
}


def search(data: str | None, environ: Mapping[str, str], post: Post) -> Outcome:
    """Search by a POST to the gateway. Never raises for what an input or an answer may hold."""
    metadata = (("state_effect", "read"),)
    try:
        settings = read_settings(environ)
        request = _request(data, settings)
        answer = _answer(post, _endpoint(environ), request)
        result = _result(answer)
    except ToolError as problem:
        return refused(problem, metadata)
    summary = f"{len(result['results'])} results for {request['query']}"
    return passed(summary, result, metadata)


def _request(data: str | None, settings: Settings) -> dict[str, Any]:
    given = read_plain(data, ("query", "max_results"))
    query = given.text("query").strip()
    if not query:
        raise invalid("query is empty; it must say what to search for")
    if len(query) > QUERY_CHARACTERS:
        raise invalid(
            f"query is {len(query)} characters long; at most {QUERY_CHARACTERS} are searched for"
        )
    most = given.whole("max_results", settings.max_results, 1, settings.max_results)
    return {"query": query, "max_results": most, **settings.request}


def _endpoint(environ: Mapping[str, str]) -> str:
    endpoint = environ.get(_GATEWAY, "").strip()
    if not endpoint:
        raise ToolError(
            "gateway_missing",
            "this artifact's manifest entry has no gateway: it needs "
            "`gateway: {endpoint: https://api.tavily.com, api_key: ${TAVILY_API_KEY}}`",
        )
    return endpoint.rstrip("/") + "/search"


def _answer(post: Post, url: str, request: Mapping[str, Any]) -> dict[str, Any]:
    body = json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()
    headers = {"content-type": "application/json", "accept": "application/json"}
    try:
        response = post(url, headers, body)
        text = _whole(response.body)
    except NoAnswer as problem:
        raise ToolError("no_answer", f"Tavily did not answer: {problem.words}") from None
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    if response.status != 200:
        kind = _KINDS.get(response.status, "provider_error")
        raise ToolError(kind, f"Tavily answered HTTP {response.status}{_reason(answer)}")
    if not isinstance(answer, dict) or not isinstance(answer.get("results"), list):
        raise ToolError("bad_answer", "Tavily's answer has no list of results")
    return answer


def _whole(pieces: Iterable[bytes]) -> bytes:
    text = bytearray()
    for piece in pieces:
        text += piece
        if len(text) > ANSWER_BYTES:
            raise ToolError("bad_answer", f"Tavily's answer is larger than {ANSWER_BYTES} bytes")
    return bytes(text)


def _reason(answer: object) -> str:
    """What an error says: `detail` as text, as {error}, or as a list of {msg}."""
    detail = answer.get("detail", answer.get("error")) if isinstance(answer, dict) else None
    if isinstance(detail, dict):
        detail = detail.get("error")
    if isinstance(detail, list):
        detail = "; ".join(str(each["msg"]) for each in detail if isinstance(each, dict))
    return f": {detail[:1000]}" if isinstance(detail, str) and detail else ""


def _result(answer: Mapping[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    if isinstance(answer.get("answer"), str):
        result["answer"] = answer["answer"]
    result["results"] = [_shown(each) for each in answer["results"] if isinstance(each, dict)]
    if answer.get("images"):
        result["images"] = answer["images"]
    usage = answer.get("usage")
    if isinstance(usage, dict) and isinstance(usage.get("credits"), int):
        result["credits"] = usage["credits"]
    return result


def _shown(found: Mapping[str, Any]) -> dict[str, Any]:
    shown = {key: found[key] for key in _SHOWN if found.get(key) is not None}
    if isinstance(shown.get("raw_content"), str):
        shown["raw_content"] = shown["raw_content"][:CONTENT_CHARACTERS]
    return shown
