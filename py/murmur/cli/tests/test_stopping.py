"""Signals of `mur run`. CLI reference, *SIGTERM*. Each test signals a process of its own."""

import os
import signal
import subprocess
import sys
import time

import pytest

BEGIN = """
import asyncio, os, signal, sys, time
from murmur.cli.stopping import Stopped, Stopping
stopping = Stopping(bound={bound})
"""
# A launch that hangs; its clean-up says that it ran.
LAUNCHING = """
with stopping.watching():
    try:
        try:
            print("up", flush=True)
            time.sleep(30)
        finally:
            print("undone", flush=True)
    except Stopped as stopped:
        sys.exit(stopped.exit_status)
"""
# A session that ends when it is told to, or with `stop` empty never.
SERVING = """
async def serve():
    stopping.defer()
    ended = asyncio.Event()
    {early}
    stopping.attach(asyncio.get_running_loop(), {stop})
    print("up", flush=True)
    await ended.wait()
    print("ended", flush=True)

with stopping.watching():
    asyncio.run(serve())
"""


def _start(program: str, bound: float = 20) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", BEGIN.format(bound=bound) + program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "up\n"
    return process


def _end(process: "subprocess.Popen[str]", *signals: signal.Signals) -> tuple[int, str]:
    for number in signals:
        process.send_signal(number)
        time.sleep(0.2)
    # Not communicate: what came with the first line waits in the reader's buffer.
    assert process.stdout is not None
    with process.stdout as stream:
        output = stream.read()
    return process.wait(10), output


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)]
)
def test_a_launch_without_a_session_is_unwound(number: signal.Signals, status: int) -> None:
    assert _end(_start(LAUNCHING), number) == (status, "undone\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_first_signal_ends_the_session_as_it_would_end_itself(number: signal.Signals) -> None:
    process = _start(SERVING.format(early="", stop="ended.set"))
    assert _end(process, number) == (0, "ended\n")


def test_a_second_sigterm_exits_143_at_once() -> None:
    process = _start(SERVING.format(early="", stop="lambda: None"))
    began = time.monotonic()
    assert _end(process, signal.SIGTERM, signal.SIGTERM) == (143, "")
    assert time.monotonic() - began < 5


def test_a_teardown_past_its_bound_exits_143_wherever_it_is() -> None:
    hangs = "lambda: time.sleep(30)"  # in the loop itself
    process = _start(SERVING.format(early="", stop=hangs), bound=0.3)
    began = time.monotonic()
    assert _end(process, signal.SIGTERM) == (143, "")
    assert time.monotonic() - began < 5


def test_a_signal_between_launch_and_session_reaches_the_session() -> None:
    early = "os.kill(os.getpid(), signal.SIGTERM)"
    assert _end(_start(SERVING.format(early=early, stop="ended.set"))) == (0, "ended\n")


def test_a_signal_that_the_caller_ignores_stays_ignored() -> None:
    program = "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + SERVING.format(
        early="", stop="ended.set"
    )
    process = _start(program)
    process.send_signal(signal.SIGHUP)
    time.sleep(0.2)
    assert process.poll() is None
    assert _end(process, signal.SIGTERM) == (0, "ended\n")
