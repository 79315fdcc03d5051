"""The listening socket. spec/door.md 2, 5.1."""

import socket

import pytest

from murmur.core.diagnostics import MurmurError
from murmur.door.bind import bind, bind_beside, bind_both, door_address, is_loopback


def test_without_a_port_the_system_picks_one_on_the_loopback_address() -> None:
    with bind() as listener:
        host, port = listener.getsockname()
        assert host == "127.0.0.1"
        assert door_address(listener) == f"localhost:{port}"
        socket.create_connection((host, port), 5).close()


def test_a_taken_fixed_port_is_refused_with_e_run_010_naming_it() -> None:
    with bind() as listener:
        port = listener.getsockname()[1]
        with pytest.raises(MurmurError) as refusal:
            bind(port=port)
    assert refusal.value.code == "E-RUN-010"
    assert str(port) in refusal.value.message


def test_an_address_that_is_not_this_machine_s_is_refused() -> None:
    with pytest.raises(MurmurError) as refusal:
        bind("192.0.2.1")
    assert refusal.value.code == "E-IO-003"
    assert "192.0.2.1" in refusal.value.message


def test_under_a_wide_bind_the_address_still_says_localhost() -> None:
    with bind("0.0.0.0") as listener:
        assert door_address(listener).startswith("localhost:")


def test_whatever_it_is_bound_to_the_door_answers_at_localhost_too() -> None:
    listener, beside = bind_both("127.0.0.2", None)
    assert beside is not None
    with listener, beside:
        assert beside.getsockname() == ("127.0.0.1", listener.getsockname()[1])
    for covering in ("127.0.0.1", "0.0.0.0"):
        with bind(covering) as listener:
            assert bind_beside(listener) is None


def test_nobody_else_may_answer_where_the_door_is_said_to_be() -> None:
    with bind() as taken:
        port = taken.getsockname()[1]
        with pytest.raises(MurmurError) as refusal:
            bind_both("127.0.0.2", port)
        assert refusal.value.code == "E-RUN-010"
        bind("127.0.0.2", port).close()  # The first was let go.


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost"])
def test_these_are_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "[::]", "10.0.0.1", "192.168.1.2", "example.org", "::ffff:127.0.0.1"]
)
def test_everything_else_is_exposed(host: str) -> None:
    assert not is_loopback(host)
