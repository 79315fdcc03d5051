"""A closed stream never ends the work: spec/diagnostics.md 3."""

import subprocess
import sys

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
