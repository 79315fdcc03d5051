"""The order of checks, the envelope, the version and the limits. spec/door.md 3, 4, 6, 7."""

import json
import socket
import time
from typing import Any

import httpx
import pytest

from murmur.core.tasks import Acceptance
from murmur.door import app, connection

from .conftest import SESSION, OpenDoor, ServedDoor

VERSIONED = {"a2a-version": "1.0"}


def rpc(method: object = "GetTask", **members: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": {"id": "x"}, **members}


def code(response: httpx.Response) -> int:
    assert response.status_code == 200
    return int(response.json()["error"]["code"])


@pytest.fixture
def door(open_door: OpenDoor) -> ServedDoor:
    return open_door(script=None)


def test_anything_else_is_404_with_an_empty_body(door: ServedDoor) -> None:
    body = json.dumps(rpc()).encode()
    refused = [
        httpx.get(door.url + "/"),
        httpx.head(door.url + "/.well-known/agent-card.json"),
        httpx.get(door.url + "/.well-known/agent-card.json?x"),
        httpx.get(door.url + "/.well-known/agent.json"),
        httpx.get(door.url + "/%2ewell-known/agent-card.json"),
        door.post(body, VERSIONED, path="/?x"),
        door.post(body, VERSIONED, path="/other"),
        door.post(b"", VERSIONED),
        httpx.post(door.url, content=body, headers=VERSIONED),
        httpx.post(
            door.url,
            content=iter([body]),
            headers={**VERSIONED, "content-type": "application/json"},
        ),
    ]
    for response in refused:
        assert response.status_code == 404
        assert response.content == b""
        assert response.headers["content-length"] == "0"
        assert response.headers["connection"] == "close"


@pytest.mark.parametrize(
    "origin", ["http://rebound.example", "https://rebound.example:46189", "null", "", "http://[::"]
)
def test_a_page_that_a_browser_shows_is_404_at_a_door_without_tokens(
    door: ServedDoor, origin: str
) -> None:
    body = json.dumps(rpc()).encode()
    refused = door.post(body, {**VERSIONED, "origin": origin})
    assert (refused.status_code, refused.content) == (404, b"")
    for own in ("http://localhost:1234", "http://127.0.0.1", "http://[::1]:80"):
        assert door.post(body, {**VERSIONED, "origin": own}).status_code == 200


@pytest.mark.parametrize("body", [b"{", b"\xff", b"NaN", b'"\\ud800"', b"[" * 100_000])
def test_a_body_that_is_not_json_answers_32700_with_a_null_id(
    door: ServedDoor, body: bytes
) -> None:
    response = door.post(body)
    assert response.json() == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32700, "message": "Invalid JSON payload"},
    }


@pytest.mark.parametrize(
    ("body", "echoed"),
    [
        ([], None),
        ([rpc()], None),
        (3, None),
        (rpc(id=None), None),
        (rpc(id=True), None),
        (rpc(id=1.5), None),
        (rpc(jsonrpc="1.0"), 7),
        (rpc(jsonrpc="1.0", id="a"), "a"),
        (rpc(method=3), 7),
        ({"jsonrpc": "2.0", "method": "GetTask"}, None),
    ],
)
def test_what_is_no_request_answers_32600_and_echoes_a_valid_id(
    door: ServedDoor, body: object, echoed: object
) -> None:
    response = door.post(body, {})
    assert code(response) == -32600
    assert response.json()["id"] == echoed
    assert response.json()["error"]["message"] == "Request payload validation error"


@pytest.mark.parametrize("version", ["1.0", "1.0.7", " \t1.0 "])
def test_a_served_version_is_served(door: ServedDoor, version: str) -> None:
    body = json.dumps(rpc()).encode()
    answer = door.raw(
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        b"content-length: %d\r\na2a-version:%b\r\n\r\n%b" % (len(body), version.encode(), body)
    )
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == -32001


