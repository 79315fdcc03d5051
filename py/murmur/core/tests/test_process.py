"""What a process says about itself. spec/containment.md 9.1."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, subprocess, sys
from murmur.core.process import forbid_reading
get = ctypes.CDLL(None).prctl
print(get(3, 0, 0, 0, 0))
forbid_reading()
print(get(3, 0, 0, 0, 0))
child = "import ctypes; print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))"
print(subprocess.run([sys.executable, "-c", child], capture_output=True, text=True).stdout.strip())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a mechanism of Linux")
def test_the_runtime_cannot_be_read_and_what_it_starts_can() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["1", "0", "1"]
