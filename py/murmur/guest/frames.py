"""Frames between the runtime, the zygote and its hosts: a length, a JSON header, binary payloads,
descriptors.

A frame is a u32 (little-endian) counting the bytes that follow, a u32 counting the header's, the
header (a JSON object), and then the payloads, whose lengths the header's `payloads` list holds.
Descriptors travel as ancillary data of the first eight bytes (spec/containment.md 8). Both ends of
a socket are processes of ours, yet a host may have been taken over by its guest: lengths are
bounded, and a malformed frame is `BrokenFrame`, never a crash.
"""

from __future__ import annotations

import array
import json
import os
import socket
import struct
from dataclasses import dataclass, field
from typing import Any

_LENGTHS = struct.Struct("<II")
_CLOSE_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
MAX_FRAME_BYTES = 256 * 1024 * 1024
MAX_DESCRIPTORS = 64


class BrokenFrame(Exception):
    """The peer sent something that is no frame; the connection is of no further use."""


class PeerGone(Exception):
    """The peer closed its end, or died."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One message: `kind` says which, `facts` its JSON members, `descriptors` are owned by the
    receiver.
    """

    kind: str
    facts: dict[str, Any]
    payloads: tuple[bytes, ...] = ()
    descriptors: tuple[int, ...] = field(default=())

    def close(self) -> None:
        """Closes the descriptors that came with the frame."""
        for descriptor in self.descriptors:
            os.close(descriptor)


def send_frame(
    connection: socket.socket,
    kind: str,
    *,
    payloads: tuple[bytes, ...] = (),
    descriptors: tuple[int, ...] = (),
    **facts: Any,
) -> None:
    """Writes one frame, blocking. `PeerGone` when nobody reads any more."""
    members = {"kind": kind, "payloads": [len(part) for part in payloads], **facts}
    header = json.dumps(members, separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )
    body = b"".join((header, *payloads))
    if len(body) + 4 > MAX_FRAME_BYTES:
        raise ValueError(f"a frame of {len(body)} bytes is above the limit of {MAX_FRAME_BYTES}")
    lengths = _LENGTHS.pack(len(body) + 4, len(header))
    ancillary = []
    if descriptors:
        ancillary.append((socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors)))
    try:
        sent = connection.sendmsg([lengths], ancillary)
        connection.sendall(lengths[sent:] + body)
    except (BrokenPipeError, ConnectionError) as gone:
        raise PeerGone(str(gone)) from None


def receive_frame(connection: socket.socket) -> Frame:
    """Reads one frame, blocking. `PeerGone` at the end of the stream, `BrokenFrame` for anything
    malformed.
    """
    descriptors: list[int] = []
    try:
        lengths = _read_lengths(connection, descriptors)
        total, header_size = _LENGTHS.unpack(lengths)
        if not 4 + header_size <= total <= MAX_FRAME_BYTES:
            raise BrokenFrame(f"lengths {total} and {header_size}")
        body = _read_exactly(connection, total - 4)
        kind, facts, payloads = _parse(body, header_size)
        return Frame(kind, facts, payloads, tuple(descriptors))
    except BaseException:
        for descriptor in descriptors:
            os.close(descriptor)
        raise


def _read_lengths(connection: socket.socket, descriptors: list[int]) -> bytes:
    size = array.array("i").itemsize
    lengths = b""
    while len(lengths) < _LENGTHS.size:
        try:
            part, ancillary, flags, _ = connection.recvmsg(
                _LENGTHS.size - len(lengths),
                socket.CMSG_SPACE(MAX_DESCRIPTORS * size),
                _CLOSE_ON_EXEC,
            )
        except ConnectionError as gone:
            raise PeerGone(str(gone)) from None
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                received = array.array("i")
                received.frombytes(data[: len(data) - len(data) % size])
                descriptors.extend(received)
        if flags & socket.MSG_CTRUNC:
            raise BrokenFrame("more descriptors than a frame may carry")
        if not part:
            raise PeerGone("the stream ended")
        lengths += part
    return lengths


def _read_exactly(connection: socket.socket, size: int) -> bytearray:
    body = bytearray(size)
    view = memoryview(body)
    while view:
        try:
            count = connection.recv_into(view)
        except ConnectionError as gone:
            raise PeerGone(str(gone)) from None
        if not count:
            raise PeerGone("the stream ended within a frame")
        view = view[count:]
    return body


def _parse(body: bytearray, header_size: int) -> tuple[str, dict[str, Any], tuple[bytes, ...]]:
    try:
        facts = json.loads(body[:header_size].decode("utf-8", "surrogatepass"))
        kind = facts.pop("kind")
        sizes = facts.pop("payloads")
        if not isinstance(kind, str) or not all(type(size) is int and size >= 0 for size in sizes):
            raise ValueError("kind or payload lengths of the wrong type")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as wrong:
        raise BrokenFrame(f"unreadable header: {wrong}") from None
    if header_size + sum(sizes) != len(body):
        raise BrokenFrame("payload lengths do not add up")
    payloads = []
    start = header_size
    for size in sizes:
        payloads.append(bytes(body[start : start + size]))
        start += size
    return kind, facts, tuple(payloads)