@pytest.mark.parametrize(
    ("sent", "requested"),
    [
        ([], ""),
        ([""], ""),
        (["0.3"], "0.3"),
        (["1"], "1"),
        (["1.1"], "1.1"),
        (["2.0"], "2.0"),
        (["1.0x"], "1.0x"),
        (["1.0."], "1.0."),
        (["1.0", "1.0"], "1.0, 1.0"),
    ],
)
def test_another_version_or_more_than_one_header_answers_32009(
    door: ServedDoor, sent: list[str], requested: str
) -> None:
    # Before the method is looked at, and one JSON body even where a stream was asked for.
    for method in ("NoSuchMethod", "SendStreamingMessage"):
        response = door.post(rpc(method), [("a2a-version", value) for value in sent])
        assert code(response) == -32009
        assert response.json()["error"]["data"] == [
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "VERSION_NOT_SUPPORTED",
                "domain": "a2a-protocol.org",
                "metadata": {"requestedVersion": requested, "supportedVersions": "1.0"},
            }
        ]


@pytest.mark.parametrize(
    "method",
    [
        "message/send",
        "tasks/get",
        "stream/watch",
        "session/stop",
        "gettask",
        " GetTask",
        "CreateTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs",
    ],
)
def test_an_unlisted_method_answers_32601(door: ServedDoor, method: str) -> None:
    assert door.call(method)["error"] == {"code": -32601, "message": "Method not found"}


def test_the_extended_card_of_a_public_door_is_an_unsupported_operation(door: ServedDoor) -> None:
    error = door.call("GetExtendedAgentCard", [])["error"]
    assert error["code"] == -32004
    assert error["data"][0]["metadata"] == {}


