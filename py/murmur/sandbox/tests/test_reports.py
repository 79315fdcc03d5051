"""What the helper says is read, whatever its socket has to say besides."""

import socket
import sys

import pytest

from murmur.sandbox import reports
from murmur.sandbox._spec import ffi
from murmur.sandbox.launchspec import constant

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the helper's home")


def ended(status: int) -> bytes:
    raw = ffi.new("struct mur_report *")
    raw.magic, raw.kind, raw.status = constant("REPORT_MAGIC"), constant("REPORT_ENDED"), status
    return bytes(ffi.buffer(raw))


def test_a_relay_that_leaves_an_order_unread_has_still_said_how_its_command_ended() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        ours.send(bytes([constant("ORDER_KILL")]))
        theirs.send(ended(9))
        theirs.close()
        report = reports.receive(ours)
        assert report is not None and (report.kind, report.status) == ("ENDED", 9)
        assert reports.receive(ours) is None


def test_a_relay_that_leaves_an_order_unread_and_says_nothing_has_said_nothing() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        ours.send(bytes([constant("ORDER_KILL")]))
        theirs.close()
        assert reports.receive(ours) is None
