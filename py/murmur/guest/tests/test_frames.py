"""Frames: a u32 length, a JSON header, payloads, descriptors. spec/containment.md 8."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur.guest.calls import (
    Attachment,
    GateRules,
    GuestCall,
    GuestFailure,
    GuestResult,
    Limits,
    Preopen,
    ToolInput,
    ToolResult,
    call_facts,
    call_from_facts,
    result_facts,
    result_from_facts,
)
from murmur.guest.frames import BrokenFrame, PeerGone, receive_frame, send_frame

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ends = socket.socketpair()
    yield ends
    for end in ends:
        end.close()


def test_a_frame_arrives_as_it_was_sent(pair: Pair) -> None:
    send_frame(pair[0], "call", payloads=(b"a", b"", b"bcd"), number=1, text="ö\ud800")
    frame = receive_frame(pair[1])
    assert (frame.kind, frame.facts) == ("call", {"number": 1, "text": "ö\ud800"})
    assert frame.payloads == (b"a", b"", b"bcd")


def test_the_first_four_bytes_count_what_follows_little_endian(pair: Pair) -> None:
    send_frame(pair[0], "x")
    data = pair[1].recv(1000)
    assert struct.unpack("<I", data[:4])[0] == len(data) - 4


def test_descriptors_travel_with_their_own_frame_and_are_not_inherited(pair: Pair) -> None:
    read_end, write_end = os.pipe()
    send_frame(pair[0], "first", descriptors=(write_end,))
    send_frame(pair[0], "second", descriptors=(read_end, read_end))
    os.close(read_end)
    os.close(write_end)
    first, second = receive_frame(pair[1]), receive_frame(pair[1])
    assert (len(first.descriptors), len(second.descriptors)) == (1, 2)
    assert not any(os.get_inheritable(item) for item in first.descriptors)
    os.write(first.descriptors[0], b"x")
    assert os.read(second.descriptors[1], 1) == b"x"
    first.close()
    second.close()


def test_a_large_frame_passes_through_a_small_buffer(pair: Pair) -> None:
    content = bytes(5_000_000)
    sender = threading.Thread(
        target=send_frame, args=(pair[0], "x"), kwargs={"payloads": (content,)}
    )
    sender.start()
    assert receive_frame(pair[1]).payloads == (content,)
    sender.join()


def test_the_end_of_the_stream_is_told(pair: Pair) -> None:
    pair[0].sendall(b"\1\0")
    pair[0].close()
    with pytest.raises(PeerGone):
        receive_frame(pair[1])
    with pytest.raises(PeerGone):
        for _ in range(1000):
            send_frame(pair[1], "x", payloads=(bytes(100_000),))


def _raw(header: bytes, rest: bytes = b"") -> bytes:
    return struct.pack("<II", 4 + len(header) + len(rest), len(header)) + header + rest


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("<II", 2**32 - 1, 4),
        struct.pack("<II", 3, 0),
        struct.pack("<II", 8, 100) + bytes(4),
        _raw(b""),
        _raw(b"[]"),
        _raw(b"{"),
        _raw(b"{}"),
        _raw(b'{"kind":1,"payloads":[]}'),
        _raw(b'{"kind":"x","payloads":[-1]}', b""),
        _raw(b'{"kind":"x","payloads":[true]}', b"a"),
        _raw(b'{"kind":"x","payloads":[5]}', b"a"),
        _raw(b'{"kind":"x","payloads":[]}', b"a"),
        _raw(b'{"kind":"x","payloads":7}'),
        _raw(b"[" * 100_000),
        _raw(b"\xff\xfe"),
    ],
    ids=str,
)
def test_what_is_no_frame_is_refused(pair: Pair, data: bytes) -> None:
    sender = threading.Thread(target=pair[0].sendall, args=(data,))
    sender.start()
    with pytest.raises(BrokenFrame):
        receive_frame(pair[1])
    sender.join()


@given(st.binary(max_size=200))
@settings(deadline=None, max_examples=200)
def test_no_bytes_make_the_reader_do_anything_but_refuse_or_read(data: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(data)
        ours.shutdown(socket.SHUT_WR)
        with pytest.raises((BrokenFrame, PeerGone)):
            while True:
                receive_frame(theirs)


def test_a_call_survives_its_frame() -> None:
    call = GuestCall(
        artifact="tool-editor",
        role="tool",
        compiled=7,
        key="k",
        input=ToolInput("{}", "log"),
        env=(("A", "1"),),
        preopens=(Preopen(8, "."), Preopen(9, "state", True)),
        limits=Limits(1, 2, 3, 4.5),
        gate=GateRules("127.0.0.1:1", "tok", ("a", "b"), True),
        in_task=False,
    )
    assert call_from_facts(call_facts(call), 7, (8, 9)) == call


@pytest.mark.parametrize(
    "result",
    [
        ToolResult("passed"),
        ToolResult(
            "error", "s", "d", "p", True, (("a", "1"), ("a", "2")), (Attachment("image/png", "x"),)
        ),
        GuestFailure("trap", "m", ("f",), "e", "capabilities.limits.memory_bytes"),
    ],
)
def test_a_result_survives_its_frame(pair: Pair, result: GuestResult) -> None:
    send_frame(pair[0], "result", **result_facts(result))
    assert result_from_facts(receive_frame(pair[1]).facts) == result


def test_the_first_non_empty_metadata_value_counts() -> None:
    result = ToolResult("passed", metadata=(("k", ""), ("k", "1"), ("k", "2")))
    assert result.note("k") == "1" and result.note("other") is None
