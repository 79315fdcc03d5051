"""The request gate, decided and sent. design/decisions.md 10; spec/artifacts.md 12.2."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from murmur.guest.calls import GateRules, GuestResult, ToolResult
from murmur.guest.gate import decide

Call = Callable[..., GuestResult]
RULES = GateRules("127.0.0.1:1", "tok")
DENIED = "d015"
"""`handle` itself refused, with the sixteenth error code: HTTP-request-denied."""


def _nothing(scheme: str, host: str, port: int) -> bool:
    return False


def _anything(scheme: str, host: str, port: int) -> bool:
    return True


@pytest.mark.parametrize(
    ("scheme", "authority", "path", "redirected"),
    [
        ("https", "api.example.com", "/v1?x=1", "/tok/https/api.example.com/v1?x=1"),
        (None, "api.example.com", "/v1", "/tok/https/api.example.com/v1"),
        ("http", "api.example.com:8080", None, "/tok/http/api.example.com:8080/"),
        ("http", "h", "?x=1", "/tok/http/h/?x=1"),
        ("https", "[2001:db8::1]:443", "/", "/tok/https/[2001:db8::1]:443/"),
    ],
)
def test_an_allowed_request_is_redirected_with_token_scheme_and_authority_in_its_path(
    scheme: str | None, authority: str, path: str | None, redirected: str
) -> None:
    assert decide(RULES, _anything, scheme, authority, path).path == redirected


@pytest.mark.parametrize(
    ("scheme", "authority", "path"),
    [
        ("ftp", "h", "/"),
        ("https", None, "/"),
        ("https", "", "/"),
        ("https", "user@h", "/"),
        ("https", "h/x", "/"),
        ("https", "h:", "/"),
        ("https", "h:0", "/"),
        ("https", "h:65536", "/"),
        ("https", "h%2f", "/"),
        ("https", "h h", "/"),
        ("https", "::1", "/"),
        ("https", "h", "*"),
        ("https", "h", "http://other/"),
    ],
)
def test_a_request_that_is_not_plain_is_denied_even_if_everything_is_allowed(
    scheme: str, authority: str | None, path: str
) -> None:
    verdict = decide(RULES, _anything, scheme, authority, path)
    assert verdict.path is None and verdict.reason


def test_the_gateway_address_is_recognised_for_the_artifact_that_has_a_gateway_alone() -> None:
    own = GateRules("127.0.0.1:1", "tok", gateway=True)
    verdict = decide(own, _nothing, "http", "127.0.0.1:9", "/v1/messages")
    assert verdict.path == "/tok/http/127.0.0.1:9/v1/messages"
    assert decide(RULES, _nothing, "http", "127.0.0.1:9", "/v1/messages").path is None
    assert decide(own, _nothing, "https", "127.0.0.1:9", "/v1/messages").path is None
    assert decide(own, _nothing, "http", "127.0.0.1:90", "/v1/messages").path is None


def test_the_rules_see_the_port_that_the_scheme_implies() -> None:
    seen: list[tuple[str, str, int]] = []

    def note(scheme: str, host: str, port: int) -> bool:
        seen.append((scheme, host, port))
        return True

    decide(RULES, note, "https", "h", "/")
    decide(RULES, note, "http", "h", "/")
    decide(RULES, note, "http", "h:443", "/")
    assert seen == [("https", "h", 443), ("http", "h", 80), ("http", "h", 443)]


@dataclass
class Listener:
    """Answers each connection once with `status` and keeps what it was sent."""

    socket: socket.socket
    heads: list[str] = field(default_factory=list)
    status: int = 200

    @property
    def address(self) -> str:
        host, port = self.socket.getsockname()
        return f"{host}:{port}"

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection:
                head = b""
                while b"\r\n\r\n" not in head and (part := connection.recv(65536)):
                    head += part
                self.heads.append(head.decode("latin-1"))
                reply = (
                    f"HTTP/1.1 {self.status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                )
                connection.sendall(reply.encode())


@pytest.fixture
def listener() -> Iterator[Listener]:
    served = Listener(socket.create_server(("127.0.0.1", 0)))
    thread = threading.Thread(target=served.serve, daemon=True)
    thread.start()
    yield served
    served.socket.shutdown(socket.SHUT_RDWR)
    served.socket.close()
    thread.join()


def _gate(listener: Listener, *rules: str, gateway: bool = False) -> GateRules:
    return GateRules(listener.address, "tok", rules, gateway)


def test_an_allowed_request_goes_to_the_gateway_and_its_answer_to_the_guest(
    call: Call, listener: Listener
) -> None:
    listener.status = 418
    result = call("fetch", "1api.example.com", gate=_gate(listener, "api.example.com"))
    assert result == ToolResult("passed", data="s418")
    (head,) = listener.heads
    assert head.startswith("GET /tok/https/api.example.com/v1/echo?x=1 HTTP/1.1\r\n")
    assert f"host: {listener.address}\r\n" in head.lower()


def test_a_driver_reaches_its_gateway_through_the_reserved_address(
    call: Call, listener: Listener
) -> None:
    gate = _gate(listener, gateway=True)
    result = call("fetch", "0127.0.0.1:9", role="driver", gate=gate)
    assert result == ToolResult("passed", data="s200")
    assert listener.heads[0].startswith("GET /tok/http/127.0.0.1:9/v1/echo?x=1 HTTP/1.1\r\n")


@pytest.mark.parametrize("wasi", ["0.2.0", "0.2.3", "0.2.9", "0.2.12"])
def test_every_version_of_the_interface_meets_the_gate(
    call: Call, listener: Listener, wasi: str
) -> None:
    gate = _gate(listener, "allowed.example.com")
    target = f"0{listener.address}"
    assert call("fetch", target, wasi=wasi, gate=gate) == ToolResult("passed", data=DENIED)
    assert listener.heads == []
    allowed = call("fetch", "1allowed.example.com", wasi=wasi, gate=gate)
    assert allowed == ToolResult("passed", data="s200")


@pytest.mark.parametrize(
    "target",
    ["1other.example.com", "0127.0.0.1:9", "1api.example.com.", "1api.example.com:8443", "1"],
)
def test_a_denied_request_gets_the_error_code_and_nothing_is_sent(
    call: Call, listener: Listener, target: str
) -> None:
    rules = () if target == "1api.example.com." else ("https://api.example.com",)
    result = call("fetch", target, gate=_gate(listener, *rules))
    assert result == ToolResult("passed", data=DENIED)
    assert listener.heads == []


def test_without_gate_rules_every_request_is_denied(call: Call) -> None:
    assert call("fetch", "1api.example.com") == ToolResult("passed", data=DENIED)


def test_a_denied_request_is_told_to_the_runtime(call: Call, listener: Listener) -> None:
    heard: list[tuple[str, dict[str, Any]]] = []
    gate = _gate(listener)
    call(
        "fetch",
        "1no.example.com",
        gate=gate,
        on_event=lambda name, facts: heard.append((name, facts)),
    )
    ((name, facts),) = heard
    assert name == "request-denied"
    assert (facts["scheme"], facts["authority"]) == ("https", "no.example.com")
    assert "network.allow" in facts["reason"]


def test_the_gates_own_memory_and_instances_are_not_charged_to_the_guest(
    call: Call, listener: Listener
) -> None:
    from murmur.guest.calls import Limits

    tight = Limits(memory_bytes=65536, instances=8, table_elements=100)
    gate = _gate(listener, "api.example.com")
    result = call("fetch", "1api.example.com", gate=gate, limits=tight)
    assert result == ToolResult("passed", data="s200")


def test_a_gateway_that_does_not_listen_is_an_error_of_the_exchange(call: Call) -> None:
    result = call("fetch", "1h", gate=GateRules("127.0.0.1:1", "tok", ("h",)))
    assert isinstance(result, ToolResult) and result.data is not None
    assert result.data.startswith("e")
