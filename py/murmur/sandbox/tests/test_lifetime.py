"""Nothing outlives its session. spec/containment.md 9 and 23, design/decisions.md (helper)."""

import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from murmur.sandbox.probe import HostReading
from murmur.sandbox.resources import Resources
from murmur.sandbox.running import RunningCommand

from .conftest import Contained, Opener
from .watching import alive, emptied, gone, until_alive

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the helper's home")

# Started detached, in a session of its own, with its output closed: as hard to find as can be.
DAEMON = "(exec >/dev/null 2>&1; sleep {seconds} & sleep {seconds} & :) &"


def test_closing_a_session_kills_every_process_it_started(session: Contained) -> None:
    seconds = "31536.25"
    assert session.sh(DAEMON.format(seconds=seconds)).exit_code == 0
    running = session.session.start(("sleep", seconds), session.env)
    until_alive(seconds, 3)
    assert session.session.close()
    assert alive(seconds) == []
    assert running.result is not None
    assert running.result.exit_code == 128 + signal.SIGKILL


def test_after_the_end_no_command_starts(session: Contained) -> None:
    session.run("true")
    session.session.close()
    failure = session.run("true").set_up_failure
    assert failure == "sandbox setup failed before exec: session: it has ended"


def test_without_a_scope_the_holder_alone_takes_everything_along(session: Contained) -> None:
    seconds = "31537.25"
    session.session._scope = None
    assert session.sh(DAEMON.format(seconds=seconds)).exit_code == 0
    until_alive(seconds, 2)
    assert session.session.close()
    assert gone(seconds)