def test_params_that_are_no_object_answer_32602(door: ServedDoor) -> None:
    wrong: list[object] = [[], "x", 3, False]
    for params in wrong:
        response = door.post({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": params})
        assert code(response) == -32602
    assert "result" in door.call("ListTasks")


def test_under_none_the_sending_methods_do_not_exist_and_the_others_are_served(
    open_door: OpenDoor,
) -> None:
    door = open_door(script=None, acceptance=Acceptance.NONE)
    assert door.send()["error"]["code"] == -32601
    assert door.call("SendStreamingMessage")["error"]["code"] == -32601
    assert door.call("ListTasks")["result"]["tasks"] == []
    card = httpx.get(door.url + "/.well-known/agent-card.json").json()
    assert card["skills"] == []
    assert card["capabilities"]["streaming"] is False


def test_a_method_is_listed_exactly_when_it_is_answered_otherwise_than_32601(
    door: ServedDoor,
) -> None:
    card = httpx.get(door.url + "/.well-known/agent-card.json").json()
    listed = card["capabilities"]["extensions"][0]["params"]["methods"]
    assert listed == [
        "SendMessage",
        "SendStreamingMessage",
        "murmur.WatchSession",
        "GetTask",
        "ListTasks",
        "SubscribeToTask",
        "CancelTask",
        "murmur.StopSession",
    ]
    for method in listed:
        # Bad params keep the streaming ones from opening a stream.
        response = door.post({"jsonrpc": "2.0", "id": 1, "method": method, "params": []})
        assert code(response) == -32602


def test_a_peer_without_consent_gets_the_same_403_whatever_it_asks(door: ServedDoor) -> None:
    peer = {"x-murmur-task-origin": "Peer"}
    answers = [
        door.post(rpc(), {**VERSIONED, **peer}),
        door.post(b"{", peer),
        httpx.get(door.url + "/nowhere", headers=peer),
        door.post(rpc(), {**VERSIONED, **peer, "authorization": "Bearer anything"}),
    ]
    assert {answer.status_code for answer in answers} == {403}
    assert len({answer.content for answer in answers}) == 1
    assert answers[0].json()["error"] == "peer_not_accepted"
    assert "www-authenticate" not in answers[0].headers
    card = httpx.get(door.url + "/.well-known/agent-card.json", headers=peer)
    assert card.status_code == 200


def test_a_peer_with_consent_is_let_in_with_its_own_trust_class(open_door: OpenDoor) -> None:
    door = open_door(script=None, accepts_peer_tasks=True)
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
    for trust in ("trusted", "untrusted", "made-up"):
        door.call(
            "SendMessage",
            {"message": message},
            x_murmur_task_origin="peer",
            x_murmur_task_trust=trust,
        )
    door.call("SendMessage", {"message": message}, x_murmur_task_trust="trusted")
    seen = [(task.origin, task.trust, task.lane) for task in door.board.tasks()]
    assert seen == [
        ("event", "untrusted", "bg"),
        ("peer", "untrusted", "peer"),
        ("peer", "untrusted", "peer"),
        ("peer", "trusted", "peer"),
    ]


def test_a_completion_is_answered_before_the_method_is_resolved(open_door: OpenDoor) -> None:
    door = open_door(script=None, acceptance=Acceptance.NONE)

    def complete(method: str, **headers: str) -> Any:
        return door.call(method, {}, x_murmur_task_origin="completion", **headers)["error"]

    elsewhere = complete("SendMessage", x_murmur_completion_session="ses_other")
    assert elsewhere["code"] == -31001
    assert elsewhere["data"][0]["domain"] == "murmur.nexus"
    assert elsewhere["data"][0]["metadata"] == {"addressedSession": "ses_other"}
    assert SESSION not in json.dumps(elsewhere)
    assert complete("NoSuch")["data"][0]["metadata"] == {"addressedSession": ""}
    assert complete("GetTask", x_murmur_completion_session=SESSION)["code"] == -32601
    unknown = complete(
        "SendMessage", x_murmur_completion_session=SESSION, x_murmur_delegation_id="dlg_1"
    )
    assert unknown["code"] == -31002
    assert unknown["data"][0]["metadata"] == {"delegationId": "dlg_1"}


def test_forgetting_a_session_needs_the_process_transport(open_door: OpenDoor) -> None:
    door = open_door(script=None)
    refused = door.call("SendMessage", [], x_murmur_forget_session="TRUE")
    assert refused["error"]["code"] == -32602
    assert "x-murmur-forget-session" in refused["error"]["message"]
    assert door.board.tasks() == ()
    other = door.call("SendMessage", [], x_murmur_forget_session="yes")["error"]
    assert other["message"] == "params must be an object"
    process = open_door(script=None, transport="process", streams_text=False)
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}
    process.call("SendMessage", {"message": message}, x_murmur_forget_session="true")
    assert process.board.tasks()[0].forget_session


def test_a_body_over_the_limit_answers_413_before_it_is_read(door: ServedDoor) -> None:
    head = (
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
        b"content-length: %d\r\n\r\n" % (app.MAX_BODY_BYTES + 1)
    )
    # Some of the body is under way already, and the client still reads the whole answer.
    answer = door.raw(head + b"x" * 30_000)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"] == "body_too_large"


def test_a_request_that_does_not_arrive_in_time_is_cut_off(
    open_door: OpenDoor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "READ_SECONDS", 0.3)
    door = open_door(script=None)
    head = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    for unfinished in (b"", head, head + b"content-length: 10\r\n\r\n{"):
        with pytest.raises((ConnectionResetError, AssertionError)):
            assert door.raw(unfinished) != b""


def test_a_connection_carries_exactly_one_request(door: ServedDoor) -> None:
    request = b"GET /.well-known/agent-card.json HTTP/1.1\r\nhost: x\r\n\r\n"
    answer = door.raw(request * 2)
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"\r\nconnection: close\r\n" in answer.lower()


def test_a_client_that_closes_its_side_after_asking_still_gets_its_answer(
    door: ServedDoor,
) -> None:
    with socket.create_connection(("127.0.0.1", door.port), timeout=5) as connected:
        connected.sendall(b"GET /.well-known/agent-card.json HTTP/1.1\r\nhost: x\r\n\r\n")
        connected.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: connected.recv(65536), b""))
    assert json.loads(received.partition(b"\r\n\r\n")[2])["name"] == "worker"


def test_a_client_that_closes_before_it_has_asked_is_let_go_at_once(door: ServedDoor) -> None:
    for begun in (b"", b"POST / HTTP/1.1\r\n"):
        began = time.monotonic()
        with socket.create_connection(("127.0.0.1", door.port), timeout=5) as connected:
            connected.sendall(begun)
            connected.shutdown(socket.SHUT_WR)
            assert connected.recv(1) == b""
        assert time.monotonic() - began < 4
