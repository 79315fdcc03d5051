"""The authenticated door. spec/door.md 5."""

import base64
import json

import httpx
import pytest
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import ParseDict  # type: ignore[import-untyped]

from murmur.core.tasks import Acceptance
from murmur.door.bind import bind
from murmur.door.card import CardFacts
from murmur.door.server import DoorServer
from murmur.door.tokens import DoorTokens
from murmur.session.board import Board

from .conftest import SESSION, OpenDoor, ServedDoor

READER = ("GetTask", "ListTasks")


@pytest.fixture
def tokens() -> DoorTokens:
    return DoorTokens("worker", {"reader": READER, "auditor": ("murmur.WatchSession",)})


@pytest.fixture
def door(open_door: OpenDoor, tokens: DoorTokens) -> ServedDoor:
    return open_door(script=None, tokens=tokens)


def bearer(token: str) -> dict[str, str]:
    return {"a2a-version": "1.0", "authorization": f"Bearer {token}"}


def test_no_credential_is_unauthenticated_before_anything_is_looked_at(door: ServedDoor) -> None:
    for answer in (
        httpx.get(door.url + "/nowhere"),
        door.post(b"{", {}),
        httpx.get(door.url, headers={"x-murmur-task-origin": "peer"}),
    ):
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == 'Bearer realm="worker"'
        assert answer.json()["error"] == "unauthenticated"


def test_every_credential_that_is_none_of_ours_is_an_invalid_token(
    door: ServedDoor, tokens: DoorTokens
) -> None:
    tag, payload, mac = tokens.credentials["reader"].split(".")
    claim = {"credential": "operator", "scopes": ["CancelTask"]}
    forged = base64.urlsafe_b64encode(json.dumps(claim).encode()).decode().rstrip("=")
    values = [
        "",
        f"Basic {tokens.operator}",
        f"Bearer{tokens.operator}",
        f"Bearer  {tokens.operator}",
        f"Bearer {tag}.{payload}",
        f"Bearer {tag}.{payload}.{mac}=",
        f"Bearer {tag}.{forged}.{mac}",
        f"Bearer mft1.{payload}.{mac}",
        f"Bearer {DoorTokens('worker', {}).operator}",
    ]
    messages = set()
    for value in values:
        answer = door.post({}, [("authorization", value)])
        assert answer.status_code == 401, value
        challenge = answer.headers["www-authenticate"]
        assert challenge == 'Bearer realm="worker", error="invalid_token"'
        messages.add(answer.content)
    twice = [("authorization", f"Bearer {tokens.operator}")] * 2
    messages.add(door.post({}, twice).content)
    assert len(messages) == 1
    assert b"invalid_token" in messages.pop()


def test_the_scheme_word_matches_in_any_case_and_the_operator_reaches_everything(
    door: ServedDoor, tokens: DoorTokens
) -> None:
    for scheme in ("Bearer", "bearer", "BEARER"):
        sent = {"a2a-version": "1.0", "authorization": f"{scheme} {tokens.operator}"}
        body = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks"}
        assert "result" in door.post(body, sent).json()
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
    door.call("SendMessage", {"message": message}, authorization=f"Bearer {tokens.operator}")
    (task,) = door.board.tasks()
    assert task.caller is not None
    assert (task.caller.kind, task.caller.name) == ("operator", None)
    assert (task.origin, task.trust) == ("event", "untrusted")


def test_a_method_outside_the_scopes_answers_403_after_the_method_was_resolved(
    door: ServedDoor, tokens: DoorTokens
) -> None:
    reader = bearer(tokens.credentials["reader"])
    body = {"jsonrpc": "2.0", "id": 1, "method": "CancelTask", "params": []}
    answer = door.post(body, reader)
    assert answer.status_code == 403
    assert answer.headers["www-authenticate"] == (
        'Bearer realm="worker", error="insufficient_scope", scope="CancelTask"'
    )
    assert answer.json() == {
        "error": "insufficient_scope",
        "message": "credential 'reader' does not reach CancelTask",
    }
    unknown = door.post({**body, "method": "NoSuch"}, reader)
    assert unknown.json()["error"]["code"] == -32601
    version = door.post(body, {**reader, "a2a-version": "0.3"})
    assert version.json()["error"]["code"] == -32009


def test_the_public_card_hides_the_session_and_the_extended_one_needs_any_token(
    door: ServedDoor, tokens: DoorTokens
) -> None:
    card = httpx.get(door.url + "/.well-known/agent-card.json").json()
    parsed = ParseDict(card, pb.AgentCard())
    assert parsed.security_schemes["bearer"].http_auth_security_scheme.scheme == "Bearer"
    assert card["securityRequirements"] == [{"schemes": {"bearer": {"list": []}}}]
    assert card["skills"][0]["securityRequirements"] == [
        {"schemes": {"bearer": {"list": ["SendMessage"]}}},
        {"schemes": {"bearer": {"list": ["SendStreamingMessage"]}}},
    ]
    assert card["capabilities"]["extendedAgentCard"] is True
    assert SESSION not in json.dumps(card)
    assert len(card["capabilities"]["extensions"]) == 2
    extended = door.call(
        "GetExtendedAgentCard",
        {"whatever": 1},
        authorization=f"Bearer {tokens.credentials['auditor']}",
    )["result"]
    ParseDict(extended, pb.AgentCard())
    assert extended["capabilities"]["extensions"][1]["params"]["sessionId"] == SESSION
    methods = extended["capabilities"]["extensions"][0]["params"]["methods"]
    assert methods[-1] == "GetExtendedAgentCard"


def test_tokens_and_a_card_that_says_public_make_no_door(tokens: DoorTokens) -> None:
    facts = CardFacts("worker", "1.0.0", "localhost:1", SESSION, Acceptance.SINGLE)
    with bind() as listener, pytest.raises(ValueError, match="exactly when it has tokens"):
        DoorServer(Board(Acceptance.SINGLE), facts, listener, tokens)