RUNTIME = """
import os, sys, threading, time
from pathlib import Path
from murmur.sandbox.tests.conftest import Contained
from murmur.sandbox.policy import Demands
from murmur.sandbox.probe import read_host

helper = Path(sys.argv[1])
session = Contained(helper, read_host(helper), Path(sys.argv[2]), Demands(("sh", "sleep")))

def work():
    session.sh({daemon!r})
    started = session.session.start(("sleep", {seconds!r}), session.env)
    keep.append(started)

keep = []
thread = threading.Thread(target=work)
thread.start()
thread.join()
time.sleep(0.3)
print("ready", session.scope and session.scope.folders[0], flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("round_", range(3))
def test_a_killed_runtime_leaves_nothing_alive(
    helper: Path, reading: HostReading, tmp_path: Path, round_: int
) -> None:
    if not reading.network.ok:
        pytest.skip(f"INCONCLUSIVE: {reading.network.reason}")
    seconds = f"4153{round_}.5"
    program = RUNTIME.format(daemon=DAEMON.format(seconds=seconds), seconds=seconds)
    runtime = subprocess.Popen(
        [sys.executable, "-c", program, str(helper), str(tmp_path)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(each for each in sys.path if each)},
    )
    assert runtime.stdout is not None
    try:
        line = runtime.stdout.readline().split()
        assert line[:1] == [b"ready"]
        # The thread that started all of it has ended: a parent-death signal would have fired.
        until_alive(seconds, 3)
        runtime.send_signal(signal.SIGKILL)
        runtime.wait(5)
        assert gone(seconds)
        if line[1] != b"None":
            assert emptied(Path(os.fsdecode(line[1])))
    finally:
        runtime.kill()
        runtime.stdout.close()


def test_a_killed_relay_takes_its_command_along(session: Contained) -> None:
    seconds = "51536.25"
    running = session.session.start(("sleep", seconds), session.env)
    until_alive(seconds, 1)
    os.kill(running._relay_pid, signal.SIGKILL)
    result = running.wait(10)
    assert result is not None
    assert result.set_up_failure == "sandbox relay ended without saying how the command did"
    assert gone(seconds)


def test_a_command_past_its_time_is_stopped_with_sigterm_first(session: Contained) -> None:
    started = time.monotonic()
    result = session.sh('trap "echo bye; exit 3" TERM; sleep 600 & wait', timeout=0.5)
    assert (result.exit_code, result.stdout, result.timed_out) == (3, b"bye\n", True)
    assert time.monotonic() - started < 5


def test_a_command_that_ignores_sigterm_is_killed_two_seconds_later(session: Contained) -> None:
    started = time.monotonic()
    result = session.sh('trap "" TERM; while :; do sleep 1; done', timeout=0.3)
    assert result.exit_code == 128 + signal.SIGKILL
    assert 2.0 < time.monotonic() - started < 6


def test_a_cancelled_command_ends_at_once_and_says_so(session: Contained) -> None:
    cancel = threading.Event()
    threading.Timer(0.2, cancel.set).start()
    result = session.session.run(("sleep", "600"), session.env, cancel=cancel)
    assert (result.exit_code, result.cancelled) == (128 + signal.SIGTERM, True)
    assert result.duration_ms < 5000


def test_output_is_whole_and_streams_are_apart(session: Contained) -> None:
    result = session.sh("head -c 3000000 /dev/zero; echo err >&2")
    assert len(result.stdout) == 3_000_000
    assert result.stderr == b"err\n"


def test_output_is_handed_on_while_the_command_runs(session: Contained) -> None:
    seen: list[bytes] = []
    waits = "echo one; while [ ! -e go ]; do sleep 0.05; done; echo two"
    running: RunningCommand = session.session.start(("sh", "-c", waits), session.env)
    running.on_output = lambda stream, data: seen.append(data)
    deadline = time.monotonic() + 30
    while not seen and time.monotonic() < deadline:
        assert running.wait(0.05) is None
    assert b"".join(seen) == b"one\n"
    (session.work / "go").touch()
    result = running.wait(30)
    assert result is not None
    assert result.stdout == b"one\ntwo\n"


def test_signals_that_python_ignores_are_at_their_defaults(session: Contained) -> None:
    status = session.run("cat", "/proc/self/status").stdout.decode()
    facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert int(facts["SigIgn"], 16) == 0
    assert int(facts["SigBlk"], 16) == 0


def test_a_failed_set_up_executes_nothing_and_names_the_step(session: Contained) -> None:
    session.run("true")
    holder = session.session._holder
    assert holder is not None
    os.close(holder.ruleset)
    holder.ruleset = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
    result = session.sh("echo ran > proof")
    assert result.exit_code == -1
    assert result.set_up_failure is not None
    assert result.set_up_failure.startswith(
        "sandbox setup failed before exec: landlock: landlock_restrict_self"
    )
    assert not (session.work / "proof").exists()


def test_a_script_whose_interpreter_is_not_allowed_is_refused_with_the_reason(
    helper: Path, reading: HostReading, contain: Opener, tmp_path: Path
) -> None:
    script = tmp_path / "bin" / "greet"
    script.parent.mkdir()
    script.write_text("#!/bin/cat\nhello")
    script.chmod(0o755)
    for allowed, names in ((False, ("greet", "true")), (True, ("greet", "cat"))):
        session = contain(*names, path=f"{script.parent}:/usr/bin:/bin")
        result = session.run("greet")
        if allowed:
            assert result.stdout == b"#!/bin/cat\nhello"
        else:
            assert result.set_up_failure is not None
            assert "Permission denied" in result.set_up_failure
            assert "a script for cat, which is not in shell.allow" in result.set_up_failure


@pytest.mark.parametrize("mounts", [True, False])
def test_a_moved_work_folder_is_refused(
    contain: Opener, reading: HostReading, mounts: bool
) -> None:
    lacking = dataclasses.replace(reading.mounts, ok=False)
    session = contain(host=reading if mounts else dataclasses.replace(reading, mounts=lacking))
    assert bool(session.policy.trees) is (mounts and reading.mounts.ok)
    session.work.rename(session.base / "elsewhere")
    session.work.mkdir()
    result = session.run("true")
    assert result.set_up_failure is not None
    assert "ESTALE" in result.set_up_failure or "Stale file handle" in result.set_up_failure


def test_many_commands_at_once_keep_their_output_apart(session: Contained) -> None:
    results: dict[int, bytes] = {}

    def work(number: int) -> None:
        for _ in range(5):
            results[number] = session.sh(f"echo {number}").stdout

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == {number: f"{number}\n".encode() for number in range(8)}


@pytest.mark.parametrize("sealed", [False, True])
def test_two_hundred_commands_at_once_all_end_as_they_should(
    contain: Opener, reading: HostReading, sealed: bool
) -> None:
    if sealed and not reading.sealed.ok:
        pytest.skip(f"INCONCLUSIVE: {reading.sealed.reason}")
    # Each is two processes for a moment, and on a busy machine all of them at once.
    session = contain("sh", "cat", sealed=sealed, resources=Resources(cgroup_pids_max=1024))
    line = "echo $0 > out-$0; cat out-$0"
    running = [
        session.session.start(("sh", "-c", line, str(number)), session.env) for number in range(200)
    ]
    for number, command in enumerate(running):
        result = command.wait(300)
        assert result is not None
        assert (result.exit_code, result.stdout) == (0, f"{number}\n".encode())
    assert session.session.close()


def test_no_descriptor_is_left_behind(contain: Opener) -> None:
    warm = contain()
    warm.run("true")
    warm.close()
    before = len(os.listdir("/proc/self/fd"))
    session = contain()
    for _ in range(5):
        session.run("true")
    session.sh("sleep 0.3 & echo x")
    session.close()
    assert len(os.listdir("/proc/self/fd")) <= before


def test_what_commands_left_can_be_ended_while_the_session_goes_on(session: Contained) -> None:
    seconds = "31539.25"
    outside = subprocess.Popen(["sleep", "31540.25"])
    try:
        assert session.sh(DAEMON.format(seconds=seconds)).exit_code == 0
        until_alive(seconds, 2)
        session.session.kill_leftovers()
        assert gone(seconds)
        assert session.run("true").exit_code == 0
        session.session.kill_leftovers()  # nobody is left
        assert outside.poll() is None
    finally:
        outside.kill()
        outside.wait()
