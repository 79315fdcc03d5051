"""The control surface over a served door, with scripted controls behind it. spec/door.md 19."""

import asyncio
import socket
from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from starlette.requests import Request

from murmur.core.control import ControlRefused, ControlToken, Kind, SettingChange
from murmur.door.control import ControlSurface
from murmur.door.tokens import DoorTokens

from .conftest import SESSION, OpenDoor


class Scripted:
    """One setting, one secret, and a list of what was refused."""

    settings = ("inference.max_tokens",)
    secrets = ("CARD",)

    def __init__(self) -> None:
        self.refused: list[tuple[int, str, Kind | None, str | None]] = []
        self.held: bytes | None = None

    def shown(self) -> Mapping[str, Any]:
        return {"session_id": SESSION, "settings": [], "secrets": []}

    def change(self, name: str, value: object) -> SettingChange:
        if value == 0:
            raise ControlRefused(422, "invalid_value", "not that")
        return SettingChange(name, 1, value)

    def supply(self, name: str, value: bytes) -> bool:
        replaced = self.held is not None
        self.held = value
        return replaced

    def forget(self, name: str) -> None:
        self.held = None

    def note_refusal(self, status: int, reason: str, kind: Kind | None, name: str | None) -> None:
        self.refused.append((status, reason, kind, name))


@pytest.fixture
def controls() -> Scripted:
    return Scripted()


@pytest.fixture
def token() -> ControlToken:
    return ControlToken(SESSION)


@pytest.fixture
def url(open_door: OpenDoor, controls: Scripted, token: ControlToken) -> str:
    surface = ControlSurface(controls, token)
    tokens = DoorTokens("worker", {})
    return open_door(script=None, control=surface, tokens=tokens).url + "/control"


def sent(token: ControlToken, **more: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token.text}", **more}


def test_a_token_is_tagged_and_its_id_tells_nothing_of_it(token: ControlToken) -> None:
    tag, _, mac = token.text.split(".")
    assert tag == "ctl1" and len(mac) == 43 and len(token.id) == 16
    assert token.id not in token.text
    assert ControlToken(SESSION).text != token.text


def test_the_scheme_matches_in_any_case_and_everything_else_exactly(
    url: str, controls: Scripted, token: ControlToken
) -> None:
    assert httpx.get(url, headers={"authorization": f"bEARER {token.text}"}).status_code == 200
    other = ControlToken(SESSION).text
    for value in ("", "Bearer", f"Basic {token.text}", f"Bearer {token.text}x", f"Bearer {other}"):
        answer = httpx.get(url, headers={"authorization": value})
        assert answer.status_code == 401
    twice = [("authorization", f"Bearer {token.text}")] * 2
    assert httpx.get(url, headers=twice).status_code == 401
    assert set(controls.refused) == {(401, "unauthenticated", None, None)}


def test_a_refused_token_hears_nothing_of_what_is_declared(
    url: str, controls: Scripted, token: ControlToken
) -> None:
    answers = {
        httpx.request(method, url + path).content
        for method, path in (
            ("GET", ""),
            ("PUT", "/settings/inference.max_tokens"),
            ("PUT", "/settings/other"),
            ("DELETE", "/secrets/CARD"),
        )
    }
    assert len(answers) == 1


def test_settings_and_secrets_answer_as_documented(
    url: str, controls: Scripted, token: ControlToken
) -> None:
    setting = f"{url}/settings/inference.max_tokens"
    answer = httpx.put(setting, headers=sent(token), json={"value": 5})
    assert answer.json() == {
        "name": "inference.max_tokens",
        "previous": 1,
        "value": 5,
        "applies_from": "next_inference_call",
    }
    secret = f"{url}/secrets/CARD"
    answers = [httpx.put(secret, headers=sent(token), content=b" raw bytes ") for _ in range(2)]
    assert [each.json() for each in answers] == [
        {"name": "CARD", "set": True, "replaced": False},
        {"name": "CARD", "set": True, "replaced": True},
    ]
    assert controls.held == b" raw bytes "
    assert controls.refused == []
    assert httpx.delete(secret, headers=sent(token)).json() == {"name": "CARD", "set": False}
    assert httpx.put(secret, headers=sent(token), content=b"x").json()["replaced"] is False


def test_names_are_percent_decoded(url: str, controls: Scripted, token: ControlToken) -> None:
    setting = f"{url}/settings/inference%2Emax_tokens"
    assert httpx.put(setting, headers=sent(token), json={"value": 5}).status_code == 200
    httpx.put(f"{url}/secrets/a%2Fb", headers=sent(token), content=b"x")
    assert controls.refused == [(404, "undeclared_secret", "secret", "a/b")]


def test_a_long_body_is_refused_by_its_declared_length_before_it_is_read(
    url: str, controls: Scripted, token: ControlToken
) -> None:
    host, port = url.removeprefix("http://").removesuffix("/control").split(":")
    head = (
        "PUT /control/secrets/CARD HTTP/1.1\r\nhost: x\r\n"
        f"authorization: Bearer {token.text}\r\ncontent-length: 8193\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(head.encode())
        answer = connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert controls.refused == [(413, "body_too_large", "secret", "CARD")]


def test_a_body_that_breaks_off_supplies_nothing(
    url: str, controls: Scripted, token: ControlToken
) -> None:
    host, port = url.removeprefix("http://").removesuffix("/control").split(":")
    head = (
        "PUT /control/secrets/CARD HTTP/1.1\r\nhost: x\r\n"
        f"authorization: Bearer {token.text}\r\ncontent-length: 10\r\n\r\nhalf"
    )
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(head.encode())
    assert httpx.get(url, headers=sent(token)).status_code == 200
    assert controls.refused == [(400, "truncated_body", "secret", "CARD")]
    assert controls.held is None


def test_a_door_token_is_asked_for_by_everything_else(url: str, token: ControlToken) -> None:
    for path in ("x", "/../", "l"):
        answer = httpx.get(url + path, headers=sent(token))
        assert answer.status_code == 401
        assert "murmur-control" not in answer.headers["www-authenticate"]


@pytest.mark.parametrize(
    ("peer", "here"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("192.0.2.7", False),
        ("::ffff:192.0.2.7", False),
        ("fe80::1%eth0", False),
        ("", False),
    ],
)
def test_a_secret_is_taken_from_this_machine_itself_only(
    controls: Scripted, token: ControlToken, peer: str, here: bool
) -> None:
    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"x", "more_body": False}

    scope = {
        "type": "http",
        "method": "PUT",
        "path": "/control/secrets/CARD",
        "query_string": b"",
        "client": (peer, 1),
        "headers": [
            (b"authorization", f"Bearer {token.text}".encode()),
            (b"content-length", b"1"),
        ],
    }
    surface = ControlSurface(controls, token)
    request = Request(scope, receive)
    answer = asyncio.run(surface.answer(request, "/control/secrets/CARD"))
    assert answer.status_code == (200 if here else 403)
    assert (controls.held == b"x") == here
    if not here:
        assert controls.refused == [(403, "not_loopback", "secret", "CARD")]
