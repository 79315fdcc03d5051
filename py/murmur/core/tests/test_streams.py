"""A closed stream never ends the work: spec/diagnostics.md 3."""

import os
import subprocess
import sys

import pytest

_WRITER = """
import sys
from murmur.core import streams
lost = []
streams.keep_lost_lines(lost.append)
sys.stdin.readline()
for number in range(3):
    streams.emit(f"line {number}")
streams.complain(repr(lost))
"""


def test_lines_a_closed_reader_refused_go_to_the_sink() -> None:
    writer = subprocess.Popen(
        [sys.executable, "-c", _WRITER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert writer.stdin and writer.stdout and writer.stderr
    writer.stdout.close()
    writer.stdin.write("go\n")
    writer.stdin.flush()
    complaint = writer.stderr.read()
    assert writer.wait(timeout=30) == 0
    assert complaint == "['line 0', 'line 1', 'line 2']\n"


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [("utf-8", b"caf\xc3\xa9 \\udcff\n"), ("ascii", b"caf\\xe9 \\udcff\n")],
)
def test_what_no_encoding_can_hold_is_escaped_and_the_stream_stays_open(
    encoding: str, expected: bytes
) -> None:
    program = "from murmur.core.streams import emit; emit('caf\\xe9 \\udcff'); emit('more')"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(sys.path), "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, expected + b"more\n", b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")
def test_a_write_that_fails_otherwise_is_remembered_and_a_gone_reader_is_not() -> None:
    program = (
        "import sys; from murmur.core.streams import emit, complain, output_failure\n"
        "emit('x'); complain(repr(output_failure()))"
    )
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONPATH": ":".join(sys.path)},
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, b"'No space left on device'\n")
